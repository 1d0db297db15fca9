"""What a session leaves on the host's disk: sized, made harmless, removed.

A session may leave anything: links that lead elsewhere, files that run as their owner, folders that
nobody may enter, paths that are too long to be named. So nothing here follows a link, or calls
itself for a folder in a folder.
"""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path


def walk(folder: Path) -> Iterator[os.DirEntry[str]]:
    """Every entry below a folder, folders before what is in them; what cannot be read is left out.

    Another program may be writing into the folder, and removing from it.
    """
    folders = [os.fspath(folder)]
    while folders:
        entries = []
        with contextlib.suppress(OSError), os.scandir(folders.pop()) as found:
            entries = list(found)
        for entry in entries:
            yield entry
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.path)


def size(folder: Path) -> int:
    """Bytes of all files below a folder."""
    total = 0
    for entry in walk(folder):
        with contextlib.suppress(OSError):
            if not entry.is_dir(follow_symlinks=False):
                total += entry.stat(follow_symlinks=False).st_size
    return total


def make_harmless(outputs: Path) -> None:
    """Leave files and folders that their owner can read, and nothing that reaches out of them.

    Links that lead out of the outputs go, and so do named pipes, sockets and devices; a file that
    would run as its owner, whoever starts it, no longer does.
    """
    _chmod("u+rwX,u-s,g-s", outputs)
    inside = outputs.resolve()
    for entry in list(walk(outputs)):
        if not _is_output(entry, inside):
            with contextlib.suppress(OSError):
                Path(entry.path).unlink()


def _is_output(entry: os.DirEntry[str], inside: Path) -> bool:
    """Whether an entry is a file, a folder, or a link to a file below the folder `inside`."""
    if not entry.is_symlink():
        return entry.is_file() or entry.is_dir()
    try:
        target = Path(entry.path).resolve(strict=True)
        return target.is_file() and target.is_relative_to(inside)
    except (OSError, RuntimeError):  # it leads nowhere, in a circle, or where we may not look
        return False


def remove(folder: Path) -> None:
    """Remove a folder, however deep it is and whatever its permissions are.

    `rm` enters folders one by one, where a path in one word can be too long for the system.
    """
    if folder.exists():
        _chmod("u+rwX", folder)
        subprocess.run(["/bin/rm", "-rf", "--", str(folder)], capture_output=True)


def _chmod(mode: str, folder: Path) -> None:
    subprocess.run(["/bin/chmod", "-R", mode, "--", str(folder)], capture_output=True)
