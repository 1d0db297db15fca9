"""Files that are either whole or not there, and lock files for one process at a time.

A file is written beside its place, then renamed. The system gives a lock back when its holder is
killed.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from kernelkit.errors import StorageError


def make_folder(path: Path) -> Path:
    """Make a folder and those above it; returns `path`.

    Raises `StorageError` where none can be made, as users may name any path with --output.
    """
    path = Path(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(
            f"cannot make the folder {path} ({error.strerror}): choose another folder with --output"
        ) from None
    return path


def check_folder(path: Path) -> None:
    """Raise `StorageError` unless there can be a folder that can be written; leaves none behind."""
    made = [place for place in (path, *path.parents) if not os.path.lexists(place)]
    try:
        with tempfile.TemporaryFile(dir=make_folder(path)):
            pass
    except OSError as error:
        raise StorageError(
            f"cannot write in {path} ({error.strerror}): choose another folder"
        ) from None
    finally:
        for place in made:
            with contextlib.suppress(OSError):
                place.rmdir()


def write_text(path: Path, text: str) -> Path:
    """Write `text` as UTF-8 under `path`, making its folder; returns `path`.

    Half a character, as JSON may hold it, is written as its escape: `\\ud800`.
    """
    return write_bytes(path, text.encode("utf-8", "backslashreplace"))


def write_bytes(path: Path, data: bytes) -> Path:
    """Write `data` under `path`, making its folder; returns `path`.

    A reader sees the old file or the new one. Raises `OSError` when the disk is full or the
    folder read-only, and leaves nothing behind then.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:40]}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
    return path


@contextlib.contextmanager
def locked(path: Path, busy: Callable[[], None] | None = None) -> Iterator[None]:
    """Hold the lock file at `path` for the length of a block, waiting until it is free.

    Makes the file and its folder. `busy` is called before a wait.
    """
    from filelock import FileLock  # imported here, since `--help` does without

    with try_lock(path) as free:
        if free:
            yield
            return
    if busy:
        busy()
    with FileLock(path):
        yield


@contextlib.contextmanager
def try_lock(path: Path) -> Iterator[bool]:
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


def git(folder: Path, *arguments: str) -> str | None:
    """What git says in a folder; None without git, outside a checkout and after an error."""
    try:
        process = subprocess.run(
            ["git", *arguments],  # noqa: S607 - whichever git the user has
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=20,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return process.stdout if process.returncode == 0 else None
