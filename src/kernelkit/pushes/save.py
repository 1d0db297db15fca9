"""Push one version, and only one, over a network that may lose the answer.

SaveKernel starts a session each time it arrives, so it is never simply repeated. After a
failure that leaves open whether it arrived, Kaggle is asked which version it has and with
which source; only when it has not arrived after a while is it sent again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from kernelkit.kaggle_api.client import Kaggle
from kernelkit.kaggle_api.failures import Failure, FailureKind
from kernelkit.kaggle_api.types import SOURCES, Kernel, Saved, Stored
from kernelkit.workspace.timing import SavingPolicy


def save_once(
    kaggle: Kaggle, kernel: Kernel, fields: Mapping[str, Any], policy: SavingPolicy | None = None
) -> Saved:
    """Push the request's `text` as a new version of the kernel, at most once.

    Raises `Failure`. After a failure of the kind network, server or malformed it is unknown whether
    the push arrived; any other kind means that nothing runs.
    """
    policy = policy or SavingPolicy()
    before = kaggle.stored(kernel)
    known = before.version if before else 0
    for sent in range(1, policy.sends + 1):
        try:
            saved = kaggle.save(fields)
        except Failure as failure:
            # A push sent before may have arrived late: then this one is refused because of it.
            if not failure.is_transient and sent == 1:
                raise
            if arrived := _look(kaggle, kernel, fields, known, failure, policy):
                return arrived
            if not failure.is_transient or sent == policy.sends:
                raise
        else:
            return saved if sent == 1 else _resent(kaggle, kernel, fields, known, saved)
    raise AssertionError("unreachable: the last send returns or raises")


def twins(kaggle: Kaggle, kernel: Kernel, text: str, after: int, version: int) -> tuple[int, ...]:
    """Other versions than `version` that a push of `text` made, of those later than `after`.

    None where Kaggle cannot be asked: the ledger keeps its line then.
    """
    try:
        return tuple(v for v, _ in _arrived(kaggle, kernel, text, after) if v != version)
    except Failure:
        return ()


def _resent(
    kaggle: Kaggle, kernel: Kernel, fields: Mapping[str, Any], known: int, saved: Saved
) -> Saved:
    """The answer to a repeated push, with the versions that the earlier sends made."""
    late = twins(kaggle, kernel, fields["text"], known, saved.version)
    return replace(saved, resent_after=known, twins=late)


def _look(
    kaggle: Kaggle,
    kernel: Kernel,
    fields: Mapping[str, Any],
    known: int,
    failure: Failure,
    policy: SavingPolicy,
) -> Saved | None:
    """The version that a failed push made after all; Kaggle is asked until it must be visible."""
    clock = kaggle.retries.clock
    rejected = failure.kind is FailureKind.THROTTLED or not failure.is_transient or not failure.sent
    for pause in policy.settle[-1:] if rejected else policy.settle:
        end = clock.now() + kaggle.retries.patience
        kaggle.retries.rest(failure, max(pause, failure.retry_after or 0.0), end)
        for version, stored in _arrived(kaggle, kernel, fields["text"], known):
            return _recovered(kernel, version, stored, fields)
    return None


def _arrived(kaggle: Kaggle, kernel: Kernel, text: str, after: int) -> Iterator[tuple[int, Stored]]:
    """The versions later than `after` that run `text`, oldest first."""
    latest = kaggle.stored(kernel)
    for version in range(after + 1, (latest.version if latest else 0) + 1):
        stored = kaggle.stored(kernel, version)
        if stored and _same(stored.text, text):
            yield version, stored


def _recovered(kernel: Kernel, version: int, stored: Stored, fields: Mapping[str, Any]) -> Saved:
    """The lost answer, as far as the stored kernel shows it."""
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
