"""Atomic file writes."""

import csv
import io
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock

from petals.errors import StorageError


def cannot_write(path: str | Path, error: Exception) -> StorageError:
    """The `StorageError` for a failed write; its message names the cause and a remedy."""
    why = getattr(error, "strerror", None) or getattr(error, "message", None) or error
    return StorageError(f"cannot write {path}: {why}. Free some space or choose another folder.")


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """A path beside `path` to write to; it replaces `path` when the block ends without an error.

    Raises `StorageError` instead of an `OSError` (disk full, folder read-only). No partial file is
    left behind.
    """
    path = Path(path)
    part = path.with_name(f".{path.stem}.{os.getpid()}.part{path.suffix}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield part
        part.replace(path)
    except OSError as error:
        raise cannot_write(path, error) from error
    finally:
        if part.parent.is_dir():
            part.unlink(missing_ok=True)


def write_text(path: str | Path, text: str) -> None:
    """Write a text file atomically, in UTF-8."""
    with replacing(path) as part:
        # The name of a file may hold bytes that are not text.
        part.write_text(text, encoding="utf-8", errors="backslashreplace")


def write_json(path: str | Path, value: Any) -> None:
    """Write a value as indented JSON, atomically."""
    write_text(path, json.dumps(value, indent=2) + "\n")


def write_csv(path: str | Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a table atomically."""
    write_text(path, csv_text(header, rows))


def csv_text(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table as the text of a CSV file."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *rows])
    return text.getvalue()


def write_once(folder: Path, write: Callable[[Path], None]) -> None:
    """Call `write` to fill the folder, unless it already exists.

    One process writes while others wait. The folder appears atomically: `write` gets a temporary
    folder beside it, which is then renamed. Raises `StorageError` instead of an `OSError`.
    """
    part = folder.with_name(f".{folder.name}.part")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{folder}.lock"):
            if folder.is_dir():
                return
            shutil.rmtree(part, ignore_errors=True)
            try:
                write(part)
                part.rename(folder)
            finally:
                shutil.rmtree(part, ignore_errors=True)
    except OSError as error:
        raise cannot_write(folder, error) from error
