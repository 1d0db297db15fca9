"""The context of a command: the folder of runs, the ledger, the events, the time limits."""

import contextlib
import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TextIO, TypedDict, get_type_hints

from kernelkit import files
from kernelkit.errors import KernelkitError, ParameterError
from kernelkit.kaggle_api.client import Kaggle
from kernelkit.kaggle_api.connection import open_connection
from kernelkit.kaggle_api.retries import Failure
from kernelkit.project import LOCAL_KAGGLE, LOCKS, Project, find_project
from kernelkit.shown import duration
from kernelkit.terminal import safe_text
from kernelkit.terminal.events import Events
from kernelkit.workspace.ledger import Ledger, Push
from kernelkit.workspace.rehearsal import attached
from kernelkit.workspace.timing import KAGGLE, REHEARSAL, Timing

LEDGER = "pushes.jsonl"
DOCTOR = Path("doctor", "doctor.json")  # in the folder of runs: the results of `kernelkit doctor`
LAST = "last"  # a reference to the ledger's last push
REFERENCE = re.compile(r"[^/\s]+/[^/\s]+/v?\d+")


@dataclass
class PushContext:
    """The context of one command; `local` is the folder of a local Kaggle to rehearse on.

    `catalogue` is the project's command that makes the local Kaggle's inputs, run in its `root`;
    `owner` is the account's name on Kaggle, if the metadata has it. `chained`: the kernels that
    this one reads are pushed first.
    """

    runs: Path
    events: Events
    timing: Timing
    local: Path | None = None
    catalogue: str = ""
    root: Path | None = None
    owner: str = ""
    chained: bool = False
    kaggle: Kaggle = field(init=False)  # in a block of `connect`

    @contextlib.contextmanager
    def connect(self, reference: str = "") -> Iterator[Kaggle]:
        """Kaggle, or the local one, during a block; the events show no secret of the account's.

        Raises `ParameterError` first, if `reference` cannot be a push's or is "last" and all pushes
        were rehearsals; `CredentialsError` or `NetworkError` when Kaggle cannot be reached, and
        `KernelkitError` if a rehearsal would contact another server.
        """
        self._check(reference)
        retries, url = replace(self.timing.retries, tell=self._tell_pause), ""
        with contextlib.ExitStack() as stack:
            if self.local:
                kaggle = attached(
                    self.local, self.catalogue, self.root, self._tell_filling, self.owner
                )
                url = stack.enter_context(kaggle)
            connection = open_connection(self.timing.timeouts, retries)
            if not connection.base_url.startswith(url):
                raise KernelkitError(
                    f"the rehearsal would have talked to {connection.base_url}: nothing was sent"
                )
            self.events.keep_secret(connection.secrets)
            self.events.rehearsal = connection.rehearses
            self.kaggle = Kaggle(connection, retries)
            yield self.kaggle

    def _check(self, reference: str) -> None:
        real = self.events.rehearsal or self.ledger.of()
        if reference == LAST and not real and self.ledger.pushes():
            raise ParameterError(
                "nothing was pushed to Kaggle yet, only rehearsed: kernelkit status "
                "--local. For a push from another machine, write OWNER/SLUG/N"
            )
        if reference not in ("", LAST) and not REFERENCE.fullmatch(reference):
            raise ParameterError(
                f"{reference!r} names no push, and no folder is there: write OWNER/SLUG/N, for "
                "example me/my-notebook/3"
            )

    @contextlib.contextmanager
    def ending(self) -> Iterator[None]:
        """Remove secrets from an error that the block raises; programs also get it as an event."""
        try:
            yield
        except KernelkitError as error:
            message = self.events.clear(str(error))
            if self.events.as_json:
                self.events("error", message, exit_code=error.exit_code)
            message = f"[rehearsal] {message}" if self.events.rehearsal else message
            error.args, error.announced = (message,), self.events.as_json
            raise error from None
        finally:
            self.events.end()

    def _tell_filling(self, line: str) -> None:
        if safe_text.is_step(line):
            self.events("progress", f"making the rehearsal's inputs, once: {line.strip()}")

    def _tell_pause(self, failure: Failure, seconds: float) -> None:
        self.events(
            "retrying",
            f"{failure.method} ({failure.kind.label}): asking again in {duration(seconds)}",
        )

    @property
    def ledger(self) -> Ledger:
        """The repository's ledger of pushes."""
        return Ledger(self.runs / LEDGER, self.events.clear, rehearsal=self.events.rehearsal)

    def folder(self, push: Push) -> Path:
        """The default folder for a push's outputs."""
        if push.folder and Path(push.folder).is_dir():  # perhaps chosen with --output
            return Path(push.folder)
        slug = push.kernel.rpartition("/")[2]
        return self.runs / f"{'rehearsal-' if push.rehearsal else ''}{slug}-v{push.version}"

    def alone_in(self, folder: Path) -> AbstractContextManager[None]:
        """Lock a folder during a block: one command at a time downloads files into it."""
        return self.alone(str(folder.resolve()), f"downloads files into {folder}")

    def alone_with(self, kernel: str) -> AbstractContextManager[None]:
        """Lock a kernel during a block: one command at a time checks and pushes it."""
        return self.alone(f"kernel {kernel}", f"pushes {kernel}")

    def alone(self, name: str, doing: str) -> AbstractContextManager[None]:
        """Lock what has this name during a block; a command that waits says what another does."""
        key = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]

        def busy() -> None:
            self.events("waiting", f"another command {doing}: continuing when it is done")

        return files.locked(self.runs / LOCKS / f"{key}.lock", busy)

    def how_to_resume(self, push: Push) -> str:
        """A sentence with the command that returns to a run in progress."""
        if self.local:
            return "This rehearsal's Kaggle stops with the command, and its runs with it"
        return f"Reconnect with: {self.resuming(push)}"

    def resuming(self, push: Push) -> str:
        """The command that resumes a push, or fetches the outputs of a finished run."""
        return f"kernelkit resume {push.reference}{' --local' if self.local else ''}"


class CommandOptions(TypedDict, total=False):
    """The keyword arguments of every command that talks to Kaggle.

    local    rehearse against a local Kaggle that lives as long as the call
    as_json  print one JSON object per event
    quiet    only the events that need attention, and the results
    runs     the folder of runs and ledger; default `runs` at the project's root
    stream   where the events are written; default stdout
    timing   the clock and all time limits
    """

    local: bool
    as_json: bool
    quiet: bool
    runs: Path | None
    stream: TextIO | None
    timing: Timing | None


def in_project(
    options: CommandOptions,
    at: Project | Path | None = None,
    kind: type[CommandOptions] = CommandOptions,
) -> PushContext:
    """The context of a command in a project, or that of a path or the current folder.

    `kind`: what the command's options are.
    """
    project = at if isinstance(at, Project) else find_project(at or Path.cwd())
    if unknown := set(options) - set(get_type_hints(kind)):
        raise TypeError(f"unknown options: {', '.join(sorted(unknown))}")
    local = options.get("local", False)
    rehearsal = local or os.environ.get("KAGGLE_API_ENVIRONMENT") == "LOCALHOST"
    events = Events(
        options.get("stream"),
        as_json=options.get("as_json", False),
        quiet=options.get("quiet", False),
        rehearsal=rehearsal,
    )
    runs = options.get("runs")
    server = runs / LOCAL_KAGGLE if runs else project.local_kaggle
    limits = options.get("timing") or (REHEARSAL if rehearsal else KAGGLE)
    return PushContext(
        runs or project.runs, events, limits, server if local else None, root=project.root
    )
