"""One process at a time: a lock that the system gives back when its holder is killed."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path


@contextlib.contextmanager
def held(path: Path, busy: Callable[[], None] | None = None) -> Iterator[None]:
    """Hold the lock file at `path` for the length of a block, waiting until it is free.

    Makes the file and its folder. `busy` is called before a wait.
    """
    from filelock import FileLock, Timeout  # imported here, since `--help` does without

    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        if busy:
            busy()
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


@contextlib.contextmanager
def tried(path: Path) -> Iterator[bool]:
    """Hold the lock file at `path` for the length of a block if it is free; gives whether it was.

    Makes the file and its folder.
    """
    from filelock import FileLock, Timeout

    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        yield False
        return
    try:
        yield True
    finally:
        lock.release()
