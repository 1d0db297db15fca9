"""Files: written atomically, JSON read to a bounded depth, folders walked, and lock files.

A file is written under a temporary name in the same folder, then renamed. The operating system
releases a lock when the process that holds it is killed. At the end is how people see a size, a
path and an address.
"""

import contextlib
import hashlib
import json
import os
import re
import tempfile
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

from kernelkit.errors import PreflightError, StorageError
from kernelkit.typed import is_unicode

PART = ".part"  # the suffix of a file that is being written
MOST_NESTED = 200  # levels of JSON
_STRING = re.compile(rb'"[^"]*"?')  # without escapes; also one that never ends
_NO_STRUCTURE = bytes(set(range(256)).difference(b'"[]{}'))
GLANCE_SECONDS = 0.05  # a lock that is free after this time was only looked at, not in use


def make_folder(path: Path) -> Path:
    """Create a folder and its parents; returns `path`.

    Raises `StorageError` if that fails, since users may name any path with --output.
    """
    path = Path(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(
            f"cannot make the folder {path} ({error.strerror}): choose another folder with --output"
        ) from None
    return path


def is_file(path: Path) -> bool:
    """Whether there is a file; False also for a text that no file can be named by."""
    try:
        return path.is_file()
    except (OSError, ValueError):  # too long, or with a null character
        return False


def parse_json(text: str, **hooks: Any) -> Any:
    """The values in a JSON text, as `json.loads` returns them with the same hooks.

    Raises `ValueError` for anything else, also for what is nested more than `MOST_NESTED` levels
    deep. At the recursion limit Python would end finalizers of whatever objects it happens to
    collect there, so the depth is measured before anything is parsed.
    """
    if _nesting(text) > MOST_NESTED:
        raise ValueError(f"it is nested too deeply, more than {MOST_NESTED} levels")
    return json.loads(text, **hooks)


def _nesting(text: str) -> int:
    """The levels of lists and objects in a JSON text; of any other text, some number."""
    opened = text.count("[") + text.count("{")
    if opened <= MOST_NESTED:
        return opened
    # Deleting bytes takes far less time than a pattern that reads all of a long text.
    without_escapes = text.replace("\\\\", "").replace('\\"', "")
    structure = without_escapes.encode("utf-8", "surrogatepass").translate(None, _NO_STRUCTURE)
    deepest = level = 0
    for bracket in _STRING.sub(b"", structure):
        level += 1 if bracket in b"[{" else -1
        deepest = max(deepest, level)
    return deepest


def read_object(path: Path) -> dict[str, Any]:
    """The object in a JSON file; {} where there is none to read."""
    try:
        return dict(parse_json(path.read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return {}


def read_object_strictly(path: Path, missing: str) -> dict[str, Any]:
    """The JSON object in a file, in which no object has a key twice.

    Raises `PreflightError`, with the text `missing` if there is no file.
    """
    try:
        text = path.read_text("utf-8-sig")
        values = parse_json(text, object_pairs_hook=_with_each_key_once)
    except FileNotFoundError:
        raise PreflightError(missing) from None
    except (OSError, ValueError) as error:
        raise PreflightError(f"{path} cannot be read as JSON: {error}") from None
    if not isinstance(values, dict):
        raise PreflightError(f"{path} must contain one JSON object")
    return values


def _with_each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object with these keys; raises `ValueError` if one of them comes again.

    Python would take the last, and a reader may mean the first.
    """
    values = dict(pairs)
    if len(values) < len(pairs):
        keys = [key for key, _ in pairs]
        again = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {again!r} is there twice: remove one")
    return values


def check_folder(path: Path) -> None:
    """Raise `StorageError` unless the folder is or could be writable; creates nothing."""
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
    """Write `text` as UTF-8 under `path`, creating its folder; returns `path`.

    A lone surrogate, which JSON may contain, is written as its escape: `\\ud800`.
    """
    return write_bytes(path, text.encode("utf-8", "backslashreplace"))


def write_bytes(path: Path, data: bytes) -> Path:
    """Write `data` to `path`, creating its folder; returns `path`.

    A reader sees either the old file or the new one. Raises `OSError` when the disk is full or the
    folder is read-only; no partial file is left behind.
    """
    with named(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:40]}.", suffix=PART)
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
def named(path: Path) -> Iterator[None]:
    """Let an `OSError` of a block name the file that it is about: a full disk names none."""
    try:
        yield
    except OSError as error:
        error.filename = str(path)
        raise


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file's content, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_half_written(path: Path) -> bool:
    """Whether a path is named as what `write_bytes` writes before it is whole."""
    return path.name.startswith(".") and path.suffix == PART


def clear_half_written(*folders: Path) -> None:
    """Delete what processes that were killed in `write_bytes` have left in these folders.

    The caller is alone there: what another process is writing looks the same.
    """
    for folder in folders:
        for path in filter(is_half_written, folder.glob(".*")):
            with contextlib.suppress(OSError):
                path.unlink()


def is_unused(folder: Path, besides: Collection[str] = ()) -> bool:
    """Whether a folder has no file except those named in `besides`.

    The temporary file of a process that was killed in `write_bytes` does not count.
    """
    for path in folder.rglob("*"):
        is_folder = path.is_dir() and not path.is_symlink()
        if not is_folder and not is_half_written(path) and path.name not in besides:
            return False
    return True


@contextlib.contextmanager
def locked(path: Path, busy: Callable[[], None] | None = None) -> Iterator[None]:
    """Hold the lock file at `path` during a block, after waiting until it is free.

    Creates the file and its folder. Calls `busy` before waiting.
    """
    with try_lock(path) as free:
        if free:
            yield
            return
    if busy:
        busy()
    from filelock import FileLock  # imported here because `--help` does not need it

    with FileLock(path):
        yield


@contextlib.contextmanager
def try_lock(path: Path) -> Iterator[bool]:
    """Hold the lock file at `path` during a block if it is free; yields whether it was.

    Creates the file and its folder.
    """
    from filelock import FileLock, Timeout

    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path)
    with contextlib.suppress(Timeout):
        lock.acquire(GLANCE_SECONDS, poll_interval=0.02)
    try:
        yield lock.is_locked
    finally:
        lock.release()


def files_below(folder: Path, skip: Callable[[Path], bool] = lambda _: False) -> list[Path]:
    """All files below `folder`, sorted; links to files and folders are followed.

    `skip` is called with every path; a folder that it skips is not read. Raises `PreflightError`
    for what a push would silently leave out: a broken link, a link to a parent folder, a name that
    is not Unicode.
    """
    files: list[Path] = []
    waiting: list[tuple[Path, tuple[str, ...]]] = [(folder, (os.path.realpath(folder),))]
    while waiting:
        place, above = waiting.pop()
        for path in place.iterdir():
            real = os.path.realpath(path)
            if skip(path):
                continue
            if not is_unicode(path.name):
                raise PreflightError(f"the name of {str(path)!a} is not Unicode: rename it")
            if path.is_dir() and real not in above:
                waiting.append((path, (*above, real)))
            elif path.is_file():
                files.append(path)
            elif path.is_symlink() or real in above:
                raise PreflightError(
                    f"{path} is a broken link, or one to a folder that contains it: remove it"
                )
    return sorted(files)


def cache() -> Path:
    """The folder for what is kept once for all repositories of this user."""
    above = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(above) / "kernelkit"


def size_of(bytes_: int) -> str:
    """A size formatted for people: `812 bytes`, `34 kB`, `1.5 MB`, `30.0 GB`, `1.2 TB`."""
    if abs(bytes_) < 1000:
        return f"{bytes_} bytes"
    if round(abs(bytes_) / 1e3) < 1000:
        return f"{bytes_ / 1e3:.0f} kB"
    for unit, size in (("MB", 1e6), ("GB", 1e9)):
        if round(abs(bytes_) / size, 1) < 1000:
            return f"{bytes_ / size:.1f} {unit}"
    return f"{bytes_ / 1e12:.1f} TB"


def from_here(path: Path) -> str:
    """A path as a user would type it: relative to the current folder, if that is shorter."""
    return min(os.path.relpath(path), str(path), key=len)


def file_address(path: Path) -> str:
    """A page's address, which terminals and editors open with a click: `file:///…`."""
    return path.resolve().as_uri()
