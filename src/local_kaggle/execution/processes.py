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

VARIABLE = "TMPDIR"  # every session has its own, and its processes inherit it


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


def end_strays(tmp: str) -> None:
    """Kill every process with `tmp` as its `TMPDIR`, save this one.

    A daemon has no parent to be found by, but the environment that it was started in.
    """
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if process.pid != os.getpid() and process.environ().get(VARIABLE) == tmp:
                process.kill()
                process.wait(timeout=5)


@contextmanager
def ended_with_this_process(tmp: Path) -> Iterator[None]:
    """End every process with `tmp` as its `TMPDIR` at the end of the block or of this process."""
    guard = subprocess.Popen(
        [sys.executable, "-P", __file__, str(tmp)],
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
        end_strays(str(tmp))


if __name__ == "__main__":
    sys.stdin.buffer.read()
    end_strays(sys.argv[1])
