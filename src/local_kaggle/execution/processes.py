"""Ending the processes of a session, also when the command that started it is killed.

`kill -9` gives the command no moment to end its sessions, which have process groups of their own:
they would go on training, and write into folders of a later session. A second process, which runs
this file alone, waits for the end of a pipe that the command holds open, and that the system
closes however the command ends.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil  # type: ignore[import-untyped]

VARIABLE = "LOCAL_KAGGLE_SESSION"  # every session has its own, and its processes inherit it


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


def memory(pid: int, enough: float) -> float:
    """Bytes of memory that a process and all below it hold, exact where they exceed `enough`.

    The quick sum counts a shared page once for each process that shares it, which is only right
    below the limit; past it each process is asked for its share, which takes milliseconds.
    """
    with suppress(psutil.NoSuchProcess):
        root = psutil.Process(pid)
        family = [root, *root.children(recursive=True)]
        quick = sum(_share(member, exact=False) for member in family)
        return quick if quick <= enough else sum(_share(member, exact=True) for member in family)
    return 0.0


def _share(process: psutil.Process, *, exact: bool) -> float:
    with suppress(psutil.Error, OSError):
        if exact and psutil.LINUX:
            return float(process.memory_full_info().pss)
        return float(process.memory_info().rss)
    return 0.0


def end_strays(session: str) -> None:
    """Kill every process of a session, save this one.

    A daemon has no parent to be found by, but the environment that it was started in.
    """
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if process.pid != os.getpid() and process.environ().get(VARIABLE) == session:
                process.kill()
                process.wait(timeout=5)


@contextmanager
def ended_with_this_process(session: Path) -> Iterator[None]:
    """End every process of a session at the end of the block or of this process.

    `session` is the value of `VARIABLE` in the environment of all of them.
    """
    guard = subprocess.Popen(
        [sys.executable, "-P", __file__, str(session)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C in the terminal is the command's, not the guard's
    )
    try:
        yield
    finally:
        guard.kill()
        guard.communicate()
        end_strays(str(session))


if __name__ == "__main__":
    sys.stdin.buffer.read()
    end_strays(sys.argv[1])
