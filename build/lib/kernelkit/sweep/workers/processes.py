"""The processes of runs: how they are started, measured and killed with their kernels."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import psutil  # type: ignore[import-untyped]

from kernelkit import files
from kernelkit.sweep.workers.execute import ERROR, LOG, REQUEST

COLD = "KERNELKIT_COLD"  # if set, every run gets an interpreter of its own

KILL_SECONDS = 30.0  # to wait for killed processes, which the system may hold in a long call


class Child(Protocol):
    """What a fresh process and a forked one have in common."""

    pid: int

    def poll(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""


class Launcher(Protocol):
    """Starts runs; `close` ends the processes that it keeps for that."""

    def start(self, request: Mapping[str, Any]) -> Child:
        """Begin one run."""

    def close(self) -> None:
        """Let go."""


class Fresh:
    """Starts each run in an interpreter of its own: slow to begin, works everywhere."""

    def start(self, request: Mapping[str, Any]) -> Child:
        """Begin one run; its output goes to the run's `log.txt`."""
        folder = Path(request["folder"])
        file = files.write_text(folder / REQUEST, json.dumps(dict(request)))
        with (folder / LOG).open("wb") as log:
            return subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "kernelkit.sweep.workers.execute",
                    str(file),
                    str(os.getpid()),
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for the sweep, which then ends its runs
            )

    def close(self) -> None:
        """Nothing is kept."""


class RunProcess:
    """A run in flight: its process and all below it."""

    def __init__(self, child: Child, folder: Path) -> None:
        self.child, self.folder = child, folder
        self.begun = time.monotonic()
        self.peak_bytes = 0

    @property
    def lost(self) -> bool:
        """Whether it ended because the process that had started it did."""
        return bool(getattr(self.child, "lost", False))

    @property
    def seconds(self) -> float:
        """Since it was started."""
        return time.monotonic() - self.begun

    def poll(self) -> int | None:
        """The exit code, or None while it runs."""
        return self.child.poll()

    def memory(self) -> int:
        """Bytes that it and its children hold; the most ever seen is kept as `peak_bytes`."""
        held = 0
        for member in _family(self.child.pid):
            with contextlib.suppress(psutil.Error):
                held += member.memory_info().rss
        self.peak_bytes = max(self.peak_bytes, held)
        return held

    def kill(self) -> None:
        """Kill it and all below it, and wait a limited time for their end."""
        family = _family(self.child.pid)
        for member in family:
            with contextlib.suppress(psutil.Error):
                member.kill()
        end = time.monotonic() + KILL_SECONDS
        while self.child.poll() is None and time.monotonic() < end:
            time.sleep(0.02)
        psutil.wait_procs(family, timeout=5)

    def error(self, code: int) -> str:
        """The run's own error message, or one of its exit code."""
        try:
            message = (self.folder / ERROR).read_text(encoding="utf-8").strip()
        except OSError:
            message = ""
        if message:
            return message
        end = f"was killed (signal {-code})" if code < 0 else f"ended with exit code {code}"
        return f"its process {end}; {self.folder / LOG} holds its output"


def machine_bytes() -> int:
    """The memory that may be used: the machine's, or a container's limit where that is less."""
    total = int(psutil.virtual_memory().total)
    for file in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with contextlib.suppress(OSError, ValueError):
            total = min(total, int(Path(file).read_text()))
    return total


def available_bytes() -> int:
    """The memory that could be had at this moment."""
    return int(psutil.virtual_memory().available)


def _family(pid: int) -> list[psutil.Process]:
    if pid <= 0:  # it never began
        return []
    try:
        parent = psutil.Process(pid)
        return [*parent.children(recursive=True), parent]
    except psutil.Error:
        return []


def launcher(warm: Sequence[str], log: Path) -> Launcher:
    """The launcher of runs, with these modules imported beforehand where a fork is safe."""
    if sys.platform != "linux" or COLD in os.environ:
        return Fresh()
    from kernelkit.sweep.workers.fork_server import ForkServer

    return ForkServer(warm, log)
