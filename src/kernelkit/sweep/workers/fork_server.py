"""A process that imports the modules that runs need, and forks once for each run.

It imports libraries and calls nothing in them: their modules survive a fork, their threads and
devices do not. Runs forked from it start in a tenth of a second instead of several.

    in, a line each:   {"notebook": …, "values": …, "folder": …, "report": true}
    out, a line each:  {"begun": 4711}  ·  {"ended": 4711, "code": 0}
"""

# Why not multiprocessing's forkserver with a preload: a Dask worker is a daemonic process, and
# `Process.start()` refuses to work there; `start()` waits without limit while a preload hangs;
# its runs live on when the sweep is killed; it forks although a preload started threads; and a
# process has one fork server, which cannot be closed or given other modules for the next sweep.

from __future__ import annotations

import contextlib
import importlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, cast

from kernelkit.sweep.workers import execute
from kernelkit.sweep.workers.processes import KILL_SECONDS, Child

MODULE = "kernelkit.sweep.workers.fork_server"  # itself, also where it is run as __main__
POLL_SECONDS = 0.05
BEGIN_SECONDS = (
    300.0  # for a run to begin, all imports included; past that the fork server is stuck
)
OWN = (
    "kernelkit.running.run_notebook",
    "papermill",
    "nbconvert",
    "ipykernel.kernelapp",
    "ipykernel.ipkernel",
    "kernelkit.sweep.workers.forked_kernel",
)


class ForkServer:
    """Starts runs by asking such a process; a new one takes its place if it dies."""

    def __init__(self, warm: Sequence[str], log: Path) -> None:
        self.warm, self.log = tuple(warm), log  # libraries print while they are imported
        self._process: subprocess.Popen[bytes] | None = None
        self._unread = b""
        self._codes: dict[int, int] = {}

    def start(self, request: Mapping[str, Any]) -> Child:
        """Begin one run."""
        process = self._living()
        end = time.monotonic() + BEGIN_SECONDS
        try:
            cast("IO[bytes]", process.stdin).write(json.dumps(dict(request)).encode() + b"\n")
            while not (begun := self._hear(process, end - time.monotonic())):
                if time.monotonic() > end:
                    self.close()
        except (BrokenPipeError, EOFError):
            return FailedStart()
        return ForkedRun(self, process, begun[0])

    def close(self) -> None:
        """End it, and with it whatever still runs."""
        if self._process is not None:
            self._process.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.communicate(timeout=KILL_SECONDS)
            self._process = None

    def code(self, process: subprocess.Popen[bytes], pid: int) -> int | None:
        """The exit code of a run, None while it runs."""
        try:
            self._hear(process, 0)
        except EOFError:
            self._codes.setdefault(pid, -signal.SIGKILL)  # its runs die with it
        return self._codes.get(pid)

    def _living(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self._unread = b""
            with self.log.open("a") as log:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", MODULE, str(os.getpid()), *self.warm],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    bufsize=0,
                    start_new_session=True,
                )
        return self._process

    def _hear(self, process: subprocess.Popen[bytes], patience: float) -> list[int]:
        """The server's messages since the last call, after a wait of at most that many seconds.

        Returns the runs that began; EOFError once it is gone. The pipe is read by its
        descriptor: `select` would not see lines that wait in a reader's buffer.
        """
        if process is not self._process:
            raise EOFError
        telling = cast("IO[bytes]", process.stdout).fileno()
        if not select.select([telling], [], [], max(0.0, patience))[0]:
            return []
        read = os.read(telling, 1 << 16)
        if not read:
            raise EOFError
        *lines, self._unread = (self._unread + read).split(b"\n")
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


class FailedStart:
    """A run whose fork server died before it began."""

    pid = -1
    lost = True

    def poll(self) -> int:
        return -signal.SIGKILL


def serve(parent: int, warm: Sequence[str]) -> None:
    """Fork a run for every line read, until the pipe closes or the parent is gone."""
    # A figure made inline must stay so though matplotlib is imported before its kernel is.
    os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    for name in (*OWN, *warm):
        # A module that cannot be imported here fails again in the run, which reports it.
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    if warm and threading.active_count() > 1:
        # A fork copies one thread, and locks that other threads hold stay locked in the copy.
        print("a warm module starts threads: nothing is imported beforehand", file=sys.stderr)
        sys.stderr.flush()
        os.execv(sys.executable, [sys.executable, "-m", MODULE, str(parent)])  # noqa: S606
    _freeze()
    running: set[int] = set()
    unread = b""
    while os.getppid() == parent:
        if select.select([0], [], [], POLL_SECONDS)[0]:
            read = os.read(0, 1 << 20)
            if not read:
                break
            *lines, unread = (unread + read).split(b"\n")
            for line in lines:
                running.add(_fork(json.loads(line)))
        for pid in list(running):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                running.discard(pid)
                _tell({"ended": pid, "code": os.waitstatus_to_exitcode(status)})
    execute.end_family()


def _freeze() -> None:
    # Memory that the collector never touches stays shared between the forks.
    import gc

    gc.collect()
    gc.freeze()


def _fork(request: Mapping[str, Any]) -> int:
    pid = os.fork()
    if pid:
        _tell({"begun": pid})
        return pid
    code = 1
    try:
        fork_server = os.getppid()
        os.setsid()
        _redirect(Path(request["folder"]))
        from kernelkit.sweep.workers import forked_kernel

        forked_kernel.plant()
        execute.die_with(fork_server)
        code = execute.execute(request)
    finally:
        os._exit(code)
    return 0


def _redirect(folder: Path) -> None:
    with Path(os.devnull).open() as nothing, (folder / execute.LOG).open("wb") as log:
        os.dup2(nothing.fileno(), 0)
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)


def _tell(facts: Mapping[str, int]) -> None:
    os.write(1, (json.dumps(facts) + "\n").encode())


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    serve(int(sys.argv[1]), sys.argv[2:])
