"""The time and memory of a hidden run on the real test set, projected from two shorter ones.

The notebook ran on the public test set and on the hidden one of the rehearsal. Where their lengths
differ, what it takes for another number of rows is assumed to lie on the line through both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelkit import machines
from kernelkit.files import size_of
from kernelkit.hidden.competition.gateway_files import find_gateway
from kernelkit.hidden.public_and_hidden import PublicAndHidden
from kernelkit.push.known.ledger import Push
from kernelkit.push.known.push_context import PushContext
from kernelkit.rehearsal.stand_in import memory_limit
from kernelkit.shown import duration
from kernelkit.terminal.events import WARNING, Event

if TYPE_CHECKING:
    from kernelkit.rehearsal.stand_in import Rerun

PROJECTED = Event("projected")
# How much more the run on more rows has to take, as a part of what the other took, to count as
# growth: on a busy machine, two runs of the same notebook on the same rows differ by a third.
SMALLEST_GROWTH = {"time": 0.5, "memory": 0.05}


@dataclass(frozen=True)
class Growth:
    """What two runs took, on so many rows each, which differ: time or memory, in one unit."""

    public_rows: int
    hidden_rows: int
    public: float
    hidden: float

    @property
    def each(self) -> float:
        """What one row more takes; 0 or less if more rows took no more."""
        return (self.hidden - self.public) / (self.hidden_rows - self.public_rows)

    def grows(self, by: float) -> bool:
        """Whether more rows took more, by this part of what fewer took at least."""
        if self.each <= 0:
            return False
        less, more = sorted((self.public, self.hidden))
        return more >= (1 + by) * less

    def at(self, rows: int) -> float:
        """What so many rows take, on the line through both runs."""
        return self.hidden + self.each * (rows - self.hidden_rows)


@dataclass(frozen=True)
class Projection:
    """Hours, and bytes of memory, for the asked number of rows; None where it is not known."""

    hours: float | None = None
    memory: float | None = None


def project_to(
    context: PushContext, push: Push, rerun: Rerun, sets: PublicAndHidden, rows: int
) -> Projection:
    """Project what two runs took to this many rows, and tell it, or why it cannot be.

    `rerun`: the second run, with the figures of the first beside its own.
    """
    public = sets.public_rows
    hidden = sets.hidden_rows
    if not public or not hidden or public == hidden:
        why = "both folders need a sample_submission.csv"
        if public and hidden:
            why = f"both test sets have {public:,} rows: rehearse with another number (--make-rows)"
        context.events(WARNING, f"the time and memory for {rows:,} rows cannot be projected: {why}")
        return Projection()
    kind = machines.named(push.accelerator or "cpu").kind
    time = Growth(public, hidden, rerun.first_seconds, rerun.seconds)
    hours = _project_time(context, time, kind, rows)
    if find_gateway(sets.public) or find_gateway(sets.hidden):
        context.events(
            PROJECTED,
            f"the memory for {rows:,} rows is not known: in the second run it is that of the "
            "notebook and of the gateway's own process together, so that it cannot be compared "
            "with the first run's",
        )
        return Projection(hours)
    memory = Growth(public, hidden, rerun.first_memory, rerun.memory)
    return Projection(hours, _project_memory(context, memory, kind, rows))


def _project_time(
    context: PushContext, seconds: Growth, kind: machines.Kind, rows: int
) -> float | None:
    """The hours for this many rows.

    None if more rows did not take clearly longer.
    """
    measured = (
        f"{duration(seconds.public)} on {seconds.public_rows:,} rows and "
        f"{duration(seconds.hidden)} on {seconds.hidden_rows:,}"
    )
    if not seconds.grows(SMALLEST_GROWTH["time"]):
        context.events(
            PROJECTED,
            f"the time for {rows:,} rows is not known: it did not grow with the rows by more than "
            f"two runs may differ ({measured}). Rehearse with more rows (--make-rows)",
        )
        return None
    hours = seconds.at(rows) / 3600
    limit = machines.LIMITS[kind].hours_per_session
    words = (
        f"{duration(3600 * hours)} for {rows:,} rows, of the {limit:.0f} h allowed: measured are "
        f"{measured}"
    )
    context.events(WARNING if hours > limit else PROJECTED, words)
    return hours


def _project_memory(
    context: PushContext, peaks: Growth, kind: machines.Kind, rows: int
) -> float | None:
    """The bytes for this many rows, from the peaks of the two runs.

    None if a peak is missing, or if more rows did not take clearly more.
    """
    if not peaks.public or not peaks.hidden:
        context.events(
            WARNING, f"the memory for {rows:,} rows is not known: a run was not measured"
        )
        return None
    measured = (
        f"{size_of(int(peaks.public))} on {peaks.public_rows:,} rows and "
        f"{size_of(int(peaks.hidden))} on {peaks.hidden_rows:,}"
    )
    if not peaks.grows(SMALLEST_GROWTH["memory"]):
        context.events(
            PROJECTED,
            f"the memory for {rows:,} rows is not known: it did not grow with the rows "
            f"({measured}). Rehearse with more rows (--make-rows) to see whether it does",
        )
        return None
    memory = peaks.at(rows)
    limit = memory_limit(kind)
    words = (
        f"{size_of(int(memory))} of memory for {rows:,} rows, of {size_of(int(limit))}, if it "
        f"grows in a straight line: measured are {measured}"
    )
    context.events(WARNING if memory > limit else PROJECTED, words)
    return memory
