"""Push exactly one version, even if Kaggle's answer is lost or wrong.

SaveKernel starts a session each time it arrives, so it is never simply repeated. After each answer,
and after a failure that leaves open whether it arrived, the versions on Kaggle are searched for
this push's number; the push is sent again only if none shows it after a while.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from kernelkit.kaggle_api.client import Kaggle, Kernel, Saved, Stored
from kernelkit.kaggle_api.retries import Failure, FailureKind
from kernelkit.run_folders.claims import source_of
from kernelkit.workspace.timing import SavingPolicy


def save_once(
    kaggle: Kaggle, kernel: Kernel, fields: Mapping[str, Any], policy: SavingPolicy | None = None
) -> Saved:
    """Push the request's `text` as a new version of the kernel, at most once.

    `text` contains the number of its push, so that no other version has the same cells. Raises
    `Failure`. After a network, server or malformed failure that was `sent`, it is unknown whether
    the push arrived; any other failure means that nothing runs.
    """
    policy = policy or SavingPolicy()
    text: str = fields["text"]
    before = _before(kaggle, kernel)
    for sent in range(1, policy.sends + 1):
        try:
            saved = kaggle.save(fields)
        except Failure as failure:
            # The previous attempt may have arrived late, and be the reason for this refusal.
            if not failure.is_transient and sent == 1:
                raise
            if arrived := _look(kaggle, kernel, text, before, failure, policy):
                return arrived
            if not failure.is_transient or sent == policy.sends:
                raise
        else:
            saved = _read_back(kaggle, kernel, text, before, saved, policy)
            if sent == 1:
                return saved
            late = twins(kaggle, kernel, text, before, saved.version)
            return replace(saved, resent_after=before, twins=late)
    raise AssertionError("unreachable: the last send returns or raises")


def twins(kaggle: Kaggle, kernel: Kernel, text: str, after: int, version: int) -> tuple[int, ...]:
    """Versions after `after`, other than `version`, that a push of `text` created.

    Empty if Kaggle does not answer; the ledger then keeps its line.
    """
    try:
        return tuple(v for v, _ in _arrived(kaggle, kernel, text, after) if v != version)
    except Failure:
        return ()


def _before(kaggle: Kaggle, kernel: Kernel) -> int:
    """The kernel's version before the push; if this fails, nothing was sent."""
    try:
        stored = kaggle.stored(kernel)
    except Failure as failure:
        failure.sent = False
        raise
    return stored.version if stored else 0


def _read_back(
    kaggle: Kaggle, kernel: Kernel, text: str, before: int, saved: Saved, policy: SavingPolicy
) -> Saved:
    """The answer with the version as Kaggle stores it, or with this push's actual version.

    Raises `Failure` if Kaggle shows another push's version and none with these cells.
    """
    *_, owner, slug = ["", "", *saved.ref.strip("/").split("/")]
    elsewhere = Kernel(owner, slug) if str(kernel).lower() != f"{owner}/{slug}".lower() else kernel
    try:
        for pause in (0.0, *policy.settle):
            kaggle.retries.clock.sleep(pause)
            shown = False
            for place in dict.fromkeys((elsewhere, kernel)):
                named = kaggle.stored(place, saved.version)
                shown = shown or named is not None
                if named and source_of(named.text) == source_of(text):
                    return replace(saved, ref=str(place), stored=named)
            for version, stored in _arrived(kaggle, kernel, text, before):
                ref = str(kernel)
                return replace(saved, ref=ref, version=version, stored=stored, recovered=True)
            if not shown:
                return replace(saved, ref=str(kernel))
    except Failure as failure:
        if not failure.is_transient:
            raise
        return replace(saved, ref=str(kernel))  # it arrived; the session's log proves the version
    raise Failure(
        FailureKind.MALFORMED,
        "SaveKernel",
        f"Kaggle's answer names version {saved.version}, which is another push's",
    )


def _look(
    kaggle: Kaggle, kernel: Kernel, text: str, before: int, failure: Failure, policy: SavingPolicy
) -> Saved | None:
    """The version that a failed push created after all; polls until it would be visible."""
    clock = kaggle.retries.clock
    rejected = failure.kind is FailureKind.THROTTLED or not failure.is_transient or not failure.sent
    for pause in policy.settle[-1:] if rejected else policy.settle:
        end = clock.now() + kaggle.retries.patience
        kaggle.retries.rest(failure, max(pause, failure.retry_after or 0.0), end)
        for version, stored in _arrived(kaggle, kernel, text, before):
            url = f"https://www.kaggle.com/code/{kernel}"
            return Saved(version, url, str(kernel), stored=stored, recovered=True)
    return None


def _arrived(kaggle: Kaggle, kernel: Kernel, text: str, after: int) -> Iterator[tuple[int, Stored]]:
    """The versions after `after` that run the cells of `text`, oldest first."""
    latest = kaggle.stored(kernel)
    for version in range(after + 1, (latest.version if latest else 0) + 1):
        stored = kaggle.stored(kernel, version)
        if stored and source_of(stored.text) == source_of(text):
            yield version, stored
