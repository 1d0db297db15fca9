"""Ending a process, everything below it, and the daemons that it left."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress

import psutil  # type: ignore[import-untyped]


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and all below it, and wait for its end; does nothing after its end.

    A notebook's kernel has a process group of its own, so killing the group is not enough.
    """
    if process.poll() is not None:
        return
    try:
        family = psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        family = []
    process.kill()
    for member in family:
        with suppress(psutil.NoSuchProcess):
            member.kill()
    process.wait()


def end_strays(name: str, value: str) -> None:
    """Kill every process with this variable in its environment, save this one.

    A daemon has no parent to be found by, but the environment that it was started in.
    """
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if process.pid != os.getpid() and process.environ().get(name) == value:
                process.kill()
                process.wait(timeout=5)
