"""Start, monitor and kill the processes of runs, including their kernels.

A run starts in its own interpreter, or is forked by a server that has already done the imports
(`kernelkit.sweep.workers.fork_server`), which this module starts and sends requests to.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import IO, Any, cast

from kernelkit import files, processes
from kernelkit.sweep.records import Record
from kernelkit.sweep.specification import PlannedRun
from kernelkit.sweep.workers import execute, fork_server
from kernelkit.sweep.workers.execute import ERROR, LOG, REQUEST

COLD = "KERNELKIT_COLD"  # if set, every run gets its own interpreter
KILL_SECONDS = 30.0  # to wait for killed processes, which may be stuck in a system call
BEGIN_SECONDS = 300.0  # for a run to begin, including imports; after that the fork server is stuck


def launcher(warm: Sequence[str], log: Path) -> Launcher:
    """The launcher of runs, with these modules imported beforehand if forking is safe.

    `start` starts one run; `close` ends the launcher's own processes.
    """
    return Fresh() if sys.platform != "linux" or COLD in os.environ else ForkServer(warm, log)


class Fresh:
    """Starts each run in its own interpreter: slow to start, but works everywhere."""

    def start(self, request: Mapping[str, Any]) -> subprocess.Popen[bytes]:
        """Start one run; its output goes to the run's `log.txt`."""
        folder = Path(request["folder"])
        file = files.write_text(folder / REQUEST, json.dumps(request))
        with (folder / LOG).open("wb") as log:
            return subprocess.Popen(
                [*_python(execute), str(file), str(os.getpid())],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C reaches only the sweep, which then ends its runs
            )

    def close(self) -> None:
        """Do nothing: there are no processes to end."""


class ForkServer:
    """Starts runs through a fork server, and replaces the server if it dies."""

    def __init__(self, warm: Sequence[str], log: Path) -> None:
        self.warm, self.log = tuple(warm), log  # libraries print during their import
        self._process: subprocess.Popen[bytes] | None = None
        self._unread = b""
        self._codes: dict[int, int] = {}

    def start(self, request: Mapping[str, Any]) -> ForkedRun:
        """Start one run; it is lost at once if the server ends before it begins."""
        process, pids = self._living(), [-1]
        end = time.monotonic() + BEGIN_SECONDS
        try:
            cast("IO[bytes]", process.stdin).write(json.dumps(request).encode() + b"\n")
            while not (pids := self._read(process, end - time.monotonic())):
                if time.monotonic() > end:
                    self.close()
        except (BrokenPipeError, EOFError):
            self.close()
            pids = [-1]
        return ForkedRun(self, process, pids[0])

    def close(self) -> None:
        """End the server and all its runs."""
        if self._process is not None:
            self._process.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.communicate(timeout=KILL_SECONDS)
            self._process = None

    def code(self, process: subprocess.Popen[bytes], pid: int) -> int | None:
        """The exit code of a run, negative for a signal; None while it runs."""
        try:
            self._read(process, 0)
        except EOFError:
            self._codes.setdefault(pid, -signal.SIGKILL)  # its runs die with it
        return self._codes.get(pid)

    def _living(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self._unread = b""
            with self.log.open("a") as log:
                self._process = subprocess.Popen(
                    [*_python(fork_server), str(os.getpid()), *self.warm],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    bufsize=0,
                    start_new_session=True,
                )
        return self._process

    def _read(self, process: subprocess.Popen[bytes], patience: float) -> list[int]:
        """Read the server's messages since the last call, waiting at most `patience` seconds.

        Returns the runs that began; raises EOFError once the server is gone. Reads from the pipe's
        descriptor, because `select` would not see lines in a reader's buffer.
        """
        if process is not self._process:
            raise EOFError
        pipe = cast("IO[bytes]", process.stdout).fileno()
        if not select.select([pipe], [], [], max(0.0, patience))[0]:
            return []
        data = os.read(pipe, 1 << 16)
        if not data:
            raise EOFError
        *lines, self._unread = (self._unread + data).split(b"\n")
        begun = []
        for message in map(json.loads, lines):
            if "ended" in message:
                self._codes[message["ended"]] = message["code"]
            else:
                self._codes.pop(message["begun"], None)
                begun.append(message["begun"])
        return begun


class ForkedRun:
    """A run that the fork server forked."""

    def __init__(self, fork_server: ForkServer, process: subprocess.Popen[bytes], pid: int) -> None:
        self.fork_server, self.process, self.pid = fork_server, process, pid

    @property
    def lost(self) -> bool:
        """Whether it ended because the fork server did."""
        return self.process.poll() is not None

    def poll(self) -> int | None:
        return self.fork_server.code(self.process, self.pid)


Launcher = Fresh | ForkServer


@dataclass
class Flight:
    """An active run: its record, its process and the descendants of that."""

    run: PlannedRun
    record: Record
    child: subprocess.Popen[bytes] | ForkedRun
    folder: Path
    peak_bytes: int = 0
    begun: float = field(default_factory=time.monotonic)

    @property
    def lost(self) -> bool:
        """Whether it ended because the process that started it ended."""
        return bool(getattr(self.child, "lost", False))

    @property
    def seconds(self) -> float:
        """Seconds since it was started."""
        return time.monotonic() - self.begun

    def memory(self) -> int:
        """Bytes that it and its descendants use; the maximum is stored as `peak_bytes`."""
        held, _ = processes.usage(self.child.pid)
        self.peak_bytes = max(self.peak_bytes, held)
        return held

    def kill(self) -> None:
        """Kill it and its descendants, and wait a limited time for their end."""
        processes.kill_family(self.child.pid)
        end = time.monotonic() + KILL_SECONDS
        while self.child.poll() is None and time.monotonic() < end:
            time.sleep(0.02)

    def error(self, code: int) -> str:
        """The run's own error message, or a message that names its exit code."""
        with contextlib.suppress(OSError):
            if message := (self.folder / ERROR).read_text(encoding="utf-8").strip():
                return message
        end = f"was killed (signal {-code})" if code < 0 else f"ended with exit code {code}"
        return f"its process {end}; its output is in {self.folder / LOG}"


def _python(module: ModuleType) -> list[str]:
    return [sys.executable, "-m", module.__name__]
