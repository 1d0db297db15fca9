"""Start the processes of runs.

A run starts in its own interpreter, or is forked by a server that has already done the imports
(`kernelkit.sweep.workers.run_process`), which this module starts and sends requests to.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, cast

import psutil  # type: ignore[import-untyped]

from kernelkit.sweep.workers import run_process
from kernelkit.terminal import safe_text

PYTHON = (sys.executable, "-P")  # which imports nothing from the working directory
KILL_SECONDS = 30.0  # to wait for killed processes, which may be stuck in a system call
BEGIN_SECONDS = 300.0  # for a run to begin, including imports; after that the fork server is stuck


def launcher(beside: Path, warm: Sequence[str], log: Path) -> Launcher:
    """The launcher of runs: `start` starts one; `close` ends the launcher's own processes.

    beside  the notebook's folder, where the modules may be, too
    warm    the modules to import before runs are forked; unused where each run is a new process
    log     where what the imports print is written
    """
    return ForkServer(beside, warm, log) if sys.platform == "linux" else Fresh()


class Fresh:
    """Starts each run in its own interpreter: slow to start, but works everywhere."""

    def start(self, request: Mapping[str, Any]) -> subprocess.Popen[bytes]:
        """Start one run; its output goes to the run's `log.txt`."""
        with (Path(request["folder"]) / run_process.LOG).open("wb") as log:
            process = _started(run_process.ONCE, (), log, stdout=log)
        with contextlib.suppress(BrokenPipeError), cast("IO[bytes]", process.stdin) as stdin:
            stdin.write(json.dumps(request).encode())
        return process

    def close(self) -> None:
        """Do nothing: there are no processes to end."""


class ForkServer:
    """Starts runs through a fork server, and replaces the server if it dies."""

    def __init__(self, beside: Path, warm: Sequence[str], log: Path) -> None:
        self.arguments = (str(beside.resolve()), *warm)
        self.log = log  # libraries print during their import
        self._server: subprocess.Popen[bytes] | None = None
        self._told: set[str] = set()

    def start(self, request: Mapping[str, Any]) -> ForkedRun:
        """Start one run; it ends at once if the server ends before it begins."""
        if self._server is not None and self._server.poll() is not None:
            self.close()
        is_new = self._server is None
        if self._server is None:
            with self.log.open("a", encoding="utf-8") as log:
                self._server = _started(
                    run_process.FORK, self.arguments, log, stdout=subprocess.PIPE
                )
        server = self._server
        try:
            cast("IO[bytes]", server.stdin).write(json.dumps(request).encode() + b"\n")
            if is_new:
                self._tell(json.loads(_line(server)))
            return ForkedRun(int(_line(server)), server)
        except (BrokenPipeError, ValueError):  # the line is empty: the server has died or is stuck
            self.close()
            return ForkedRun(-1, server)

    def _tell(self, problems: Sequence[str]) -> None:
        """Warn of what hinders the imports, once in a sweep."""
        for problem in problems:
            if problem not in self._told:
                print(f"warning: warm: {safe_text.plain(problem)}", file=sys.stderr, flush=True)
        self._told.update(problems)

    def close(self) -> None:
        """End the server, and so all its runs."""
        if self._server is not None:
            self._server.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._server.communicate(timeout=KILL_SECONDS)
            self._server = None


class ForkedRun:
    """A run that the fork server forked; the process -1 is that of a run that never began."""

    def __init__(self, pid: int, server: subprocess.Popen[bytes]) -> None:
        self.pid = pid
        self.server = server
        self._process = None
        with contextlib.suppress(psutil.Error, ValueError):
            self._process = psutil.Process(pid)

    @property
    def lost(self) -> bool:
        """Whether its server has ended, with which it ends."""
        return self.server.poll() is not None

    def poll(self) -> int | None:
        """0 if it has ended, None while it runs."""
        try:
            # Without its server, nobody may collect a process that has ended: it is a zombie.
            runs = (
                self._process is not None
                and self._process.is_running()
                and self._process.status() != psutil.STATUS_ZOMBIE
            )
        except psutil.Error:
            runs = False
        return None if runs else 0


Launcher = Fresh | ForkServer


def _line(server: subprocess.Popen[bytes]) -> bytes:
    """The next line that a fork server writes; empty if it has died, or writes none in time."""
    stdout = cast("IO[bytes]", server.stdout)
    written = select.select([stdout], [], [], BEGIN_SECONDS)[0]
    return stdout.readline() if written else b""


def _started(
    task: str, arguments: Sequence[str], log: IO[Any], stdout: IO[Any] | int
) -> subprocess.Popen[bytes]:
    """Start a process of `run_process`, which ends with this one."""
    return subprocess.Popen(
        [*PYTHON, "-m", run_process.__name__, task, str(os.getpid()), *arguments],
        stdin=subprocess.PIPE,
        stdout=stdout,
        stderr=log,
        bufsize=0,
        start_new_session=True,  # Ctrl-C reaches only the sweep, which then ends its runs
    )
