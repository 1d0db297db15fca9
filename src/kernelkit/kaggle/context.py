"""What a command that talks to Kaggle works with: the ledger of pushes, events, time limits.

The ledger is `runs/pushes.jsonl`, with one JSON line per push:

    {"pushed": "2026-11-02T10:15:00+00:00", "kernel": "me/notebook", "version": 3, …}

A line is written before anything is sent, and replaced as the push proceeds, so that the last known
state survives a crash of this machine.
"""

import contextlib
import datetime
import enum
import hashlib
import json
import os
import secrets
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TextIO, TypedDict, get_type_hints

from kernelkit import files
from kernelkit.errors import KernelkitError
from kernelkit.kaggle.client import Kaggle, Kernel
from kernelkit.kaggle.connection import open_connection
from kernelkit.kaggle.retries import Failure
from kernelkit.kaggle.timing import KAGGLE, REHEARSAL, Timing
from kernelkit.project import LOCAL_KAGGLE, LOCKS, Project, find_project
from kernelkit.rehearsal.stand_in import attached
from kernelkit.shown import duration
from kernelkit.terminal.events import Events

LAST = "last"  # a reference to the ledger's last push


class State(enum.StrEnum):
    """The states of a push."""

    SENDING = "sending"  # SaveKernel was sent, and has not been answered
    REFUSED = "refused"
    QUEUED = "queued"  # on Kaggle, or running there
    UNFETCHED = "not fetched"  # the run is complete, but not all outputs are downloaded
    COMPLETE = "complete"
    FAILED = "failed"
    STOPPED = "stopped"  # its kernel was deleted while it ran
    LOST = "lost"  # it is unknown whether it arrived, or where its session is


@dataclass(frozen=True)
class Push:
    """One push in the ledger; `content` identifies what it runs, and on which inputs and
    machine."""

    kernel: str
    content: str
    git: str
    accelerator: str
    parameters: dict[str, Any] = field(default_factory=dict)
    timeout_minutes: float | None = None
    competition: str | None = None
    version: int | None = None
    state: str = State.SENDING
    pushed: str = ""
    number: str = ""  # random and unique to this push; see `pushes.proof`
    minutes_queued: float | None = None
    minutes_run: float | None = None
    score: str | None = None
    folder: str | None = None
    rehearsal: bool = False
    bundle: str = ""  # the bundle's content hash, which is also in its first cell
    queued: str = ""  # the identity of the queued push that it came from
    submission: int | None = None  # its number in the competition, once submitted
    submissions_before: list[int] | None = None  # those that existed before submitting
    message: str = ""  # of the submission
    inputs: dict[str, int] = field(default_factory=dict)  # versions of own kernel sources
    stays: list[str] = field(default_factory=list)  # patterns of outputs to leave on Kaggle
    estimate: dict[str, Any] = field(default_factory=dict)  # of its step; see `checks.tpu`

    @property
    def name(self) -> Kernel:
        """The kernel's name on Kaggle."""
        return Kernel.of(self.kernel)

    @property
    def reference(self) -> str:
        """`owner/slug/N`, as `kernelkit resume` accepts it."""
        return f"{self.kernel}/{self.version}" if self.version else self.kernel


class Ledger:
    """The pushes in a folder of runs, in the order in which they started.

    `clear` removes the secrets from a text; with `rehearsal`, `of` and `last` see only rehearsals,
    without it only pushes to Kaggle.
    """

    def __init__(
        self, runs: Path, clear: Callable[[str], str] = str, *, rehearsal: bool = False
    ) -> None:
        self.path, self._clear, self._rehearsal = runs / "pushes.jsonl", clear, rehearsal

    def pushes(self) -> list[Push]:
        """All pushes, oldest first; unreadable lines are skipped."""
        return [push for _, push in self._entries() if push]

    def of(self, kernel: str = "") -> list[Push]:
        """The pushes of this kernel, or of any, oldest first."""
        ours = [push for push in self.pushes() if push.rehearsal == self._rehearsal]
        return [push for push in ours if kernel in ("", push.kernel)]

    def last(self, kernel: str = "") -> Push | None:
        """The latest push that got a version, of this kernel or of any."""
        return next((push for push in reversed(self.of(kernel)) if push.version), None)

    def begin(self, push: Push) -> Push:
        """Write a new push with the current time and a new random number; returns it as written.

        For a queued item, this replaces the lines of its earlier pushes that Kaggle refused.
        """
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="microseconds")
        begun = replace(push, pushed=now, number=secrets.token_hex(8))
        retried = (State.REFUSED, None, push.queued)
        with files.locked(self.path.with_suffix(".lock")):
            lines = [
                line
                for line, old in self._entries()
                if not (push.queued and old and (old.state, old.version, old.queued) == retried)
            ]
            self._write([*lines, _line(begun)])
        return begun

    def update(self, push: Push, **changes: Any) -> Push:
        """Change these fields of a push's line as the file has it now; returns the new push."""
        with files.locked(self.path.with_suffix(".lock")):
            lines = {old.pushed if old else line: line for line, old in self._entries()}
            changed = replace(_read(lines.get(push.pushed, "")) or push, **changes)
            self._write((lines | {push.pushed: _line(changed)}).values())
        return changed

    def _entries(self) -> list[tuple[str, Push | None]]:
        """Each line, and the push in it."""
        text = self.path.read_text("utf-8", "replace") if self.path.is_file() else ""
        return [(line, _read(line)) for line in text.split("\n") if line.strip()]

    def _write(self, lines: Iterable[str]) -> None:
        files.write_text(self.path, self._clear("".join(f"{line}\n" for line in lines)))


def _line(push: Push) -> str:
    return json.dumps(asdict(push), ensure_ascii=False)


def _read(line: str) -> Push | None:
    try:
        values = json.loads(line)
        return Push(**{name: values[name] for name in Push.__dataclass_fields__ if name in values})
    except (ValueError, TypeError, AttributeError):
        return None


@dataclass
class PushContext:
    """The context of one command; `local` is the folder of a local Kaggle to rehearse on.

    `catalogue` is the project's command that makes the local Kaggle's inputs, run in its `root`;
    `owner` is the account's name on Kaggle, if the metadata has it.
    """

    runs: Path
    events: Events
    timing: Timing
    local: Path | None = None
    catalogue: str = ""
    root: Path | None = None
    owner: str = ""
    kaggle: Kaggle = field(init=False)  # in a block of `connect`

    @contextlib.contextmanager
    def connect(self) -> Iterator[Kaggle]:
        """Kaggle, or the local one, during a block; the events show no secret of the account's.

        Raises `CredentialsError` or `NetworkError` when Kaggle cannot be reached, and
        `KernelkitError` if a rehearsal would contact another server.
        """
        retries, url = replace(self.timing.retries, tell=self._tell_pause), ""
        with contextlib.ExitStack() as stack:
            if self.local:
                server = attached(self.local, self.catalogue, self.root, self.owner, self.events)
                url = stack.enter_context(server)
            connection = open_connection(self.timing.timeouts, retries)
            if not connection.base_url.startswith(url):
                raise KernelkitError(
                    f"the rehearsal would have talked to {connection.base_url}: nothing was sent"
                )
            self.events.keep_secret(connection.secrets)
            self.events.rehearsal = connection.rehearses
            self.kaggle = Kaggle(connection, retries)
            yield self.kaggle

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

    def _tell_pause(self, failure: Failure, seconds: float) -> None:
        pause = f"asking again in {duration(seconds)}"
        self.events("retrying", f"{failure.method} ({failure.kind.label}): {pause}")

    @property
    def ledger(self) -> Ledger:
        """The repository's ledger of pushes."""
        return Ledger(self.runs, self.events.clear, rehearsal=self.events.rehearsal)

    def folder(self, push: Push) -> Path:
        """The default folder for a push's outputs."""
        if push.folder and Path(push.folder).is_dir():  # perhaps chosen with --output
            return Path(push.folder)
        prefix = "rehearsal-" if push.rehearsal else ""
        return self.runs / f"{prefix}{push.name.slug}-v{push.version}"

    def alone_with(self, kernel: Kernel) -> contextlib.AbstractContextManager[None]:
        """Let one command at a time check and push this kernel, during a block."""
        return self.alone(f"pushes {kernel}")

    def alone(self, doing: str) -> contextlib.AbstractContextManager[None]:
        """Let one command at a time do this, during a block; a command that waits says so."""
        key = hashlib.sha256(doing.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        text = f"another command {doing}: continuing when it is done"
        busy = partial(self.events, "waiting", text)
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
