"""Which push a run folder belongs to, by what ran and in which session.

Kernel and version are not enough: once a kernel was deleted, or a rehearsal's folder removed,
numbering starts again. A folder that may be another push's is set aside whole, and everything is
fetched again.
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
    """A push as its folder is marked with it.

    `source` identifies the cells that run, `pushed` is the ledger's moment of the push (empty
    for one that was made elsewhere), `session` identifies the session once it is over.
    A `rehearsal` ran on a local server.
    """

    kernel: str
    version: int
    source: str = ""
    pushed: str = ""
    session: str = ""
    rehearsal: bool = False

    def may_be(self, other: Claim) -> bool:
        """Whether no known value differs between the two."""
        if not self.source or self.source != other.source:
            return False
        return not (self.pushed and other.pushed) or self.pushed == other.pushed


def source_of(text: str) -> str:
    """Identifies what a notebook's JSON runs, however a server writes it: a hash of its cells."""
    try:
        cells = [[c["cell_type"], "".join(c["source"])] for c in json.loads(text)["cells"]]
    except (ValueError, KeyError, TypeError):
        return _digest(text)
    return _digest(json.dumps(cells))


def session_of(log: str) -> str:
    """Identifies a session by its log, which times every line; empty where it left none."""
    return _digest(log) if log else ""


def was_pushed(folder: Path) -> bool:
    """Whether a push has claimed the folder."""
    return kit_folder.path(folder, kit_folder.MARKER).is_file()


def check_free(folder: Path) -> None:
    """Raise before a push is sent: `ParameterError` for a folder that holds anything.

    Raises `StorageError` for one that cannot be made or written.
    """
    try:
        used = folder.is_file() or (folder.is_dir() and any(folder.iterdir()))
    except OSError:  # a name that is too long, a link in a circle
        used = False
    if used:
        raise ParameterError(f"{folder} is not empty: choose another folder with --output")
    files.check_folder(folder)


def claim(folder: Path, mine: Claim, *, chosen: bool) -> tuple[Path, Path | None]:
    """Mark a folder as this push's; returns it, and where an earlier one's was set aside.

    A `chosen` folder that holds other things raises `ParameterError`; for the default one the
    next free name is taken.
    """
    numbered = (folder.with_name(f"{folder.name}-{number}") for number in itertools.count(2))
    for place in [folder] if chosen else itertools.chain([folder], numbered):
        if not place.exists() or (place.is_dir() and not any(place.iterdir())):
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
        f"{folder} holds other files than those of {mine.kernel} version {mine.version}: choose "
        "another folder with --output"
    )


def settle(folder: Path, mine: Claim) -> Path | None:
    """Mark a claimed folder with its session, now that it is over.

    Returns where the folder was set aside, if it holds another session's files.
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
    """The claim on a folder; None where it has none that can be read."""
    marker = kit_folder.path(folder, kit_folder.MARKER)
    try:
        return Claim(**json.loads(marker.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
