"""Links between pages: from a report to its sweep and to the page over all runs, and to files."""

import os
from pathlib import Path
from urllib.parse import quote, unquote_to_bytes

from kernelkit import files
from kernelkit.pages.shared import standalone

INDEX, SWEEP = "index.html", "sweep.json"
ALL_RUNS = "all runs"


def sweep_of(folder: Path) -> Path | None:
    """The sweep's folder that a run's folder lies in."""
    parent = folder.resolve().parent
    return parent if (parent / SWEEP).is_file() else None


def varying(folder: Path) -> list[str]:
    """The parameters that tell the runs of the folder's sweep apart; [] outside a sweep."""
    return list(files.read_object(folder.resolve().parent / SWEEP).get("varying", ()))


def index_over(folder: Path) -> Path:
    """Where the page over all runs stands that lists a run's or a sweep's folder."""
    return (sweep_of(folder) or folder.resolve()).parent / INDEX


def way_back(folder: Path, place: Path) -> dict[str, str]:
    """{name: address} of the pages above a run's or a sweep's folder, for a page in `place`; first
    that of all runs, if the kit has written one."""
    sweep = sweep_of(folder)
    index = index_over(folder)
    own = index.is_file() and standalone.is_free(index)
    back = {ALL_RUNS: address(index, place)} if own else {}
    if sweep:
        back[sweep.name] = address(sweep / INDEX, place)
    return back


def address(page: Path, folder: Path) -> str:
    """The address of a page for a link that stands in a page of `folder`."""
    place = os.path.relpath(page.resolve(), folder.resolve()).replace(os.sep, "/")
    return quote(os.fsencode(place))  # a name on disk need not be UTF-8


def path_of(address: str) -> str:
    """The path that an `address` stands for, relative to the page's folder."""
    return os.fsdecode(unquote_to_bytes(address))


def link(file: Path, folder: Path) -> str:
    """The `address` of a file that may not be there, then ""."""
    return address(file, folder) if file.is_file() else ""
