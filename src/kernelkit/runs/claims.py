"""Which push a run folder belongs to, identified by the cells that ran.

Kernel and version are not enough: after a kernel is deleted, or a rehearsal's folder removed,
numbering starts again. The cells are, because each push has a number of its own in the first one. A
folder of another push with the same version is set aside as a whole.
"""

import hashlib
import itertools
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from kernelkit import files, typed
from kernelkit.errors import ParameterError
from kernelkit.runs import kit_folder


@dataclass(frozen=True)
class Claim:
    """A push, as recorded in its folder.

    `source` identifies the cells that run; a `rehearsal` ran on a local server. `parameters` are
    those that were set, which the cells say, too.
    """

    kernel: str
    version: int
    source: str = ""
    rehearsal: bool = False
    parameters: Mapping[str, Any] = field(default_factory=dict, compare=False)


def source_of(text: str) -> str:
    """A hash of a notebook's cells, independent of how a server formats the JSON."""
    try:
        cells = [[c["cell_type"], "".join(c["source"])] for c in files.parse_json(text)["cells"]]
        text = json.dumps(cells)
    except (ValueError, LookupError, TypeError, AttributeError):  # a script
        pass
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def was_pushed(folder: Path) -> bool:
    """Whether a push has claimed the folder."""
    return kit_folder.path(folder, kit_folder.MARKER).is_file()


def check_free(folder: Path, *, or_claimed: bool = False) -> None:
    """Check the folder for a push's results before it is sent: raises `ParameterError` unless it is
    empty.

    or_claimed  accept one that a push has claimed, which may be the one that is taken up

    Raises `StorageError` if it cannot be created or written.
    """
    if or_claimed and was_pushed(folder):
        return
    try:
        used = folder.is_file() or not files.is_unused(folder)
    except OSError:  # a name that is too long, a circular link
        used = False
    if used:
        raise _taken(folder)
    files.check_folder(folder)


def claim(folder: Path, push: Claim, *, chosen: bool) -> tuple[Path, Path | None]:
    """Mark a folder as this push's; returns it, and the path of an earlier one set aside.

    Raises `ParameterError` for a `chosen` folder with other contents; instead of the default
    folder, the next free name is used.
    """
    numbered = (folder.with_name(f"{folder.name}-{number}") for number in itertools.count(2))
    for place in [folder] if chosen else itertools.chain([folder], numbered):
        if not place.is_file() and files.is_unused(place):
            return _mark(place, push), None
        owner = owner_of(place)
        if owner == push:
            return place, None
        if owner and (owner.kernel, owner.version) == (push.kernel, push.version):
            names = (place.with_name(f"{place.name}-earlier-{n}") for n in itertools.count(1))
            aside = place.rename(next(name for name in names if not name.exists()))
            return _mark(place, push), aside
    raise _taken(folder)


def _taken(folder: Path) -> ParameterError:
    return ParameterError(
        f"{folder} is not empty, and not this push's: choose another folder with --output"
    )


def _mark(folder: Path, push: Claim) -> Path:
    marker = kit_folder.path(folder, kit_folder.MARKER)
    files.write_text(marker, json.dumps(asdict(push)) + "\n")
    return folder


def owner_of(folder: Path) -> Claim | None:
    """The push that has claimed a folder; None if none has, or its claim cannot be read."""
    return typed.read_whole(Claim, kit_folder.read_json(folder, kit_folder.MARKER))
