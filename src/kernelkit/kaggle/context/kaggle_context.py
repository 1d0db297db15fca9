"""The context of a command that talks to Kaggle: its options, events and locks, and Kaggle."""

import contextlib
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Self, TextIO, TypedDict, cast

from kernelkit import files
from kernelkit.errors import KernelkitError
from kernelkit.kaggle.client import Kaggle
from kernelkit.kaggle.context.timing import KAGGLE, REHEARSAL, Timing
from kernelkit.kaggle.transport.failures import Failure
from kernelkit.project import LOCAL_KAGGLE, LOCKS, Project, find_project, is_led_elsewhere
from kernelkit.rehearsal.stand_in import Rehearsal, attached
from kernelkit.shown import duration
from kernelkit.terminal import safe_text
from kernelkit.terminal.events import ERROR, WAITING, Event, Events

RETRYING = Event("retrying", colour="yellow")


class CommandOptions(TypedDict, total=False):
    """The keyword arguments of every command that talks to Kaggle: those of `in_project`."""

    local: bool
    as_json: bool
    quiet: bool
    runs: Path | None
    stream: TextIO | None
    timing: Timing | None


def command_options(keywords: dict[str, Any]) -> CommandOptions:
    """Take the options of every command out of a call's keywords."""
    names = CommandOptions.__annotations__
    return cast(CommandOptions, {name: keywords.pop(name) for name in names if name in keywords})


@dataclass
class KaggleContext:
    """The context of one command.

    runs    the folder of runs and ledger
    serves  the folder of the local Kaggle that the command itself serves, for as long as it lives;
            None on Kaggle, and where somebody else serves a local one
    root    the project's folder
    kaggle  what `connect` yields, in its block only
    """

    runs: Path
    events: Events
    timing: Timing
    serves: Path | None = None
    root: Path | None = None
    kaggle: Kaggle = field(init=False)

    @classmethod
    def in_project(
        cls,
        at: Project | Path | None = None,
        *,
        local: bool = False,
        as_json: bool = False,
        quiet: bool = False,
        runs: Path | None = None,
        stream: TextIO | None = None,
        timing: Timing | None = None,
    ) -> Self:
        """The context of a command in a project, or in that of a path or the current folder.

        local    rehearse against a local Kaggle that lives as long as the call
        as_json  print one JSON object per event
        quiet    only the events that need attention, and the results
        runs     the folder of runs and ledger; default `runs` at the project's root
        stream   where the events are written; default stdout
        timing   the clock and all time limits
        """
        project = at if isinstance(at, Project) else find_project(at or Path.cwd())
        rehearsal = local or is_led_elsewhere()
        serves = None
        if local:
            serves = runs / LOCAL_KAGGLE if runs else project.local_kaggle
        return cls(
            runs or project.runs,
            Events(stream, as_json=as_json, quiet=quiet, rehearsal=rehearsal),
            timing or (REHEARSAL if rehearsal else KAGGLE),
            serves,
            project.root,
        )

    @property
    def rehearsal(self) -> bool:
        """Whether a local Kaggle answers: the command's own, or one that is served elsewhere."""
        return self.events.rehearsal

    @contextlib.contextmanager
    def connect(self, rehearsal: Rehearsal | None = None) -> Iterator[Kaggle]:
        """Kaggle, or the local one, during a block; the events show no secret of the account's.

        The block gets it, and finds it as `kaggle`; after the block it is of no use. `rehearsal`:
        what the local one needs; Kaggle needs nothing.

        Raises `CredentialsError` or `NetworkError` when Kaggle cannot be reached, and
        `KernelkitError` if a rehearsal would contact another server.
        """
        retries = replace(self.timing.retries, tell=self._tell_pause)
        url = ""  # in a rehearsal, the server that all requests go to; else any is right
        with contextlib.ExitStack() as stack:
            if self.serves:
                server = attached(self.serves, self.root, self.events, rehearsal or Rehearsal())
                url = stack.enter_context(server)
            kaggle = Kaggle.sign_in(self.timing.timeouts, retries)
            connection = kaggle.connection
            if not connection.base_url.startswith(url):
                raise KernelkitError(
                    f"the rehearsal would have talked to {connection.base_url}: nothing was sent"
                )
            self.events.keep_secret(connection.secrets)
            self.kaggle = kaggle
            yield kaggle

    @contextlib.contextmanager
    def announcing_errors(self) -> Iterator[None]:
        """Remove secrets from an error that the block raises; programs also get it as an event."""
        try:
            yield
        except KernelkitError as error:
            # Plain first: behind a character that no terminal shows, a secret could hide.
            message = self.events.clear(safe_text.plain(str(error)))
            if self.events.as_json:
                self.events(ERROR, message, exit_code=error.exit_code)
            message = f"[rehearsal] {message}" if self.events.rehearsal else message
            error.args = (message,)
            error.announced = self.events.as_json
            raise error from None
        finally:
            self.events.end()

    def alone(self, doing: str) -> contextlib.AbstractContextManager[None]:
        """Let one command at a time do this, during a block; a command that waits says so.

        Only commands with the same folder of runs wait for each other.
        """
        text = f"another command is {doing}: waiting for it to finish"
        busy = partial(self.events, WAITING, text)
        return files.locked(self._lock_file(doing), busy)

    def alone_in(self, folder: Path) -> contextlib.AbstractContextManager[None]:
        """Let one command at a time download files into a folder, during a block."""
        return self.alone(f"downloading files into {folder.resolve()}")

    def _lock_file(self, doing: str) -> Path:
        key = hashlib.sha256(doing.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        return self.runs / LOCKS / f"{key}.lock"

    def _tell_pause(self, failure: Failure, seconds: float) -> None:
        pause = f"retrying in {duration(seconds)}"
        self.events(RETRYING, f"{failure.method} ({failure.kind.label}): {pause}")
