"""One version's run: its process and its log, from the queue to the last line."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal

from local_kaggle.execution import processes, walls
from local_kaggle.execution.gateways import Gateway, Pair, evaluation_path
from local_kaggle.execution.sandbox import REHEARSAL, MountedSource, Sandbox, command
from local_kaggle.limits import Kind

Outcome = Literal["COMPLETE", "ERROR", "CANCEL_ACKNOWLEDGED"]

NO_GATEWAY = (
    "rehearsal: the competition's gateway runs beside the notebook, each isolated, which this "
    "machine cannot do: rerun on Linux with bubblewrap or unshare"
)
RERUN = "KAGGLE_IS_COMPETITION_RERUN"  # set in a session that runs for a competition's score
POLL_SECONDS = 0.05  # seconds between looks at a process that may have to be killed
LOOK_SECONDS = 1.0  # between looks at its memory and its files, which take longer
END_OF_LOG = "END_OF_LOG"
Event = dict[str, Any]  # {"stream_name": "stdout" | "stderr", "time": seconds, "data": text}


@dataclass(frozen=True)
class SessionPlan:
    """What is run, and how: the text of a version and the machine that its session got.

    `rerun`: for a competition's score, with the variable that says so. Its log and outputs are kept
    past a limit too: Kaggle shows them to nobody. `gateway`: what asks it for predictions then.
    `notes`: lines to begin the log with.
    """

    folder: Path
    text: str
    kernel_type: str
    language: str
    sources: tuple[MountedSource, ...]
    runs_on: Kind
    internet: bool
    limit_seconds: float
    memory_bytes: float
    working_bytes: float
    rerun: bool = False
    notes: tuple[str, ...] = ()
    gateway: Gateway | None = None


@dataclass
class Usage:
    """A session's peak use in bytes, and which limit ended it, if one did."""

    memory: float = 0.0
    working: float = 0.0
    past: Literal["", "time", "memory", "disk"] = ""


def log_path(folder: Path) -> Path:
    """Where a session keeps its log."""
    return folder / "log.jsonl"


def run(
    plan: SessionPlan, python: Path, stop: threading.Event, usage: Usage | None = None
) -> tuple[Outcome, str | None]:
    """Run a version to its end, a limit or `stop`; returns the outcome and a message.

    Past a limit the whole tree of processes is killed, and log and outputs are lost, as on Kaggle.
    `python` is the image's interpreter; `usage` is filled as the session goes on.
    """
    usage = usage or Usage()
    plan.folder.mkdir(parents=True, exist_ok=True)
    pair = Pair.make(plan.folder, plan.gateway) if plan.gateway else None
    box = Sandbox.make(plan.folder, pair.asked if pair else None)
    log = LogWriter(log_path(plan.folder))
    try:
        _write_source(plan, box)
        if not box.builder:
            log.write("stderr", walls.NOT_HELD + "\n")
        if plan.runs_on in REHEARSAL:
            log.write("stderr", REHEARSAL[plan.runs_on] + "\n")
        for note in plan.notes:
            log.write("stderr", note + "\n")
        if plan.language != "python":
            log.write("stderr", f"rehearsal: no {plan.language} here, only python\n")
            return "ERROR", None
        if pair and not box.builder:
            return "ERROR", NO_GATEWAY
        image = python.parent.parent
        line = box.enclosed(
            command(python, plan.kernel_type, box), plan.sources, image, internet=plan.internet
        )
        environment = box.environment(image, plan.runs_on, internet=plan.internet)
        environment |= evaluation_path(plan.sources, box) | ({RERUN: "1"} if plan.rerun else {})
        if pair:
            line = pair.line(line, environment, python, box.working)
        with processes.ended_with_this_process(box.scratch):
            process = subprocess.Popen(
                line,
                cwd=box.working,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
            return _attend(process, log, plan, stop, usage)
    finally:
        box.discard()
        if pair:
            pair.box.discard()


def _attend(
    process: subprocess.Popen[bytes],
    log: LogWriter,
    plan: SessionPlan,
    stop: threading.Event,
    usage: Usage,
) -> tuple[Outcome, str | None]:
    pipes = {"stdout": process.stdout, "stderr": process.stderr}
    readers = [
        threading.Thread(target=log.follow, args=(name, pipe), daemon=True)
        for name, pipe in pipes.items()
    ]
    for reader in readers:
        reader.start()
    excess = _wait(process, plan, stop, usage)
    if excess is not None:
        processes.end(process)
    for reader in readers:
        reader.join(timeout=5)
    if excess is None:
        return ("COMPLETE", None) if process.returncode == 0 else ("ERROR", None)
    if not plan.rerun:
        for path in sorted((plan.folder / "working").rglob("*"), reverse=True):
            path.unlink() if path.is_file() or path.is_symlink() else path.rmdir()
        log_path(plan.folder).write_text("")
    return ("ERROR", excess) if excess else ("CANCEL_ACKNOWLEDGED", None)


def _wait(
    process: subprocess.Popen[bytes], plan: SessionPlan, stop: threading.Event, usage: Usage
) -> str | None:
    """Wait for the end: None where the run came to it, else why it must be killed.

    The reason is empty for a session that somebody stopped.
    """
    deadline = time.monotonic() + plan.limit_seconds
    next_look = 0.0
    while process.poll() is None:
        if stop.is_set():
            return ""
        now = time.monotonic()
        if now > next_look:
            next_look = now + LOOK_SECONDS
            memory = processes.memory(process.pid, plan.memory_bytes)
            working = _size(plan.folder / "working")
            usage.memory, usage.working = max(usage.memory, memory), max(usage.working, working)
            if memory > plan.memory_bytes:
                usage.past = "memory"
                return f"Your notebook was stopped: {memory / 1e9:.1f} GB of memory, past its limit"
            if working > plan.working_bytes:
                usage.past = "disk"
                return (
                    f"Your notebook was stopped: {working / 1e9:.1f} GB of output, past its limit"
                )
        if now > deadline:
            usage.past = "time"
            return f"Your notebook was stopped: it ran past {plan.limit_seconds:.0f} seconds"
        time.sleep(POLL_SECONDS)
    usage.working = max(usage.working, _size(plan.folder / "working"))
    return None


def _size(folder: Path) -> int:
    """Bytes of all files below a folder that a run is writing into, and removing from."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += Path(parent, name).lstat().st_size
    return total


def _write_source(plan: SessionPlan, box: Sandbox) -> None:
    name = "source.ipynb" if plan.kernel_type == "notebook" else "script.py"
    # A lone surrogate, which JSON may contain, is written as its escape.
    (box.source / name).write_bytes(plan.text.encode("utf-8", "backslashreplace"))


class LogWriter:
    """Appends events to a file, one JSON object per line, from several threads."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._began = time.monotonic()
        self._lock = threading.Lock()
        self._path.write_text("")

    def write(self, stream_name: str, data: str) -> None:
        """Add one event; its time is in seconds since the log began."""
        event = {
            "stream_name": stream_name,
            "time": round(time.monotonic() - self._began, 6),
            "data": data,
        }
        with self._lock, self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(event) + "\n")

    def follow(self, stream_name: str, pipe: IO[bytes]) -> None:
        """Write every line of a pipe until it closes."""
        with pipe:
            for line in pipe:
                self.write(stream_name, line.decode("utf-8", errors="replace"))


def read_events(path: Path, skip: int = 0) -> list[Event]:
    """The events written so far, without the first `skip`; none where there is no log.

    A line that is still being written is left for the next call.
    """
    if not path.is_file():
        return []
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    return [json.loads(line) for line in lines[skip:]]


def as_array(events: list[Event]) -> str:
    """A finished log as Kaggle serves it: a JSON array with one entry per line."""
    if not events:
        return ""
    return "[" + "\n,".join(json.dumps(event) for event in events) + "]"


def as_sse(event: Event | str) -> bytes:
    """One event, or END_OF_LOG, as a server-sent event."""
    data = event if isinstance(event, str) else json.dumps(event)
    return f"data: {data}\n\n".encode()
