"""The context of a command: the folder of runs, the ledger, the events, the time limits."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shlex
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TextIO, TypedDict, get_type_hints

from kernelkit import files
from kernelkit.errors import KernelkitError, NoLocalKaggleError, ParameterError
from kernelkit.kaggle_api.client import Kaggle
from kernelkit.kaggle_api.connection import open_connection
from kernelkit.kaggle_api.retries import Failure
from kernelkit.project import LOCAL_KAGGLE, LOCKS, Project, find_project
from kernelkit.shown import duration
from kernelkit.terminal import safe_text
from kernelkit.terminal.cli import unwinding
from kernelkit.terminal.events import Events, from_here, secrets_of_environment
from kernelkit.workspace.ledger import Ledger, Push
from kernelkit.workspace.timing import KAGGLE, REHEARSAL, Timing

LEDGER = "pushes.jsonl"
DOCTOR = Path("doctor", "doctor.json")  # in the folder of runs: the results of `kernelkit doctor`
LAST = "last"  # a reference to the ledger's last push
REFERENCE = re.compile(r"[^/\s]+/[^/\s]+/v?\d+")


@dataclass(frozen=True)
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

    def connect(self) -> AbstractContextManager[Kaggle]:
        """Kaggle, or the local one, connected during a block."""
        retries = replace(self.timing.retries, tell=self._tell_pause)
        timing = replace(self.timing, retries=retries)
        return connect(
            self.local, timing, self.catalogue, self.root, self._tell_filling, self.owner
        )

    @contextlib.contextmanager
    def asking(self, reference: str = "") -> Iterator[Kaggle]:
        """Kaggle as `connect` yields it; the events show no secret and mark a rehearsal.

        Raises `ParameterError` first, if `reference` is "last" and all pushes were rehearsals.
        """
        real = self.events.rehearsal or self.ledger.of("", rehearsal=False)
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
        with self.connect() as kaggle:
            self.events.keep_secret(kaggle.connection.secrets)
            self.events.rehearsal = kaggle.connection.rehearses
            yield kaggle

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
        return Ledger(self.runs / LEDGER, self.events.clear)

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

    def how_to_continue(self) -> str:
        """A sentence with the command that continues a run from its outputs."""
        command = "rehearse" if self.local else "push"
        return f"Continue in another session with: kernelkit {command} --continue"

    def what_next(self, push: Push) -> list[str]:
        """The commands to suggest after a complete run."""
        if push.rehearsal:
            push_it = f"kernelkit push{' --chain' * self.chained}"
            commands = [f"{push_it}  # on Kaggle, with ~/.kaggle/access_token"]
        elif push.competition:
            commands = [f"kernelkit submit {push.reference} --message MESSAGE"]
        else:
            commands = []
        runs = shlex.quote(from_here(self.runs))
        index = f"kernelkit report {runs} --index  # all runs"
        return [*commands, index]

    def how_to_resume(self, push: Push) -> str:
        """A sentence with the command that returns to a run in progress."""
        if self.local:
            return "This rehearsal's Kaggle stops with the command, and its runs with it"
        return self.how_to_fetch(push)

    def how_to_fetch(self, push: Push) -> str:
        """A sentence with the command that fetches the outputs of a finished run."""
        return f"Reconnect with: {self.resuming(push)}"

    def resuming(self, push: Push) -> str:
        """The command that resumes a push."""
        local = " --local" if self.local else ""
        return f"kernelkit resume {push.reference}{local}"


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
        secrets=secrets_of_environment(),
    )
    runs = options.get("runs")
    server = runs / LOCAL_KAGGLE if runs else project.local_kaggle
    limits = options.get("timing") or (REHEARSAL if rehearsal else KAGGLE)
    return PushContext(
        runs or project.runs, events, limits, server if local else None, root=project.root
    )


def rerun_of(local: Path, submission: int) -> dict[str, Any] | None:
    """The result of a submission's rerun on the local Kaggle in this folder, by field name."""
    from local_kaggle import LocalKaggle

    rerun = LocalKaggle(local).rerun(submission)
    return asdict(rerun) if rerun else None


FILLED = ".filled"  # in the catalogue: the commands that have run, one per line, see `_filling`


@contextlib.contextmanager
def connect(
    local: Path | None,
    timing: Timing,
    catalogue: str = "",
    root: Path | None = None,
    tell: Callable[[str], None] = lambda line: None,
    owner: str = "",
) -> Iterator[Kaggle]:
    """A connected `Kaggle`: the real one, or a local one with its state in the folder `local`.

    `catalogue` is a command that makes the rehearsal's inputs. It runs in `root`, and runs again
    only when the scripts that it names change; `tell` gets each line that it prints. It inherits
    this process's environment, so that it finds caches under HOME. A session finds the account's
    own inputs under the name `owner`.

    Raises `CredentialsError` or `NetworkError` when Kaggle cannot be reached, and `KernelkitError`
    if a rehearsal would contact another server.
    """
    if local is None:
        yield Kaggle(open_connection(timing.timeouts, timing.retries), timing.retries)
        return
    try:
        from local_kaggle import LocalKaggle, fill_catalogue
    except ModuleNotFoundError as error:
        if error.name != "local_kaggle":
            raise
        raise NoLocalKaggleError from None

    kaggle = LocalKaggle(local)
    kaggle.limits = replace(kaggle.limits, also_named=owner)
    # This process is the rehearsal's Kaggle: its sessions must not outlive it.
    with unwinding(), kaggle as server:
        filled = server.catalogue / FILLED
        earlier = filled.read_text(encoding="utf-8").splitlines() if filled.is_file() else []
        filling = _filling(catalogue, local, root or Path())
        if catalogue and filling not in earlier:
            fill_catalogue(server.catalogue, catalogue, root, tell)
            files.write_text(filled, "\n".join([*earlier, filling]) + "\n")
        with server.attach():  # from here on, the environment is the rehearsal's, including HOME
            connection = open_connection(timing.timeouts, timing.retries)
            if not connection.base_url.startswith(server.url + "/"):
                raise KernelkitError(
                    f"the rehearsal would have talked to {connection.base_url}: nothing was sent"
                )
            yield Kaggle(connection, timing.retries)


def _filling(catalogue: str, local: Path, root: Path) -> str:
    """The command, its project and a hash of its scripts, so that an edited script runs again."""
    words = [root / word for word in shlex.split(catalogue)]
    scripts = [path.read_bytes() for path in words if path.suffix == ".py" and path.is_file()]
    project = os.path.relpath(root, local)
    return f"{catalogue} # {project} {hashlib.sha256(b''.join(scripts)).hexdigest()[:16]}"
