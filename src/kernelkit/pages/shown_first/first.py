"""What a report shows before the notebook: its pictures and tables."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import nbformat

from kernelkit.pages.shared.sections import Content
from kernelkit.pages.shown_first.pictures import Picture, ShownTable, of_files, of_notebook

MOST_PICTURES, MOST_TABLES = 24, 12  # unfolded
DRAWING = "data:image/svg+xml"  # begins the address of a drawing, which has no thumbnail

Headed = TypeVar("Headed", Picture, ShownTable)


@dataclass(frozen=True)
class First:
    """What stands before a notebook; `stands_for_it` is the address of the picture that stands for
    the run, "" without one."""

    pictures: Sequence[Picture]
    tables: Sequence[ShownTable]
    stands_for_it: str


def chosen(
    notebook: nbformat.NotebookNode,
    folder: Path,
    left: Sequence[Path],
    parts: Sequence[Content],
    *,
    own_parts: bool,
) -> First:
    """What stands before a notebook: the pictures and tables that it shows.

    own_parts  whether the run has parts of its own, which are `parts` and curves: then these stand
               there, and nothing of the notebook
    left       the run's files, whose pictures stand there where there are no `parts` and the
               notebook shows no picture

    The first picture of the parts stands for the run, or else the last that the notebook shows or
    the run left.
    """
    pictures, tables = of_notebook(notebook, numbered=not own_parts)
    drawn = [each for each in pictures if not each.source.startswith(DRAWING)]
    in_files = [] if drawn else of_files(folder, left)
    sources = [str(part["picture"]) for part in parts if "picture" in part][:1]
    sources += [each.source for each in (drawn or in_files)[-1:]]
    before: list[Picture] = []
    if not pictures and not parts:
        before = in_files
    elif not own_parts:
        before = pictures
    return First(
        pictures=list(_by_heading(before)),
        tables=[] if own_parts else list(_by_heading(tables)),
        stands_for_it=next(iter(sources), ""),
    )


def _by_heading(shown: Iterable[Headed]) -> Iterator[Headed]:
    """The pictures, or the tables, of which only the first below a heading has it."""
    before = ""
    for one in shown:
        yield replace(one, heading="") if one.heading == before else one
        before = one.heading
