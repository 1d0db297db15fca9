"""End what a session left running where the command that began it was killed.

`kill -9` gives the command no moment to end its sessions, which have process groups of their own:
they would go on training, and write into folders of a later session. A second process waits for
the end of a pipe that the command alone holds open, which the system closes at whatever end.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kernelkit import processes

VARIABLE = "LOCAL_KAGGLE_SESSION"  # every session has its own, and its processes inherit it


@contextmanager
def ended_with_this_process(session: Path) -> Iterator[None]:
    """End every process of a session at the end of the block or of this process.

    `session` is the value of `VARIABLE` in the environment of all of them.
    """
    guard = subprocess.Popen(
        [sys.executable, "-m", __name__, str(session)],
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
        processes.end_strays(VARIABLE, str(session))


if __name__ == "__main__":
    sys.stdin.buffer.read()
    processes.end_strays(VARIABLE, sys.argv[1])
