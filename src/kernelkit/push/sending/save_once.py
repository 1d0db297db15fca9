"""Save a version of a kernel exactly once, even if Kaggle's answer is lost or wrong.

SaveKernel starts a session each time it arrives, so it is never simply repeated. After each answer,
and after a failure that leaves open whether it arrived, the versions on Kaggle are searched for
this push's number; the push is sent again only if none shows it after a while.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from kernelkit.kaggle.client import Kaggle, Saved
from kernelkit.kaggle.kernel import Kernel
from kernelkit.kaggle.transport.failures import Failure, FailureKind
from kernelkit.push.bundle.number import number_of
from kernelkit.push.sending.arrived import find_arrived

MOST_SENDS = 3


class Sending:
    """One push on its way to Kaggle; its number in the request's `text` tells it from any other.

    `settle` are the pauses before each look for a push whose answer was lost; `before` is the
    kernel's latest version before the push, 0 if there is none.
    """

    def __init__(
        self,
        kaggle: Kaggle,
        kernel: Kernel,
        fields: Mapping[str, Any],
        settle: Sequence[float],
        before: int,
    ) -> None:
        self._kaggle = kaggle
        self._kernel = kernel
        self._fields = fields
        self._settle = settle
        self._number = number_of(fields["text"])
        self._before = before

    def once(self) -> Saved:
        """Push a new version of the kernel, at most once.

        Raises `Failure`. After a network, server or malformed failure that was `sent`, it is
        unknown whether the push arrived; any other failure means that nothing runs.
        """
        failures: list[Failure] = []
        while True:
            try:
                saved = self._kaggle.save(self._fields)
            except Failure as failure:
                failures.append(failure)
                # The previous attempt may have arrived late, and be the reason for this refusal.
                if not failure.is_transient and len(failures) == 1:
                    raise
                try:
                    recovered = self._look(failure)
                except Failure:  # of the search, so it is still unknown whether any attempt arrived
                    raise next(filter(may_have_arrived, failures), failure) from None
                if recovered:
                    return recovered
                if not failure.is_transient or len(failures) == MOST_SENDS:
                    raise
            else:
                return self._read_back(saved)

    def _read_back(self, saved: Saved) -> Saved:
        """The answer with the version as Kaggle stores it, or with this push's actual version.

        Raises `Failure` if Kaggle shows another push's version and none of this push.
        """
        here = self._kernel
        *above, slug = saved.ref.strip("/").split("/")
        named = Kernel(above[-1] if above else "", slug)
        elsewhere = here if str(named).lower() == str(here).lower() else named
        try:
            for pause in (0.0, *self._settle):
                self._kaggle.retries.clock.sleep(pause)
                shown = False
                for place in dict.fromkeys((elsewhere, here)):
                    stored = self._kaggle.stored(place, saved.version)
                    shown = shown or stored is not None
                    if stored and number_of(stored.text) == self._number:
                        return replace(saved, ref=str(place), stored=stored)
                recovered = self._recovered(saved)
                if recovered:
                    return recovered
                if not shown:
                    return replace(saved, ref=str(here))
        except Failure:  # it arrived; the session's log proves the version
            return replace(saved, ref=str(here))
        raise Failure(
            FailureKind.MALFORMED,
            "SaveKernel",
            f"Kaggle's answer names version {saved.version}, which is another push's",
        )

    def _look(self, failure: Failure) -> Saved | None:
        """The version that a failed push created after all; polls until it would be visible."""
        retries = self._kaggle.retries
        for pause in self._settle if may_have_arrived(failure) else self._settle[-1:]:
            retries.rest(failure, max(pause, failure.retry_after or 0.0))
            recovered = self._recovered(Saved(0, ""))
            if recovered:
                return recovered
        return None

    def _recovered(self, saved: Saved) -> Saved | None:
        """The answer with the version that this push created, if Kaggle shows one."""
        found = find_arrived(self._kaggle, self._kernel, {self._number}, self._before)
        arrived = found.get(self._number)
        if arrived is None:
            return None
        return replace(
            saved,
            ref=str(arrived.kernel),
            version=arrived.version,
            url=f"https://www.kaggle.com/code/{arrived.kernel}",
            stored=arrived.stored,
            recovered=True,
        )


def may_have_arrived(failure: Failure) -> bool:
    """Whether a failed SaveKernel may have started a session."""
    return failure.is_transient and failure.sent and failure.kind is not FailureKind.THROTTLED
