"""The counter of what a push goes through sees every stage, each call to another room once."""

import pytest
from checkouts import ROOT

from tracing.push_trace import CASES, trace

STAGES = ("planned.request", "planned.plan", "asked.account", "sending.ready", "sending.sent")


@pytest.mark.long
@pytest.mark.parametrize("case", CASES)
def test_a_push_is_counted_from_its_request_until_it_is_sent(case):
    found = trace(ROOT, case)
    assert {f"kernelkit.push.{stage}" for stage in STAGES} <= found.modules
    assert "kernelkit.push.awaited.ended" not in found.modules
    assert found.functions["push.checked push.planned"]["push.planned.plan.plan_push"] == 1
    assert found.functions["push.sending kaggle"]["kaggle.client.Kaggle.save"] == 1
    assert found.crossings == sum(found.pairs.values())
