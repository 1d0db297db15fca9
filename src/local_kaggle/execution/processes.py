"""Ending the processes of a session, also when the command that started it is killed.

`kill -9` gives the command no moment to end its sessions, which have process groups of their own:
they would go on training, and write into folders of a later session. A second process, which runs
this file alone, waits for the end of a pipe that the command holds open, and that the system
closes however the command ends.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil  # type: ignore[import-untyped]

VARIABLE = "LOCAL_KAGGLE_SESSION"  # every session has its own, and its processes inherit it


def memory(pid: int) -> float:
    """Bytes of memory that a process and all below it hold; on Linux a shared page counts once."""
    total = 0.0
    with suppress(psutil.NoSuchProcess):
        root = psutil.Process(pid)
        for member in (root, *root.children(recursive=True)):
            with suppress(psutil.Error, OSError):
                info = member.memory_full_info() if psutil.LINUX else member.memory_info()
                total += getattr(info, "pss", info.rss)
    return total


def end(session: str) -> None:
    """Kill every process of a session and all below it, save this one, and wait for their end.

    A daemon has no parent to be found by, but the environment that it was started in.
    """
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if process.pid != os.getpid() and process.environ().get(VARIABLE) == session:
                family = [process, *process.children(recursive=True)]
                for member in family:
                    with suppress(psutil.NoSuchProcess):
                        member.kill()
                psutil.wait_procs(family, timeout=5)


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
        end(str(session))


if __name__ == "__main__":
    sys.stdin.buffer.read()
    end(sys.argv[1])
