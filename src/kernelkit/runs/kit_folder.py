"""The subfolder of a run folder for the kit's own files, separate from the run's.

    .kernelkit/push.json            the push that the folder's files belong to
    .kernelkit/run.json             whether the run is over, and of one at home what ran
    .kernelkit/run.lock             held by the command that runs there
    .kernelkit/fetched.jsonl        one line for each downloaded file of the run
    .kernelkit/log.json, log.txt    the session's log, as Kaggle stores it and as readable text
    .kernelkit/manifest.json        the session's list of its files; see the room `session_records`
    .kernelkit/pushed.ipynb         the notebook that ran, or pushed.py, the script
    .kernelkit/session/             what the session itself recorded: what its cells showed, and
                                    whether they used the accelerator
    .kernelkit/resources.csv        memory and CPU over time, of a run at home
    .kernelkit/loaded.json          the repository's files that such a run had loaded at its end
    .kernelkit/thumbnail.png        a small picture that stands for the run on the page of all runs
    .kernelkit/submissions.json     what was submitted of it, see `submitted`
    .kernelkit/parts/               files that are being downloaded
    .kernelkit/earlier/1/ …         files of each run that had this folder before
    .kernelkit/outputs/             files of the run whose names cannot be beside the others

`run.ipynb` and `report.html` are beside the run's files, or in here if the run itself wrote files
with these names. Only a `run.ipynb` that a run at home wrote is replaced.
"""

import itertools
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Any

from kernelkit import files
from kernelkit.project import CLAIMED
from kernelkit.session import places

NAME, MARKER = CLAIMED.parts  # by which `project`, too, tells a push's files
FETCHED, STATE, LOCK = "fetched.jsonl", "run.json", "run.lock"
LOG, LOG_TEXT, PUSHED = "log.json", "log.txt", "pushed.ipynb"
MANIFEST, PUSHED_SCRIPT = "manifest.json", "pushed.py"
SUBMISSIONS, THUMBNAIL = "submissions.json", "thumbnail.png"
REPORT, RESOURCES, LOADED = "report.html", "resources.csv", "loaded.json"
PARTS, OUTPUTS, EARLIER, SESSION = "parts", "outputs", "earlier", "session"


def path(folder: Path, *parts: str) -> Path:
    """A path among the kit's own files of a run folder."""
    return folder.joinpath(NAME, *parts)


def output(folder: Path, name: str) -> Path:
    """Where a file of a session's output stands: what the session itself recorded is in here."""
    first, *below = PurePosixPath(name).parts
    return path(folder, SESSION, *below) if first == places.FOLDER else folder / name


def put_aside(folder: Path, names: Iterable[str]) -> Path | None:
    """Move files of an earlier run to a new folder in `.kernelkit/earlier`, laid out as a run's.

    Returns that folder; None if no file of these `names` is there. They are no results of the run
    that begins, which may fail at once for a mistyped parameter.
    """
    found = [name for name in names if (folder / name).is_file()]
    if not found:
        return None
    numbered = (path(folder, EARLIER, str(number)) for number in itertools.count(1))
    aside = next(place for place in numbered if not place.exists())
    for name in found:
        files.make_folder((aside / name).parent)
        (folder / name).replace(aside / name)
    return aside


def clear_half_written(folder: Path) -> None:
    """Delete what killed commands had begun to write in a run folder, in which the caller is
    alone."""
    files.clear_half_written(folder, path(folder))


def read_json(folder: Path, name: str) -> dict[str, Any]:
    """The object in one of the kit's own JSON files; {} where there is none to read."""
    return files.read_object(path(folder, name))
