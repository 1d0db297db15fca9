"""The example with an inference server."""

import io

import pytest

from kernelkit.hidden.hidden_run import rehearse_hidden_run
from kernelkit.push.planned.request import PushRequest
from local_kaggle.execution import walls


@pytest.mark.long
def test_its_server_is_asked_and_scored_on_the_hidden_days(copied):
    pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    if not walls.builder():
        pytest.skip("this machine cannot isolate sessions")
    copied("tides")
    stream = io.StringIO()
    result = rehearse_hidden_run(PushRequest.of(), stream=stream)
    assert 0.04 < float(result.score) < 0.06  # the weather that the levels are drawn with: 0.05
    assert "720 rows (public: 72)" in stream.getvalue()
