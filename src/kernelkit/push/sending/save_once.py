"""Save a version of a kernel exactly once, even if Kaggle's answer is lost or wrong.

SaveKernel starts a session each time it arrives, so it is never simply repeated. After each answer,
and after a failure that leaves open whether it arrived, the versions on Kaggle are searched for
this push's number; the push is sent again only if none shows it after a while.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from kernelkit.kaggle.answers import Saved
from kernelkit.kaggle.client import Kaggle
from kernelkit.kaggle.kernel import Kernel
from kernelkit.kaggle.transport.failures import Failure, FailureKind
from kernelkit.push.bundle.number import number_of
from kernelkit.push.sending.arrived import find_arrived

MOST_SENDS = 3


@dataclass(frozen=True)
class Sending:
    """One push on its way to Kaggle; its number in the request's `text` tells it from any other.

    fields  those of the SaveKernel request
    pauses  seconds before each look for a push whose answer was lost
    newest  the kernel's latest version before the push, 0 if there is none
    """

    kaggle: Kaggle
    kernel: Kernel
    fields: Mapping[str, Any]
    pauses: Sequence[float]
    newest: int

    @cached_property
    def number(self) -> str:
        """The push's number."""
        return number_of(self.fields["text"])

    def once(self) -> Saved:
        """Push a new version of the kernel, at most once.

        Raises `Failure`. After a network, server or malformed failure that was `sent`, it is
        unknown whether the push arrived; any other failure means that nothing runs.
        """
        failures: list[Failure] = []
        while True:
            try:
                saved = self.kaggle.save(self.fields)
            except Failure as failure:
                failures.append(failure)
                is_refused = not failure.is_transient
                is_first = len(failures) == 1
                if is_refused and is_first:
                    raise
                # A later refusal may be for the sake of an attempt before it, which arrived late.
                found = self._look_after(failures)
                if found:
                    return found
                if is_refused or len(failures) == MOST_SENDS:
                    raise
            else:
                return self._read_back(saved)

    def _look_after(self, failures: Sequence[Failure]) -> Saved | None:
        """The version that an attempt created after all; polls until it would be visible.

        If the look itself fails, raises the failure of an attempt that may have arrived, or else
        the latest.
        """
        latest = failures[-1]
        pauses = self.pauses
        if not may_have_arrived(latest):  # only an earlier attempt can show up: one look is enough
            pauses = pauses[-1:]
        try:
            for pause in pauses:
                self.kaggle.retries.rest(latest, max(pause, latest.retry_after or 0.0))
                found = self._recovered(Saved(0, ""))
                if found:
                    return found
        except Failure:
            unknown = [failure for failure in failures if may_have_arrived(failure)]
            raise (unknown[0] if unknown else latest) from None
        return None

    def _read_back(self, saved: Saved) -> Saved:
        """Kaggle's answer with the version that this push has, as Kaggle stores it.

        Raises `Failure` if Kaggle shows another push's version and none of this push.
        """
        *above, slug = saved.ref.strip("/").split("/")
        named = Kernel(above[-1] if above else "", slug)
        places = [self.kernel]
        if str(named).lower() != str(self.kernel).lower():
            places = [named, self.kernel]
        as_answered = replace(saved, ref=str(self.kernel))
        try:
            for pause in (0.0, *self.pauses):
                self.kaggle.retries.clock.sleep(pause)
                is_shown = False
                for place in places:
                    stored = self.kaggle.stored(place, saved.version)
                    is_shown = is_shown or stored is not None
                    if stored and number_of(stored.text) == self.number:
                        return replace(saved, ref=str(place), stored=stored)
                found = self._recovered(saved)
                if found:
                    return found
                if not is_shown:  # nothing speaks against the answer
                    return as_answered
        except Failure:  # it arrived; the session's log proves the version
            return as_answered
        raise Failure(
            FailureKind.MALFORMED,
            "SaveKernel",
            f"Kaggle's answer names version {saved.version}, which is another push's",
        )

    def _recovered(self, saved: Saved) -> Saved | None:
        """The answer with the version that this push created, if Kaggle shows one."""
        found = find_arrived(self.kaggle, self.kernel, {self.number}, self.newest)
        arrived = found.get(self.number)
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
