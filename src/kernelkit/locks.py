"""One process at a time: a lock that the system gives back when its holder is killed."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path


@contextlib.contextmanager
def held(path: Path, busy: Callable[[], None] | None = None) -> Iterator[None]:
    """Hold the lock file at `path` for the length of a block, waiting until it is free.

    Makes the file and its folder; the file stays, for deleting it would let two hold it.
    `busy` is called before a wait.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as lock:
        try:
            import fcntl
        except ImportError:  # Windows: pushes from one desk at a time
            yield
            return
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if busy:
                busy()
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
