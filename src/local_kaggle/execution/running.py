"""One version's run: its process and its log, from the queue to the last line."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import psutil  # type: ignore[import-untyped]

from local_kaggle.execution import entering, leftovers, processes, walls
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
LINE_BYTES = 1_000_000  # of one event of the log; a longer line becomes several
FREE_MEMORY_BYTES = 400_000_000  # likewise: with less, the system would end programs of its choice
FREE_BYTES = 500_000_000  # of this machine's disks: with less, a session ends before the disk does


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
    request = plan.request
    image = python.parent.parent
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
    if not box.builder and not walls.are_required():
        log.write("stderr", f"{walls.NOT_HELD}\n")
    if plan.runs_on in REHEARSAL:
        log.write("stderr", f"{REHEARSAL[plan.runs_on]}\n")
    if request.language != "python":
        return Outcome("ERROR", f"rehearsal: no {request.language} here, only python")
    if walls.are_required() and not box.builder:
        return Outcome("ERROR", walls.REFUSED)
    if asking and not box.builder:
        return Outcome("ERROR", NO_GATEWAY)
    words = box.enclosed(command(python, request.kernel_type, box))
    environment = box.environment() | ({RERUN: "1"} if plan.rerun else {})
    if plan.gateway and asking:
        words = plan.gateway.command(asking, words, environment, box.working)
    outcome = _attend(words, environment, box, log, plan, stop)
    for sandbox in filter(None, (box, asking)):
        leftovers.make_harmless(sandbox.working)
        leftovers.make_harmless(sandbox.source)
    if (outcome.limit or outcome == STOPPED) and not plan.rerun:
        leftovers.remove(box.working)
        box.working.mkdir()
        log_path(plan.folder).write_text("")
    return outcome


def _attend(
    words: Sequence[str],
    environment: Mapping[str, str],
    box: Sandbox,
    log: LogWriter,
    plan: SessionPlan,
    stop: threading.Event,
) -> Outcome:
    """Start a session's command, log what it writes, and end all of its processes."""
    with (
        processes.ended_with_this_process(box.scratch),
        processes.counted(box.scratch.name, entering.PROCESSES) as counting,
    ):
        process = subprocess.Popen(
            [*counting, *words],
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
        outcome = _wait(process, box, plan, stop)
        processes.stop(process)
    for reader in readers:
        reader.join(timeout=5)
    return outcome


def _wait(
    process: subprocess.Popen[bytes], box: Sandbox, plan: SessionPlan, stop: threading.Event
) -> Outcome:
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
            working = max(working, leftovers.size(box.working))
            if memory > plan.limits.memory_bytes[plan.kind]:
                limit = "memory"
                excess = f"{memory / 1e9:.1f} GB of memory"
            if working > plan.limits.working_bytes:
                limit = "disk"
                excess = f"{working / 1e9:.1f} GB of output"
            if log_path(plan.folder).stat().st_size > plan.limits.log_bytes:
                limit = "disk"
                excess = f"a log of {plan.limits.log_bytes / 1e9:.1f} GB"
            allowed = plan.limits.memory_bytes[plan.kind]
            lacks = _full_disk(box.scratch, plan.folder) or _full_memory(memory, allowed)
            if lacks:
                return Outcome("ERROR", lacks, memory=memory, working=working)
        if now > deadline:
            limit = "time"
            excess = f"it ran {plan.seconds:.0f} seconds"
        time.sleep(POLL_SECONDS)
    if limit:
        why = f"Your notebook was stopped: {excess}, past its limit"
        return Outcome("ERROR", why, limit, memory, working)
    working = max(working, leftovers.size(box.working))
    state = "ERROR" if process.returncode else "COMPLETE"
    return Outcome(state, memory=memory, working=working)


def _full_disk(*folders: Path) -> str:
    """What to say of the first of the folders whose disk is almost full; "" where none is."""
    for folder in folders:
        free = shutil.disk_usage(folder).free
        if free < FREE_BYTES:
            return (
                f"rehearsal: the session was stopped, since only {free / 1e9:.1f} GB are free for "
                f"{folder} on this machine: free some space, and rehearse again"
            )
    return ""


def _full_memory(held: float, allowed: float) -> str:
    """What to say where this machine's memory ends before the session's limit; "" elsewhere."""
    free = psutil.virtual_memory().available
    if free > FREE_MEMORY_BYTES:
        return ""
    return (
        f"rehearsal: the session was stopped at {held / 1e9:.1f} GB of memory, since this machine "
        f"has only {free / 1e9:.1f} GB left; the session's limit is {allowed / 1e9:.0f} GB. "
        "Rehearse with fewer rows, set a lower limit, or take a larger machine"
    )


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
        """Write every line of a pipe until it closes, a very long one in pieces."""
        with pipe:
            while line := pipe.readline(LINE_BYTES):
                self.write(stream_name, line.decode("utf-8", errors="replace"))


def read_events(path: Path) -> list[str]:
    """The events written so far, each the JSON of {"stream_name", "time" in seconds, "data"}.

    A line that is still being written is left for the next call.
    """
    return path.read_text("utf-8").split("\n")[:-1] if path.is_file() else []
