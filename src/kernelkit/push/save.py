"""Push one version, and only one, over a network that may lose the answer.

SaveKernel starts a session each time it arrives, so it is never simply repeated. After a
failure that leaves open whether it arrived, Kaggle is asked which version it has and with
which source; only when it has not arrived after a while is it sent again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kernelkit.kaggle_api.client import SOURCES, Kaggle
from kernelkit.kaggle_api.failures import Failure, FailureKind
from kernelkit.kaggle_api.types import Kernel, Saved, Stored

SETTLE_SECONDS = (5.0, 15.0, 30.0)  # when to look whether a push arrived after all


@dataclass(frozen=True)
class SavingPolicy:
    """How often SaveKernel may be sent in all, and how long to look before sending it again."""

    sends: int = 3
    settle: tuple[float, ...] = SETTLE_SECONDS


def save_once(
    kaggle: Kaggle, kernel: Kernel, fields: Mapping[str, Any], policy: SavingPolicy | None = None
) -> Saved:
    """Push the request's `text` as a new version of the kernel, at most once.

    Raises `Failure`. After one of the sorts network, server or malformed it is unknown
    whether the push arrived; every other failure means that nothing runs.
    """
    policy = policy or SavingPolicy()
    before = kaggle.stored(kernel)
    known = before.version if before else 0
    for sends_left in reversed(range(policy.sends)):
        try:
            return kaggle.save(fields)
        except Failure as failure:
            if not failure.is_transient:
                raise
            if arrived := _look(kaggle, kernel, fields, known, failure, policy):
                return arrived
            if not sends_left:
                raise
    raise AssertionError("unreachable: the last send returns or raises")


def _look(
    kaggle: Kaggle,
    kernel: Kernel,
    fields: Mapping[str, Any],
    known: int,
    failure: Failure,
    policy: SavingPolicy,
) -> Saved | None:
    """The version that a failed push made after all, looked for until it would have settled."""
    clock = kaggle.retries.clock
    rejected = failure.kind is FailureKind.THROTTLED or not failure.sent
    for pause in policy.settle[-1:] if rejected else policy.settle:
        clock.sleep(max(pause, failure.retry_after or 0.0))
        latest = kaggle.stored(kernel)
        for version in range(known + 1, (latest.version if latest else 0) + 1):
            stored = kaggle.stored(kernel, version)
            if stored and _same(stored.text, fields["text"]):
                return _recovered(kernel, version, stored, fields)
    return None


def _recovered(kernel: Kernel, version: int, stored: Stored, fields: Mapping[str, Any]) -> Saved:
    """The answer that was lost, as far as the stored kernel tells it."""
    asked = {f"{kind} {source}" for kind in SOURCES for source in fields[f"{kind}_data_sources"]}
    url = f"https://www.kaggle.com/code/{kernel}"
    return Saved(version, url, tuple(sorted(asked - stored.sources)), recovered=True)


def _same(stored: str, sent: str) -> bool:
    """Whether two sources are one notebook, however its JSON was written."""
    if stored == sent:
        return True
    try:
        return bool(json.loads(stored) == json.loads(sent))
    except ValueError:
        return False
