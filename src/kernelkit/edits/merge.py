"""One file merged three ways: as it is here, as it was pushed, and as it is on Kaggle now.

It is also git's merge driver for notebooks, whose cells are merged as text, and whose outputs stay.
Git calls it with three files, the ancestor's, ours and theirs, and takes what it leaves in ours:

    git config merge.notebook.driver 'python -m kernelkit.edits.merge %O %A %B'
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kernelkit import files
from kernelkit.errors import KernelkitError, PreflightError
from kernelkit.notebook import document
from kernelkit.notebook.document import Cell

PERCENT = "py:percent"
MOST_CONFLICTS = 127  # git merge-file exits with their number, and with more for an error


def merged(here: str, pushed: str, edited: str, labels: Sequence[str]) -> tuple[str, int]:
    """The merged text, and how many places in it conflict; there both stand, between git's marks.

    All lines end in "\\n" alone. `labels` name the three. Raises `PreflightError` without git.
    """
    with tempfile.TemporaryDirectory(prefix="merge-") as folder:
        paths = [Path(folder, str(number)) for number in range(3)]
        for path, text in zip(paths, (here, pushed, edited), strict=True):
            files.write_text(path, text.replace("\r\n", "\n"))
        named = [word for label in labels for word in ("-L", label)]
        try:
            done = subprocess.run(
                ["git", "merge-file", "-p", *named, *map(str, paths)],  # noqa: S607 - the user's git
                capture_output=True,
                check=False,
            )
        except FileNotFoundError:
            raise PreflightError("git is needed to merge: install it") from None
    if not 0 <= done.returncode <= MOST_CONFLICTS:
        raise PreflightError(f"git cannot merge this: {done.stderr.decode(errors='replace')}")
    return done.stdout.decode(), done.returncode


def as_text(cells: Sequence[Cell], like: Any, form: str = PERCENT) -> str:
    """The cells as `like`'s text would have them: its header, its cells' metadata, in the format
    `form` of Jupytext.

    Without any, `like`'s own.
    """
    import jupytext
    import nbformat

    unedited = {(cell.cell_type, cell.source): cell for cell in like.cells}
    notebook = nbformat.v4.new_notebook(metadata=like.metadata)
    notebook.cells = [] if cells else like.cells
    for cell in cells:
        make = getattr(nbformat.v4, f"new_{cell.kind}_cell")
        metadata = {"tags": list(cell.tags)} if cell.tags else {}
        notebook.cells.append(
            unedited.get((cell.kind, cell.source)) or make(cell.source, metadata=metadata)
        )
    return str(jupytext.writes(notebook, fmt=form))


def into_notebook(text: str, notebook: Path, form: str = PERCENT) -> str:
    """The JSON of the notebook with the cells of a text in this format, and the outputs that it
    had."""
    import jupytext
    import nbformat
    from jupytext.combine import combine_inputs_with_outputs

    content = document.with_ids(json.loads(notebook.read_text("utf-8-sig")))
    before = nbformat.reads(json.dumps(content), as_version=4)
    after = jupytext.reads(text, fmt=form)
    return str(nbformat.writes(combine_inputs_with_outputs(after, before)))


def drive(ancestor: Path, ours: Path, theirs: Path) -> int:
    """Merge into `ours`; 1 where cells conflict or one is no notebook, and ours stays as it is."""
    import nbformat

    try:
        notebooks = [nbformat.read(path, as_version=4) for path in (ours, ancestor, theirs)]
        here, before, there = (as_text((), notebook) for notebook in notebooks)
        text, conflicts = merged(here, before, there, ("ours", "ancestor", "theirs"))
    except KernelkitError as error:
        print(f"kernelkit: {error}", file=sys.stderr)
        return 1
    except Exception:  # nbformat raises a dozen kinds
        return 1
    if conflicts:
        print(f"kernelkit: {conflicts} conflicts: merge the .py half", file=sys.stderr)
        return 1
    files.write_text(ours, into_notebook(text, ours))
    return 0


if __name__ == "__main__":
    sys.exit(drive(*map(Path, sys.argv[1:4])))
