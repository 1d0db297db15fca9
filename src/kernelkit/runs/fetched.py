"""Which files of a session's output were downloaded into a run's folder, and how they were then."""

import contextlib
import json
import threading
from dataclasses import asdict, dataclass
from pathlib import Path

from kernelkit import files, typed
from kernelkit.runs import kit_folder


def names(folder: Path) -> frozenset[str] | None:
    """The names of the run's downloaded files; None if nothing was downloaded into the folder."""
    record = kit_folder.path(folder, kit_folder.FETCHED)
    return frozenset(_fetched(record)) if record.is_file() else None


@dataclass(frozen=True)
class Fetched:
    """A file when its download ended: bytes, time in ns, and its SHA-256 if it was compared."""

    size: int
    mtime_ns: int
    sha256: str | None = None


class FetchedFiles:
    """The record of files downloaded from the run; any other file is fetched again."""

    def __init__(self, folder: Path) -> None:
        self._path = kit_folder.path(folder, kit_folder.FETCHED)
        self._lock = threading.Lock()
        self._fetched = _fetched(self._path)
        if not self._path.is_file():
            files.write_text(self._path, "")

    def holds(self, name: str, file: Path, size: int | None) -> bool:
        """Whether `file` is unchanged since its download, and has this `size`, if that is known."""
        try:
            stat = file.stat()
        except OSError:
            return False
        fetched = self._fetched.get(name)
        if fetched is None or size not in (None, stat.st_size):
            return False
        return (fetched.size, fetched.mtime_ns) == (stat.st_size, stat.st_mtime_ns)

    def verified(self, name: str, sha256: str) -> bool:
        """Whether the file had this SHA-256 when it was recorded."""
        fetched = self._fetched.get(name)
        return fetched is not None and fetched.sha256 == sha256

    def add(self, name: str, file: Path, sha256: str | None = None) -> None:
        """Record a file that was downloaded completely, with the SHA-256 that it was found to
        have."""
        stat = file.stat()
        fetched = Fetched(stat.st_size, stat.st_mtime_ns, sha256)
        line = {"name": name, **asdict(fetched)}
        self._fetched[name] = fetched
        with self._lock, files.named(self._path), self._path.open("a", encoding="utf-8") as record:
            record.write(json.dumps(line) + "\n")


def _fetched(record: Path) -> dict[str, Fetched]:
    """{name: its state} of the readable lines: a kill can truncate the last one."""
    fetched = {}
    written = record.read_text("utf-8", "replace") if record.is_file() else ""
    for text in written.splitlines():
        with contextlib.suppress(ValueError, TypeError, KeyError):
            line = files.parse_json(text)
            state = typed.read_whole(Fetched, line)
            if state:
                fetched[str(line["name"])] = state
    return fetched
