"""A process that imports the modules that runs need, and forks once for each run.

It imports libraries but calls nothing in them, because modules survive a fork, while threads and
devices do not. Forked runs start in a tenth of a second instead of several seconds.

    in, a line:   {"notebook": …, "values": …, "folder": …, "report": true}
    out, a line:  the process's number
"""

# Why not multiprocessing's forkserver with a preload: a Dask worker is a daemonic process, and
# `Process.start()` refuses to work there; `start()` waits forever if a preload hangs; its runs
# continue when the sweep is killed; it forks even if a preload started threads; and a process has
# only one fork server, which cannot be closed or given other modules for the next sweep.

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import select
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kernelkit import processes
from kernelkit.sweep.workers import execute

POLL_SECONDS = 0.05
OWN = (
    "kernelkit.running.run_notebook",
    "papermill",
    "nbconvert",
    "ipykernel.kernelapp",
    "ipykernel.ipkernel",
    "kernelkit.sweep.workers.forked_kernel",
)


def serve(parent: int, warm: Sequence[str]) -> None:
    """Fork a run for every line, until the pipe closes or the parent is gone."""
    # Keep figures inline, although matplotlib is imported before its kernel.
    os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    for name in (*OWN, *warm):
        # If a module cannot be imported here, the run fails on it too, and reports it.
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    if warm and threading.active_count() > 1:
        # A fork copies only one thread; locks of other threads stay locked in the copy.
        message = "a module in `warm` starts threads: nothing is imported beforehand"
        print(message, file=sys.stderr, flush=True)
        os.execv(sys.executable, [*sys.orig_argv[:3], str(parent)])  # noqa: S606
    gc.collect()
    gc.freeze()  # memory that the collector does not touch stays shared between forks
    while os.getppid() == parent:
        if select.select([sys.stdin], [], [], POLL_SECONDS)[0]:
            # The next request comes after this answer, so that no buffer holds a second line.
            line = sys.stdin.readline()
            if not line:
                break
            print(_fork(json.loads(line)), flush=True)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
    processes.kill_family(os.getpid())


def _fork(request: Mapping[str, Any]) -> int:
    fork_server = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setsid()
        log_file = Path(request["folder"]) / execute.LOG
        with Path(os.devnull).open() as nothing, log_file.open("wb") as log:
            os.dup2(nothing.fileno(), 0)
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
        from kernelkit.sweep.workers import forked_kernel

        forked_kernel.fork_kernel()
        processes.die_with(fork_server)
        execute.execute(request)
    finally:
        os._exit(0)
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    serve(int(sys.argv[1]), sys.argv[2:])
