"""Ending a process with everything below it."""

from __future__ import annotations

import subprocess
from contextlib import suppress

import psutil  # type: ignore[import-untyped]


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and all below it, and wait for it; nothing where it has ended already.

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
