"""Unpack an archive that Kaggle sent, a zip or a tar."""

import stat
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO

from kernelkit import files
from kernelkit.errors import OutputsError

CHUNK = 1 << 20


class DamagedError(Exception):
    """An archive cannot be read."""


def unpack(archive: Path, folder: Path, most: int) -> bool:
    """Unpack an archive's files into a new folder; links in it are left out.

    Returns False, with a part of the files unpacked, once they have more than `most` bytes. Raises
    `DamagedError`, and `OutputsError` for a name that leads outside.
    """
    folder.mkdir()
    written = 0
    for name, content in _members(archive):
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or "\0" in name:
            raise OutputsError(f"the archive has a file {name!r}, which leads out of its folder")
        place = folder / path
        with files.named(place):
            place.parent.mkdir(parents=True, exist_ok=True)
            with place.open("wb") as file:
                for chunk in content:
                    written += len(chunk)
                    if written > most:
                        return False
                    file.write(chunk)
    return True


def _members(archive: Path) -> Iterator[tuple[str, Iterator[bytes]]]:
    """The name of each file in an archive, and the chunks of its content.

    The chunks are read before the next name is asked for.
    """
    with _reading():
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as zipped:
                for entry in zipped.infolist():
                    is_link = stat.S_ISLNK(entry.external_attr >> 16)  # its mode on Unix
                    if not entry.is_dir() and not is_link:
                        with zipped.open(entry) as content:
                            yield entry.filename, _chunks(content)
            return
        with tarfile.open(archive) as tarred:
            for member in tarred:
                of_member = tarred.extractfile(member) if member.isfile() else None
                if of_member is not None:
                    yield member.name, _chunks(of_member)


def _chunks(content: IO[bytes]) -> Iterator[bytes]:
    with _reading():
        while chunk := content.read(CHUNK):
            yield chunk


@contextmanager
def _reading() -> Iterator[None]:
    """A block that reads from an archive: any exception in it becomes a `DamagedError`.

    Python's modules raise nearly every exception for a damaged archive, and a `RuntimeError` for
    an encrypted one. Both generators have such a block, as each reads while the other rests.
    """
    try:
        yield
    except Exception as error:
        raise DamagedError from error
