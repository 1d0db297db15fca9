"""What comes out of uploaded archives, with a limit on how much that may be.

An archive of a few kilobytes can hold terabytes, so there has to be room for each piece before it
is written.
"""

import gzip
import os
import tarfile
import zipfile
from pathlib import Path, PurePosixPath
from typing import IO

from local_kaggle.limits import FREE_BYTES, FREE_FILES

ENDINGS = (".tar.gz", ".tgz", ".tar", ".zip", ".gz")
"""Of what Kaggle unpacks; the longest that fits counts."""
CHUNK = 1 << 20


class TooLargeError(ValueError):
    """There is no room for what was uploaded; the message says how much there is."""


class Room:
    """How many bytes may still be written to the disk of a folder.

    `most` bytes in all, and fewer where the disk would be almost full.
    """

    def __init__(self, folder: Path, most: float) -> None:
        self._folder = folder
        self._most = most
        self._taken = 0

    def check(self, size: int) -> None:
        """Raise `TooLargeError` unless there is room for `size` more bytes, and another file."""
        if self._taken + size > self._most:
            raise TooLargeError(
                f"the upload, with its archives unpacked, is larger than {self._most / 1e9:g} GB, "
                "the limit of a dataset here"
            )
        disk = os.statvfs(self._folder)
        free = disk.f_bavail * disk.f_frsize
        if free - size < FREE_BYTES:
            raise TooLargeError(
                "the upload, with its archives unpacked, does not fit on this machine: of the "
                f"{free / 1e9:.1f} GB that are free for {self._folder}, {FREE_BYTES / 1e9:g} GB "
                "stay free"
            )
        if disk.f_files and disk.f_favail < FREE_FILES:
            raise TooLargeError(
                "the upload has more files than fit on this machine: of the "
                f"{disk.f_favail} that can still be made in {self._folder}, {FREE_FILES} stay free"
            )

    def take(self, size: int) -> None:
        """Take the room for `size` bytes that are written next; raises `TooLargeError`."""
        self.check(size)
        self._taken += size


def ending_of(name: str) -> str:
    """The one of `ENDINGS` that a file's name has, without regard to capitals; "" for none."""
    return next((ending for ending in ENDINGS if name.lower().endswith(ending)), "")


def unpack(archive: Path, ending: str, place: Path, room: Room) -> None:
    """Unpack an archive with one of `ENDINGS`: into the folder `place`, or, of a single compressed
    file, to the file `place`.

    Raises `TooLargeError`, and ValueError for an entry that is named outside of the folder, or is a
    device; an archive that is broken ends in errors of many kinds.
    """
    if ending == ".zip":
        _unpack_zip(archive, place, room)
    elif ending == ".gz":
        with gzip.open(archive) as content:
            _write(content, place, room)
    else:
        _unpack_tar(archive, place, room)


def _unpack_zip(archive: Path, folder: Path, room: Room) -> None:
    """A link comes out as a file in which its target stands."""
    with zipfile.ZipFile(archive) as packed:
        entries = packed.infolist()
        room.check(sum(entry.file_size for entry in entries))
        for entry in entries:
            place = _place(folder, entry.filename)
            if entry.is_dir():
                place.mkdir(parents=True, exist_ok=True)
                continue
            with packed.open(entry) as content:
                _write(content, place, room)


def _unpack_tar(archive: Path, folder: Path, room: Room) -> None:
    """A link comes out as a copy of the file in the archive that it leads to.

    No link comes to lie on the disk, so none leads a later entry out of the folder: the filters of
    `tarfile` have been got round by links, and Python 3.11.3 has none.
    """
    with tarfile.open(archive) as packed:
        for entry in packed:
            room.check(entry.size)
            place = _place(folder, entry.name)
            if entry.isdir():
                place.mkdir(parents=True, exist_ok=True)
                continue
            content = packed.extractfile(entry)
            if content is None:
                raise ValueError(f"{entry.name!r} is neither a file nor a folder")
            with content:
                _write(content, place, room)


def _place(folder: Path, name: str) -> Path:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts:
        raise ValueError(f"{name!r} leads out of the archive's folder")
    return folder / path


def _write(content: IO[bytes] | gzip.GzipFile, place: Path, room: Room) -> None:
    room.take(0)
    place.parent.mkdir(parents=True, exist_ok=True)
    with place.open("wb") as file:
        while piece := content.read(CHUNK):
            room.take(len(piece))
            file.write(piece)
