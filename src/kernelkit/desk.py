"""Where a push is made from: the folder of runs, the ledger, the voice and the patience."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from kernelkit.client import Kaggle
from kernelkit.events import Reporter
from kernelkit.ledger import Ledger, Push
from kernelkit.pace import Pace
from kernelkit.rehearsal import venue

LEDGER = "pushes.jsonl"
TOOL = "python tools/push_kernel.py"


@dataclass(frozen=True)
class Desk:
    """One command's surroundings; `local` is the folder of a local Kaggle to rehearse on.

    `catalogue` is the project's command that fills such a Kaggle's inputs.
    """

    runs: Path
    report: Reporter
    pace: Pace
    local: Path | None = None
    catalogue: str = ""

    def venue(self) -> AbstractContextManager[Kaggle]:
        """Kaggle, or the local one, connected for the length of a block."""
        return venue(self.local, self.pace, self.catalogue)

    @property
    def ledger(self) -> Ledger:
        """The repository's ledger of pushes."""
        return Ledger(self.runs / LEDGER)

    def folder(self, push: Push) -> Path:
        """Where a push's outputs go when no other folder is named."""
        slug = push.kernel.rpartition("/")[2]
        return self.runs / f"{'rehearsal-' if push.rehearsal else ''}{slug}-v{push.version}"

    def how_to_continue(self) -> str:
        """The sentence that tells how to go on from what a run left."""
        local = " --local" if self.local else ""
        return f"Go on in another session with: {TOOL}{local} --continue"

    def how_to_resume(self, push: Push) -> str:
        """The sentence that tells how to come back to a run that goes on."""
        if self.local:
            return "This rehearsal's Kaggle stops with the command, and its runs with it"
        return f"Come back with: {TOOL} --resume {push.reference}"
