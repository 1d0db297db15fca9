"""One version's run: its process, from the queue to its last line of log."""

from __future__ import annotations

import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from local_kaggle.execution import processes
from local_kaggle.execution.logs import LogWriter
from local_kaggle.execution.mounts import MountedSource, mount
from local_kaggle.execution.sandbox import REHEARSAL, Sandbox, command
from local_kaggle.limits import Kind

Outcome = Literal["COMPLETE", "ERROR", "CANCEL_ACKNOWLEDGED"]

POLL_SECONDS = 0.05  # seconds between looks at a process that may have to be killed


@dataclass(frozen=True)
class SessionPlan:
    """What is run, and how: the text of a version and the machine that its session got."""

    folder: Path
    text: str
    kernel_type: str
    language: str
    sources: tuple[MountedSource, ...]
    runs_on: Kind
    internet: bool
    limit_seconds: float
    layout: str


def log_path(folder: Path) -> Path:
    """Where a session keeps its log."""
    return folder / "log.jsonl"


def run(plan: SessionPlan, python: Path, stop: threading.Event) -> tuple[Outcome, str | None]:
    """Run a version to its end, its time limit or `stop`; returns the outcome and a message.

    Past the limit the whole tree of processes is killed, and log and outputs are lost, as on
    Kaggle. `python` is the image's interpreter.
    """
    plan.folder.mkdir(parents=True, exist_ok=True)
    box = Sandbox.make(plan.folder)
    log = LogWriter(log_path(plan.folder))
    try:
        mount(plan.sources, box.input, plan.layout)
        _write_source(plan)
        if plan.runs_on in REHEARSAL:
            log.write("stderr", REHEARSAL[plan.runs_on] + "\n")
        if plan.language != "python":
            log.write("stderr", f"rehearsal: no {plan.language} here, only python\n")
            return "ERROR", None
        image = python.parent.parent
        with processes.ended_with_this_process(box.tmp):
            process = subprocess.Popen(
                command(python, plan.kernel_type, plan.language),
                cwd=box.working,
                env=box.environment(image, plan.runs_on, internet=plan.internet),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
            return _attend(process, log, plan, stop)
    finally:
        box.discard()


def _attend(
    process: subprocess.Popen[bytes], log: LogWriter, plan: SessionPlan, stop: threading.Event
) -> tuple[Outcome, str | None]:
    pipes = {"stdout": process.stdout, "stderr": process.stderr}
    readers = [
        threading.Thread(target=log.follow, args=(name, pipe), daemon=True)
        for name, pipe in pipes.items()
    ]
    for reader in readers:
        reader.start()
    deadline = time.monotonic() + plan.limit_seconds
    while process.poll() is None and time.monotonic() < deadline and not stop.is_set():
        time.sleep(POLL_SECONDS)
    killed = process.poll() is None
    if killed:
        processes.end(process)
    for reader in readers:
        reader.join(timeout=5)
    if not killed:
        return ("COMPLETE", None) if process.returncode == 0 else ("ERROR", None)
    _lose_everything(plan.folder)
    if stop.is_set():
        return "CANCEL_ACKNOWLEDGED", None
    return "ERROR", f"Your notebook was stopped: it ran past {plan.limit_seconds:.0f} seconds"


def _lose_everything(folder: Path) -> None:
    for path in sorted((folder / "working").rglob("*"), reverse=True):
        path.unlink() if path.is_file() or path.is_symlink() else path.rmdir()
    log_path(folder).write_text("")


def _write_source(plan: SessionPlan) -> None:
    name = "source.ipynb" if plan.kernel_type == "notebook" else "script.py"
    # Half a character, as JSON may hold it, is written as its escape.
    (plan.folder / name).write_bytes(plan.text.encode("utf-8", "backslashreplace"))
