"""Which push a run folder belongs to, identified by its cells and its session.

Kernel and version are not enough: after a kernel is deleted, or a rehearsal's folder removed,
numbering starts again. A folder that may be another push's is set aside as a whole, and everything
is fetched again.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from kernelkit import files
from kernelkit.errors import ParameterError
from kernelkit.run_folders import kit_folder


@dataclass(frozen=True)
class Claim:
    """A push, as recorded in its folder.

    `source` identifies the cells that run, `pushed` is the time of the push in the ledger (empty if
    pushed elsewhere), `session` identifies the session once it is over. A `rehearsal` ran on a
    local server.
    """

    kernel: str
    version: int
    source: str = ""
    pushed: str = ""
    session: str = ""
    rehearsal: bool = False

    def may_be(self, other: Claim) -> bool:
        """Whether the known values of the two are equal."""
        if not self.source or self.source != other.source:
            return False
        return not (self.pushed and other.pushed) or self.pushed == other.pushed


def source_of(text: str) -> str:
    """A hash of a notebook's cells, independent of how a server formats the JSON."""
    try:
        cells = [[c["cell_type"], "".join(c["source"])] for c in json.loads(text)["cells"]]
    except (ValueError, KeyError, TypeError):
        return _digest(text)
    return _digest(json.dumps(cells))


def session_of(log: str) -> str:
    """A hash of a session's log, whose lines have unique times; empty without a log."""
    return _digest(log) if log else ""


def was_pushed(folder: Path) -> bool:
    """Whether a push has claimed the folder."""
    return kit_folder.path(folder, kit_folder.MARKER).is_file()


def check_free(folder: Path) -> None:
    """Check a folder before a push is sent: raises `ParameterError` unless it is empty.

    Raises `StorageError` if it cannot be created or written.
    """
    try:
        used = folder.is_file() or not files.is_unused(folder)
    except OSError:  # a name that is too long, a circular link
        used = False
    if used:
        raise ParameterError(f"{folder} is not empty: choose another folder with --output")
    files.check_folder(folder)


def claim(folder: Path, mine: Claim, *, chosen: bool) -> tuple[Path, Path | None]:
    """Mark a folder as this push's; returns it, and the path of an earlier one set aside.

    Raises `ParameterError` for a `chosen` folder with other contents; instead of the default
    folder, the next free name is used.
    """
    numbered = (folder.with_name(f"{folder.name}-{number}") for number in itertools.count(2))
    for place in [folder] if chosen else itertools.chain([folder], numbered):
        if not place.is_file() and files.is_unused(place):
            _mark(place, mine)
            return place, None
        claimed = _read(place)
        if claimed is None or (claimed.kernel, claimed.version) != (mine.kernel, mine.version):
            continue
        if claimed.may_be(mine):
            _mark(place, replace(claimed, pushed=claimed.pushed or mine.pushed))
            return place, None
        aside = _set_aside(place)
        _mark(place, mine)
        return place, aside
    raise ParameterError(
        f"{folder} has files that are not from {mine.kernel} version {mine.version}: choose "
        "another folder with --output"
    )


def settle(folder: Path, mine: Claim) -> Path | None:
    """Mark a claimed folder with its session, now that it is over.

    Returns the path where the folder was set aside, if it has another session's files.
    """
    claimed = _read(folder) or mine
    same_session = claimed.session in ("", mine.session)
    same_push = claimed.pushed and claimed.pushed == mine.pushed
    aside = None if same_session or same_push else _set_aside(folder)
    _mark(folder, mine)
    return aside


def _set_aside(folder: Path) -> Path:
    names = (folder.with_name(f"{folder.name}-earlier-{n}") for n in itertools.count(1))
    return folder.rename(next(name for name in names if not name.exists()))


def _mark(folder: Path, mine: Claim) -> None:
    marker = kit_folder.path(folder, kit_folder.MARKER)
    files.write_text(marker, json.dumps(asdict(mine)) + "\n")


def _read(folder: Path) -> Claim | None:
    """The claim on a folder; None if it has no readable claim."""
    marker = kit_folder.path(folder, kit_folder.MARKER)
    try:
        return Claim(**json.loads(marker.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
