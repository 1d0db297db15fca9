"""What is known of a run besides its files: what ran, and whether it goes on, is over, or neither.

Papermill saves the notebook beside `run.ipynb` while it runs, and the command that runs it holds a
lock in the folder, which a kill releases.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from kernelkit import files, typed
from kernelkit.notebook import document
from kernelkit.runs import kit_folder, run_folder
from kernelkit.terminal import safe_text

LINES = 5  # printed lines to show


@dataclass(frozen=True)
class RunState:
    """What the command that runs a notebook notes of the run.

    notebook    the path of the notebook of a run on this machine, "" for a session's
    parameters  the values of its parameters, as JSON has them
    chosen      whether somebody named the folder: then no other command continues in it
    over        whether it reached its end, for a session by Kaggle's word; None if nobody noted it
    """

    notebook: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    chosen: bool = False
    over: bool | None = None


def note(folder: Path, state: RunState) -> None:
    """Note the state of the run in a folder."""
    text = json.dumps(asdict(state), indent=1)
    files.write_text(kit_folder.path(folder, kit_folder.STATE), f"{text}\n")


def read(folder: Path) -> RunState:
    """The state of the run in a folder."""
    return typed.read_what_fits(RunState, kit_folder.read_json(folder, kit_folder.STATE))


def notebook(folder: Path) -> Path | None:
    """The notebook of a run on this machine; None if that is not known."""
    name = read(folder).notebook
    return Path(name) if name else None


def is_active(folder: Path) -> bool:
    """Whether a command runs the folder's notebook now."""
    return (folder / run_folder.PART).is_file() and is_held(folder)


def is_held(folder: Path) -> bool:
    """Whether a command is at work in the folder: it runs the notebook, or has just run it.

    False if this user may not ask that.
    """
    lock = kit_folder.path(folder, kit_folder.LOCK)
    if not lock.is_file():
        return False
    try:
        with files.try_lock(lock) as free:
            return not free
    except OSError:  # a read-only folder
        return False


def activity(folder: Path) -> tuple[float, str]:
    """When an active run began, in seconds since 1970, and the last lines that it printed.

    0 and "" without its notebook, and while papermill writes that.
    """
    try:
        notebook = files.parse_json((folder / run_folder.PART).read_text("utf-8"))
        began = datetime.fromisoformat(notebook["metadata"]["papermill"]["start_time"])
        printed = document.printed(notebook)[-100_000:]
        return began.timestamp(), "\n".join(safe_text.last_lines(printed, LINES))
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return 0.0, ""
