"""One version's run: its process and its log, from the queue to the last line."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from local_kaggle.execution import processes, walls
from local_kaggle.execution.gateways import RERUN, Gateway
from local_kaggle.execution.sandbox import MountedSource, Sandbox, command
from local_kaggle.limits import Kind, ServerLimits

NO_GATEWAY = (
    "rehearsal: the competition's gateway runs beside the notebook, each isolated, which this "
    "machine cannot do: rerun on Linux with bubblewrap or unshare"
)
REHEARSAL: dict[Kind, str] = {
    "tpu": "rehearsal: this TPU session is eight CPU devices on this machine, not a TPU",
    "gpu": "rehearsal: this GPU session is this machine's GPUs or two CPU devices, not Kaggle's",
}
"""What the log of such a session begins with."""
POLL_SECONDS = 0.05  # seconds between looks at a process that may have to be killed
LOOK_SECONDS = 1.0  # between looks at its memory and its files, which take longer


@dataclass(frozen=True)
class SessionPlan:
    """What is run, and how: the request that saved a version, and its machine.

    `kind` is the machine that it counts as, `runs_on` the one that it gets.
    `rerun`: for a competition's score, with the variable that says so. Its log and outputs are kept
    past a limit too: Kaggle shows them to nobody. `gateway`: what asks it for predictions then.
    `first_seconds`: how long the version ran before.
    """

    folder: Path
    request: Any  # kagglesdk's ApiSaveKernelRequest, which ships no types
    sources: Sequence[MountedSource]
    kind: Kind
    runs_on: Kind
    limits: ServerLimits
    rerun: bool = False
    gateway: Gateway | None = None
    first_seconds: float = 0.0

    @property
    def seconds(self) -> float:
        """How long it may run."""
        longest = self.limits.session_seconds[self.kind]
        return min(self.request.session_timeout_seconds or longest, longest)


@dataclass(frozen=True)
class Outcome:
    """How a session ended.

    `state` is COMPLETE or ERROR; `why` is the local Kaggle's own reason for ending it; `limit` is
    "time", "memory" or "disk", where that was past its limit; `memory` and `working` are the most
    bytes that it held.
    """

    state: str
    why: str = ""
    limit: str = ""
    memory: float = 0.0
    working: float = 0.0


STOPPED = Outcome("ERROR", "the local Kaggle was stopped while this ran")
"""That of a session whose version is deleted, too, where nobody asks for it."""


def log_path(folder: Path) -> Path:
    """Where a session keeps its log."""
    return folder / "log.jsonl"


def run(plan: SessionPlan, image: Callable[[], Path], stop: threading.Event) -> Outcome:
    """Run a version to its end, a limit or `stop`; whatever happens to it is its outcome.

    Past a limit the whole tree of processes is killed, and log and outputs are lost, as on Kaggle.
    `image` gives the interpreter of the sessions' environment.
    """
    try:
        with contextlib.ExitStack() as stack:
            return _run(plan, image(), stop, stack)
    except Exception as error:
        return Outcome("ERROR", f"the rehearsal itself failed: {error!r}")


def _run(
    plan: SessionPlan, python: Path, stop: threading.Event, stack: contextlib.ExitStack
) -> Outcome:
    request, image = plan.request, python.parent.parent
    plan.folder.mkdir(parents=True, exist_ok=True)
    asking = plan.gateway.sandbox(plan.folder, image) if plan.gateway else None
    box = Sandbox(
        plan.folder,
        image,
        plan.sources,
        runs_on=plan.runs_on,
        internet=bool(request.enable_internet),
        gateway=asking.folder if asking else None,
    )
    for sandbox in filter(None, (box, asking)):
        stack.callback(sandbox.discard)
    name = "source.ipynb" if request.kernel_type == "notebook" else "script.py"
    (box.source / name).write_bytes(request.text.encode())
    log = LogWriter(log_path(plan.folder))
    for note in ("" if box.builder else walls.NOT_HELD, REHEARSAL.get(plan.runs_on)):
        if note:
            log.write("stderr", f"{note}\n")
    if request.language != "python":
        return Outcome("ERROR", f"rehearsal: no {request.language} here, only python")
    if asking and not box.builder:
        return Outcome("ERROR", NO_GATEWAY)
    words = box.enclosed(command(python, request.kernel_type, box))
    environment = box.environment() | ({RERUN: "1"} if plan.rerun else {})
    if plan.gateway and asking:
        words = plan.gateway.command(asking, words, environment, box.working)
    outcome = _attend(words, environment, box, log, plan, stop)
    _drop_links(box.working)
    if (outcome.limit or outcome == STOPPED) and not plan.rerun:
        shutil.rmtree(box.working)
        box.working.mkdir()
        log_path(plan.folder).write_text("")
    return outcome


def _drop_links(outputs: Path) -> None:
    """Remove links from outputs save those to files among them: they may lead anywhere here."""
    for path in list(outputs.rglob("*")):
        if path.is_symlink() and not (
            path.is_file() and path.resolve().is_relative_to(outputs.resolve())
        ):
            path.unlink()


def _attend(
    words: Sequence[str],
    environment: Mapping[str, str],
    box: Sandbox,
    log: LogWriter,
    plan: SessionPlan,
    stop: threading.Event,
) -> Outcome:
    """Start a session's command, log what it writes, and end all of its processes."""
    with processes.ended_with_this_process(box.scratch):
        process = subprocess.Popen(
            words,
            cwd=box.working,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        pipes = {"stdout": process.stdout, "stderr": process.stderr}
        readers = [
            threading.Thread(target=log.follow, args=pipe, daemon=True) for pipe in pipes.items()
        ]
        for reader in readers:
            reader.start()
        outcome = _wait(process, plan, stop)
    process.kill()
    process.wait()
    for reader in readers:
        reader.join(timeout=5)
    return outcome


def _wait(process: subprocess.Popen[bytes], plan: SessionPlan, stop: threading.Event) -> Outcome:
    """Wait for the end of a run, or for a reason to end it: a limit, or somebody's wish."""
    deadline = time.monotonic() + plan.seconds
    next_look = memory = working = 0.0
    limit = excess = ""
    while not limit and process.poll() is None:
        if stop.is_set():
            return STOPPED
        now = time.monotonic()
        if now > next_look:
            next_look = now + LOOK_SECONDS
            memory = max(memory, processes.memory(process.pid))
            working = max(working, _size(plan.folder / "working"))
            if memory > plan.limits.memory_bytes[plan.kind]:
                limit, excess = "memory", f"{memory / 1e9:.1f} GB of memory"
            if working > plan.limits.working_bytes:
                limit, excess = "disk", f"{working / 1e9:.1f} GB of output"
        if now > deadline:
            limit, excess = "time", f"it ran {plan.seconds:.0f} seconds"
        time.sleep(POLL_SECONDS)
    if limit:
        why = f"Your notebook was stopped: {excess}, past its limit"
        return Outcome("ERROR", why, limit, memory, working)
    working = max(working, _size(plan.folder / "working"))
    state = "ERROR" if process.returncode else "COMPLETE"
    return Outcome(state, memory=memory, working=working)


def _size(folder: Path) -> int:
    """Bytes of all files below a folder that a run is writing into, and removing from."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += Path(parent, name).lstat().st_size
    return total


class LogWriter:
    """Appends events to a file, one JSON object per line, from several threads."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._began = time.monotonic()
        self._lock = threading.Lock()
        self._path.write_text("")

    def write(self, stream_name: str, data: str) -> None:
        """Add one event; its time is in seconds since the log began."""
        seconds = round(time.monotonic() - self._began, 6)
        event = json.dumps({"stream_name": stream_name, "time": seconds, "data": data})
        with self._lock, self._path.open("a", encoding="utf-8") as file:
            file.write(event + "\n")

    def follow(self, stream_name: str, pipe: IO[bytes]) -> None:
        """Write every line of a pipe until it closes."""
        with pipe:
            for line in pipe:
                self.write(stream_name, line.decode("utf-8", errors="replace"))


def read_events(path: Path) -> list[str]:
    """The events written so far, each the JSON of {"stream_name", "time" in seconds, "data"}.

    A line that is still being written is left for the next call.
    """
    return path.read_text("utf-8").split("\n")[:-1] if path.is_file() else []
