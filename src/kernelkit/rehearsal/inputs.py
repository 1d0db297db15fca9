"""The inputs that somebody keeps in an `input/` folder, laid out as Kaggle lays out its own.

Beside the notebook or at the repository's root: `input/SLUG` as at Kaggle's former mounts, or
`input/competitions/SLUG`, `input/datasets/OWNER/SLUG`, `input/notebooks/OWNER/SLUG` and
`input/models/OWNER/MODEL/FRAMEWORK/VARIATION/VERSION` as at today's. A rehearsal mounts what the
notebook attaches, and nothing else of it. The same layout keeps, once for all repositories, what
was downloaded.
"""

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from kernelkit import files
from kernelkit.errors import ParameterError

FOLDER = "input"
CATALOGUED = {
    "competition": "competitions",
    "dataset": "datasets",
    "kernel": "kernels",
    "model": "models",
}
"""By the kind of a source: its folder in the local Kaggle's catalogue."""
MOUNTED = CATALOGUED | {"kernel": "notebooks"}
"""By the kind of a source: its folder below /kaggle/input."""
OUTWARDS = (
    "{link} is a link that leads out of {folder}: a rehearsal mounts no such links, since a cloned "
    "repository could bring them. Put the files themselves there, or put the link into "
    "runs/local_kaggle/catalogue, which is your own"
)


@dataclass(frozen=True)
class Mounted:
    """The inputs that a rehearsal mounts; none on Kaggle, which attaches what it has.

    owner    the name under which a session finds the account's own inputs; "" on Kaggle
    folders  what the notebook attaches and this machine has, by places in the catalogue
    beside   what lies elsewhere than in the catalogue, and what the push brings, by their places
    """

    owner: str = ""
    folders: Mapping[str, Path] = field(default_factory=dict)
    beside: Mapping[str, Path] = field(default_factory=dict)

    @cached_property
    def contents(self) -> dict[str, int]:
        """By the place of each of its `folders`, a number for the contents, see `content_of`."""
        return {place: content_of(folder) for place, folder in self.folders.items()}


def place_in_catalogue(kind: str, source: str) -> str:
    """Where the catalogue has a source of a kernel's metadata, such as "datasets/owner/slug".

    A dataset's or kernel's version is left out: a folder stands for each of them.
    """
    parts = source.lower().split("/")
    if kind in ("dataset", "kernel"):
        parts = parts[:2]
    return "/".join((CATALOGUED[kind], *parts))


def folder_for(root: Path, kind: str, source: str) -> Path:
    """Where below `root` Kaggle's layout of today has a source."""
    place = place_in_catalogue(kind, source).partition("/")[2]
    return root / MOUNTED[kind] / place


def downloaded(kind: str, source: str) -> Path:
    """Where a source is kept once it is downloaded; a version that the source names, apart."""
    folder = folder_for(files.cache() / FOLDER, kind, source)
    version = source.split("/")[2:] if kind in ("dataset", "kernel") else []
    return folder.with_name(f"{folder.name}.versions") / version[0] if version else folder


def where_to_put(sources: Iterable[tuple[str, str]]) -> str:
    """The step for who has the files of these sources (kind, name) already."""
    places = (folder_for(Path(FOLDER), kind, source).as_posix() for kind, source in sources)
    where = " and ".join(places)
    return f"put the files into {where}, beside the notebook or at the repository's root"


def input_folders(notebook: Path, *roots: Path) -> list[Path]:
    """The `input/` folders of a notebook: that beside it, then those at these roots."""
    places = (notebook.resolve().parent, *(root.resolve() for root in roots))
    folders = [place / FOLDER for place in dict.fromkeys(places)]
    return [folder for folder in folders if folder.is_dir()]


def found(folders: Sequence[Path], kind: str, source: str) -> Path | None:
    """The folder of a source in the first of these `input/` folders that has it.

    Raises `ParameterError` for a link in it that leads out of its `input/` folder.
    """
    for folder in folders:
        place = _place(folder, kind, source)
        if place is not None:
            _refuse_links_outwards(folder, place)
            return place
    return None


def _place(folder: Path, kind: str, source: str) -> Path | None:
    """The folder of a source below an `input/` folder; None if it is not there."""
    today = folder_for(folder, kind, source)
    parts = today.relative_to(folder).parts
    former = folder / parts[-1]
    if kind == "model":  # MODEL/FRAMEWORK/VARIATION/VERSION
        former = folder.joinpath(*parts[2:])
    for place in (today, former):
        if place.is_dir():
            return place
    return None


def _refuse_links_outwards(folder: Path, place: Path) -> None:
    inside = Path(os.path.realpath(folder.parent)) / folder.name
    for link in _links(folder, place):
        target = Path(os.path.realpath(link))
        if not target.is_relative_to(inside):
            raise ParameterError(OUTWARDS.format(link=link, folder=folder))


def _links(folder: Path, place: Path) -> Iterator[Path]:
    """Every link on the way from a folder to a place in it, and below that place."""
    way = [folder, *(parent for parent in place.parents if parent.is_relative_to(folder)), place]
    yield from (path for path in way if path.is_symlink())
    for above, folders, names in os.walk(place):
        for name in (*folders, *names):
            path = Path(above, name)
            if path.is_symlink():
                yield path


def content_of(folder: Path) -> int:
    """A number that stands for the files below a folder as they are now: 48 bits of a hash.

    As `make` does, it goes by their names, sizes and times of change, since data may be large.
    Links are followed, but not into a folder that contains them.
    """
    states = []
    waiting: list[tuple[Path, tuple[str, ...]]] = [(folder, (os.path.realpath(folder),))]
    while waiting:
        place, above = waiting.pop()
        for path in place.iterdir():
            real = os.path.realpath(path)
            if path.is_dir() and real not in above:
                waiting.append((path, (*above, real)))
            elif path.is_file():
                seen = path.stat()
                name = os.fsencode(path.relative_to(folder))
                states.append(b"%s %d %d" % (name, seen.st_size, seen.st_mtime_ns))
    digest = hashlib.sha256(b"\n".join(sorted(states))).hexdigest()
    return int(digest[:12], 16)
