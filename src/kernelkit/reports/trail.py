"""The way back from a page: from a report to its sweep and to the page over all runs."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from kernelkit import files
from kernelkit.reports import shell

INDEX, SWEEP, RESULTS = "index.html", "sweep.json", "results.json"
ALL_RUNS = "all runs"
_HEAD = 200_000  # characters of a page, in which its links back stand


def sweep_of(folder: Path) -> Path | None:
    """The sweep's folder that a run's folder lies in."""
    parent = folder.resolve().parent
    return parent if (parent / SWEEP).is_file() else None


def planned(sweep: Path) -> dict[str, dict[str, Any]]:
    """{folder of a run: the parameters that tell it from the sweep's others}; {} if unknown."""
    try:
        runs = json.loads((sweep / RESULTS).read_text(encoding="utf-8"))["runs"]
        return {str(run["id"]): dict(run["parameters"]) for run in runs}
    except (OSError, ValueError, TypeError, KeyError):
        return {}


def varying(sweep: Path) -> list[str]:
    """The parameters that tell the sweep's runs apart, as noted when it began; [] if unknown."""
    try:
        return list(json.loads((sweep / SWEEP).read_text(encoding="utf-8"))["varying"])
    except (OSError, ValueError, TypeError, KeyError):
        return []


def way_back(folder: Path, index: Path | None = None) -> dict[str, str]:
    """{name: address} of the pages above a page in `folder`, that of all runs first.

    `index`: the page over all runs; by default the one beside the run's folder or its sweep's.
    """
    sweep = sweep_of(folder)
    index = index or (sweep or folder.resolve()).parent / INDEX
    back = {ALL_RUNS: address(index, folder)} if index.is_file() else {}
    return back | ({sweep.name: address(sweep / INDEX, folder)} if sweep else {})


def address(page: Path, folder: Path) -> str:
    """The address of a page for a link that stands in a page of `folder`."""
    return quote(os.path.relpath(page.resolve(), folder.resolve()).replace(os.sep, "/"))


def link(file: Path, folder: Path) -> str:
    """The `address` of a file that may not be there, then ""."""
    return address(file, folder) if file.is_file() else ""


def link_back(page: Path, back: Mapping[str, str], name: str = "") -> None:
    """Put links, and a name if any, into a page that is there; it keeps its time."""
    if not page.is_file():
        return
    with page.open(encoding="utf-8", errors="replace") as file:
        head = file.read(_HEAD)
    if shell.with_way_back(head, back, name) != head:
        stat = page.stat()
        text = page.read_text(encoding="utf-8")
        files.write_text(page, shell.with_way_back(text, back, name))
        os.utime(page, ns=(stat.st_atime_ns, stat.st_mtime_ns))
