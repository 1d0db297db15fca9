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
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import psutil  # type: ignore[import-untyped]

from local_kaggle.execution import entering, gateways, leftovers, processes, walls
from local_kaggle.execution.gateways import RERUN, Gateway
from local_kaggle.execution.sandbox import MountedSource, Sandbox, command
from local_kaggle.limits import FREE_BYTES, FREE_FILES, Kind, ServerLimits

NO_GATEWAY = (
    "rehearsal: the competition's gateway runs beside the notebook, each isolated, and "
    f"{walls.NOT_ISOLATED}"
)
REHEARSAL: dict[Kind, str] = {
    "tpu": "rehearsal: this TPU session is eight CPU devices on this machine, not a TPU",
    "gpu": "rehearsal: this GPU session has this machine's GPUs; without one, code that asks for "
    "CUDA or OpenCL fails here",
}
"""The first line in the log of a session on such a machine."""
POLL_SECONDS = 0.05  # seconds between looks at a process that may have to be killed
LOOK_SECONDS = 1.0  # between looks at its memory and its files, which take longer
LINE_BYTES = 1_000_000  # about the most of one event of the log; a longer line becomes several
PIPE_BYTES = 65_536  # that a pipe holds
FREE_MEMORY_BYTES = 400_000_000  # likewise: with less, the system would end programs of its choice


@dataclass(frozen=True)
class SessionPlan:
    """One session of a version: what to run, on which machine, with which limits.

    request        the SaveKernel request that saved the version
    sources        the folders to mount as inputs
    kind           the kind of machine that the session counts as, `runs_on` the one that it gets
    rerun          whether it is the second run of a code competition, on hidden data. Its log and
                   outputs are kept even if it exceeds a limit, because the client never gets them
    gateway        the competition's program that asks the notebook for predictions, in a rerun
    reached_by     the variables by which a session with internet reaches it, see `network`
    first_seconds  how long the version's first run took
    first_memory   the most bytes that its first run held; 0 if that is not known
    """

    folder: Path
    request: Any  # kagglesdk's ApiSaveKernelRequest, which ships no types
    sources: Sequence[MountedSource]
    kind: Kind
    runs_on: Kind
    limits: ServerLimits
    rerun: bool = False
    gateway: Gateway | None = None
    reached_by: Mapping[str, str] = field(default_factory=dict)
    first_seconds: float = 0.0
    first_memory: float = 0.0

    @property
    def seconds(self) -> float:
        """How long it may run."""
        longest = self.limits.session_seconds[self.kind]
        return min(self.request.session_timeout_seconds or longest, longest)


@dataclass(frozen=True)
class Outcome:
    """How a session ended.

    `state` is COMPLETE or ERROR; `why` is the local Kaggle's own reason for ending it; `limit` is
    "time", "memory" or "disk" if the session exceeded that limit; `memory` and `working` are its
    highest memory use and its largest output, in bytes.
    """

    state: str
    why: str = ""
    limit: str = ""
    memory: float = 0.0
    working: float = 0.0


STOPPED = Outcome("ERROR", "the local Kaggle was stopped while this ran")
"""The outcome when the server stops; also when the version is deleted, which no client sees."""


def log_path(folder: Path) -> Path:
    """The path of a session's log."""
    return folder / "log.jsonl"


def run(plan: SessionPlan, image: Callable[[], Path], stop: threading.Event) -> Outcome:
    """Run a session until it ends, exceeds a limit, or `stop` is set; returns how it ended.

    A session that exceeds a limit is killed with all its processes and loses its log and outputs,
    as on Kaggle. `image` returns the Python interpreter of the sessions' environment. An exception
    becomes an outcome, too.
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
        reached_by=plan.reached_by,
        gateway=asking.folder if asking else None,
    )
    for sandbox in filter(None, (box, asking)):
        stack.callback(sandbox.discard)
        stack.callback(leftovers.make_harmless, sandbox.source)
        stack.callback(leftovers.make_harmless, sandbox.working)
    if asking:
        stack.callback(leftovers.make_harmless, asking.folder / gateways.SHARED)
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
    words = box.enclosed(command(request.kernel_type, box))
    environment = box.environment()
    if plan.rerun:
        environment[RERUN] = "1"
    if plan.gateway and asking:
        words = plan.gateway.command(asking, words, environment, box.working)
    outcome = _attend(words, environment, box, log, plan, stop)
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
    """Wait until the process ends, exceeds a limit, or `stop` is set."""
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
            allowed = plan.limits.memory_bytes[plan.kind]
            if memory > allowed:
                limit = "memory"
                excess = _past(memory, "of memory", allowed)
            too_much = _too_much_written(working, plan)
            if too_much:
                limit = "disk"
                excess = too_much
            lacks = _full_disk(box.scratch, plan.folder) or _full_memory(memory, allowed)
            if lacks:
                return Outcome("ERROR", lacks, memory=memory, working=working)
        if now > deadline:
            limit = "time"
            excess = f"it ran {plan.seconds:.0f} seconds, past its limit"
        time.sleep(POLL_SECONDS)
    if not limit:  # what it wrote since the last look counts as well
        working = max(working, leftovers.size(box.working))
        excess = _too_much_written(working, plan)
        limit = "disk" if excess else ""
    if limit:
        why = f"Your notebook was stopped: {excess}"
        return Outcome("ERROR", why, limit, memory, working)
    state = "ERROR" if process.returncode else "COMPLETE"
    return Outcome(state, memory=memory, working=working)


def _too_much_written(working: float, plan: SessionPlan) -> str:
    """What a session has written too much of, `working` bytes of output or its log; "" if
    nothing."""
    limits = plan.limits
    log_bytes = log_path(plan.folder).stat().st_size
    if log_bytes > limits.log_bytes:
        return _past(log_bytes, "of log", limits.log_bytes)
    if working > limits.working_bytes:
        return _past(working, "of output", limits.working_bytes)
    return ""


def _past(bytes_held: float, what: str, allowed: float) -> str:
    return f"{bytes_held / 1e9:.1f} GB {what}, past its limit of {allowed / 1e9:g} GB"


def _full_disk(*folders: Path) -> str:
    """The message about the first folder whose disk is almost full; "" if there is none."""
    for folder in folders:
        free = shutil.disk_usage(folder).free
        if free < FREE_BYTES:
            return (
                f"rehearsal: the session was stopped, since only {free / 1e9:.1f} GB are free for "
                f"{folder} on this machine: free some space, and rehearse again"
            )
        disk = os.statvfs(folder)
        if disk.f_files and disk.f_favail < FREE_FILES:
            return (
                f"rehearsal: the session was stopped, since only {disk.f_favail} more files can be "
                f"made in {folder} on this machine: remove some, and rehearse again"
            )
    return ""


def _full_memory(held: float, allowed: float) -> str:
    """The message if this machine runs out of memory before the session's limit; "" if not."""
    free = psutil.virtual_memory().available
    if free > FREE_MEMORY_BYTES:
        return ""
    return (
        f"rehearsal: the session was stopped at {held / 1e9:.1f} GB of memory, since this machine "
        f"has only {free / 1e9:.1f} GB left; the session's limit is {allowed / 1e9:.0f} GB. "
        "Rehearse with fewer rows or smaller images and batches, set a lower limit (--memory), or "
        "take a larger machine"
    )


class LogWriter:
    """Appends events to a file, one JSON object per line, from several threads."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._began = time.monotonic()
        self._lock = threading.Lock()
        self._path.write_text("")

    def write(self, stream_name: str, *data: str) -> None:
        """Add events, each with one of the texts; their time is in seconds since the log began."""
        seconds = round(time.monotonic() - self._began, 6)
        events = [
            json.dumps({"stream_name": stream_name, "time": seconds, "data": text}) + "\n"
            for text in data
        ]
        with self._lock, self._path.open("a", encoding="utf-8") as file:
            file.writelines(events)

    def follow(self, stream_name: str, pipe: IO[bytes]) -> None:
        """Write every line of a pipe until it closes, a very long one in pieces.

        It writes all lines at once that are there: whoever prints waits while the pipe is full.
        """
        held = b""  # a line that has not ended yet
        with pipe:
            while piece := os.read(pipe.fileno(), PIPE_BYTES):
                *lines, held = (held + piece).split(b"\n")
                texts = [line + b"\n" for line in lines]
                if len(held) >= LINE_BYTES:
                    texts.append(held)
                    held = b""
                self._write_bytes(stream_name, texts)
            self._write_bytes(stream_name, [held] if held else [])

    def _write_bytes(self, stream_name: str, texts: list[bytes]) -> None:
        if texts:
            self.write(stream_name, *(text.decode("utf-8", errors="replace") for text in texts))


def read_events(path: Path, start: int = 0, most: int = -1) -> tuple[list[str], int]:
    """The events written so far, each the JSON of {"stream_name", "time" in seconds, "data"}, and
    the byte after them; from byte `start` on, and about `most` bytes of them if that is not -1.

    A line that is still being written is left for the next call.
    """
    if not path.is_file():
        return [], start
    with path.open("rb") as file:
        file.seek(start)
        text = file.read(most)
        if most >= 0 and text:
            text += file.readline()
    whole = text.rpartition(b"\n")[0]
    if not whole:
        return [], start
    return whole.decode("utf-8").split("\n"), start + len(whole) + 1
