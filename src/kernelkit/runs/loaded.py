"""Which files of its repository a run's process had loaded when it ended.

The process notes them itself, in the kit's part of the run's folder, beside the `RunState` that
says which notebook ran.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelkit import project, typed
from kernelkit.runs import kit_folder, run_state

# Run by the process when it exits, with `top` and `path` as names of its own.
_NOTE = """\
import json, os, sys
found = set()
for module in list(sys.modules.values()):
    file = getattr(module, "__dict__", {}).get("__file__")
    if isinstance(file, str) and file.endswith(".py"):
        name = os.path.relpath(os.path.realpath(file), top)
        if not name.startswith("..") and "-packages" not in name:
            found.add(name)
with open(path + ".part", "w", encoding="utf-8") as note:
    json.dump({"top": top, "files": sorted(found)}, note)
os.replace(path + ".part", path)
"""


@dataclass(frozen=True)
class _Note:
    """What the process wrote: its repository's path, and the files that it had loaded."""

    top: str
    files: Sequence[str]


@dataclass(frozen=True)
class Loaded:
    """What a run's process had loaded, and the run's folder."""

    folder: Path
    files: tuple[Path, ...]


def noting(folder: Path, notebook: Path) -> str:
    """A statement by which a notebook's process notes at its end what it has loaded."""
    names = {
        "top": str(project.find_project(notebook).repository),
        "path": str(kit_folder.path(folder, kit_folder.LOADED).resolve()),
    }
    # One expression, which leaves no name in the notebook.
    return f'__import__("atexit").register(exec, {_NOTE!r}, {names!r})'


def last_loaded(runs: Path, notebook: Path) -> Loaded | None:
    """What the last run of a notebook had loaded, of those in a folder of runs; None without one.

    Either half of a pair is the notebook.
    """
    notes = runs.glob(f"*/{kit_folder.NAME}/{kit_folder.LOADED}")
    for path in sorted(notes, key=lambda path: path.stat().st_mtime, reverse=True):
        folder = path.parent.parent
        note = typed.read_whole(_Note, kit_folder.read_json(folder, kit_folder.LOADED))
        ran = run_state.notebook(folder)
        if note and ran and ran.with_suffix("") == notebook.resolve().with_suffix(""):
            files = tuple(Path(note.top, name) for name in note.files)
            return Loaded(folder, files)
    return None
