"""The context of a command about pushes: Kaggle's, with the ledger and the pushes' folders."""

import contextlib
import datetime
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kernelkit.errors import StorageError
from kernelkit.exits.unusable_files import UNWRITABLE, unusable
from kernelkit.kaggle.context.kaggle_context import KaggleContext
from kernelkit.kaggle.kernel import Kernel
from kernelkit.push.known.ledger import Ledger, LedgerError, Push, since_deleted

LAST = "last"  # a reference to the ledger's last push
PULLED = "pulled"  # in the folder of runs: by kernel and version, the files as they were before


def copied_at(time: datetime.datetime) -> str:
    """The name of the folder with what a pull at this time, in UTC, has copied."""
    return time.strftime("%Y%m%d-%H%M%S-%f")


@dataclass
class PushContext(KaggleContext):
    """A `KaggleContext` for pushes, with the repository's `ledger`.

    `begun` are the numbers of the pushes that this command has sent, or tried to.
    """

    ledger: Ledger = field(init=False)
    begun: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.ledger = Ledger(self.runs, self._clear, rehearsal=self.rehearsal)

    def _clear(self, text: str) -> str:
        """The text without the secrets that the events know, which a chain replaces after this."""
        return self.events.clear(text)

    def note(self, push: Push, **changes: Any) -> Push:
        """The push with these fields, which the ledger gets too if it has the push."""
        if push.pushed:
            return self.ledger.update(push, **changes)
        return replace(push, **changes)

    def folder(self, push: Push) -> Path:
        """Where a push's outputs are, or go if nobody chooses another folder."""
        return push.folder_in(self.runs)

    def copies(self, kernel: Kernel, version: int) -> Path:
        """The folder for the files as they are before a pull of a version changes them, each time
        in a folder that is named by `copied_at`."""
        prefix = "rehearsal-" if self.rehearsal else ""
        return self.runs / PULLED / f"{prefix}{kernel.slug}-v{version}"

    def has_sources_of(self, kernel: Kernel, version: int, pushes: Sequence[Push]) -> bool:
        """Whether the files here have all of a version: it is one of the kernel's `pushes`, or was
        pulled.

        A version that was pulled counts, however its conflicts were resolved. What was pushed or
        pulled before the kernel was deleted does not count: Kaggle then counts anew from 1.
        """
        since = since_deleted(pushes)
        if any(push.version == version for push in since):
            return True
        copies = self.copies(kernel, version)
        if len(since) == len(pushes):
            return copies.is_dir()
        if not since:
            return False
        begun = copied_at(datetime.datetime.fromisoformat(since[0].pushed))
        return any(copy.name > begun for copy in copies.glob("*"))

    def alone_with(self, kernel: str) -> contextlib.AbstractContextManager[None]:
        """Let one command at a time check and push "owner/slug", during a block."""
        return self.alone(f"pushing {kernel}")

    @contextlib.contextmanager
    def naming_the_way_back(self, push: Push) -> Iterator[None]:
        """Say, of a file that cannot be written in a block, how to return to the push's session.

        Raises `StorageError` in its place.
        """
        try:
            yield
        except LedgerError as error:
            raise StorageError(f"{error}. {self.how_to_resume(push)}") from None
        except OSError as error:
            if error.errno not in UNWRITABLE:
                raise
            goes_on = "" if self.serves else f"; {push.reference} stays on Kaggle"
            raise StorageError(f"{unusable(error)}{goes_on}. {self.how_to_resume(push)}") from None

    def how_to_resume(self, push: Push) -> str:
        """A sentence with the command that returns to a run in progress."""
        if self.serves:
            return "The local Kaggle and its run stop with this command"
        return f"Reconnect with: {self.resuming(push)}"

    def resuming(self, push: Push) -> str:
        """The command that resumes a push, or fetches the outputs of a finished run."""
        command = f"kernelkit resume {push.reference}"
        return f"{command} --local" if self.serves else command
