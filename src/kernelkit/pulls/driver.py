"""Git's merge driver for notebooks: their cells are merged as text, and our outputs stay.

Git calls it with three files, the ancestor's, ours and theirs, and takes what it leaves in ours:

    git config merge.notebook.driver 'python -m kernelkit.pulls.driver %O %A %B'
"""

from __future__ import annotations

import sys
from pathlib import Path

from kernelkit import files
from kernelkit.errors import KernelkitError
from kernelkit.pulls import merge


def drive(ancestor: Path, ours: Path, theirs: Path) -> int:
    """Merge into `ours`; 1 where cells conflict or one is no notebook, and ours stays as it is."""
    import nbformat

    try:
        notebooks = [nbformat.read(path, as_version=4) for path in (ours, ancestor, theirs)]
        here, before, there = (merge.as_text((), notebook) for notebook in notebooks)
        text, conflicts = merge.merged(here, before, there, ("ours", "ancestor", "theirs"))
    except KernelkitError as error:
        print(f"kernelkit: {error}", file=sys.stderr)
        return 1
    except Exception:  # nbformat raises a dozen kinds
        return 1
    if conflicts:
        print(f"kernelkit: {conflicts} conflicts: merge the .py half", file=sys.stderr)
        return 1
    files.write_text(ours, merge.into_notebook(text, ours))
    return 0


if __name__ == "__main__":
    sys.exit(drive(*map(Path, sys.argv[1:4])))
