"""The subfolder of a run folder for the kit's own files, separate from the run's.

    .kernelkit/push.json            the push that the folder's files belong to
    .kernelkit/run.json             whether the run is over, and of one at home what ran
    .kernelkit/run.lock             held by the command that runs there
    .kernelkit/fetched.jsonl        one line for each downloaded file of the run
    .kernelkit/log.json, log.txt    the session's log, as Kaggle stores it and as readable text
    .kernelkit/manifest.json        the session's list of its files; see `push.proof`
    .kernelkit/pushed.ipynb         the notebook that ran, or pushed.py, the script
    .kernelkit/session/             what the session itself recorded: what its cells showed, and
                                    whether they used the accelerator
    .kernelkit/resources.csv        memory and CPU over time, of a run at home
    .kernelkit/loaded.json          the repository's files that such a run had loaded at its end
    .kernelkit/thumbnail.png        a small picture that stands for the run on the page of all runs
    .kernelkit/submissions.json     what was submitted of it, see `submissions`
    .kernelkit/parts/               files that are being downloaded
    .kernelkit/earlier/1/ …         files of each run that had this folder before
    .kernelkit/outputs/             files of the run whose names cannot be beside the others

`run.ipynb` and `report.html` are beside the run's files, or in here if the run itself wrote files
with these names. Only a `run.ipynb` that a run at home wrote is replaced.
"""

import contextlib
import itertools
import json
import threading
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from kernelkit import files, typed
from kernelkit.session import places

NAME = ".kernelkit"
MARKER, FETCHED, STATE, LOCK = "push.json", "fetched.jsonl", "run.json", "run.lock"
LOG, LOG_TEXT, PUSHED = "log.json", "log.txt", "pushed.ipynb"
MANIFEST, PUSHED_SCRIPT = "manifest.json", "pushed.py"
SUBMISSIONS, THUMBNAIL = "submissions.json", "thumbnail.png"
REPORT, RESOURCES, LOADED = "report.html", "resources.csv", "loaded.json"
PARTS, OUTPUTS, EARLIER, SESSION = "parts", "outputs", "earlier", "session"


def path(folder: Path, *parts: str) -> Path:
    """A path among the kit's own files of a run folder."""
    return folder.joinpath(NAME, *parts)


def place(folder: Path, name: str) -> Path:
    """The path of the kit's file `name`: in the run folder, or here if the run wrote such a
    file."""
    names = downloaded(folder) or frozenset()
    taken = {PurePosixPath(each).parts[0].casefold() for each in names}
    return path(folder, name) if name.casefold() in taken else folder / name


def output(folder: Path, name: str) -> Path:
    """Where a file of a session's output stands: what the session itself recorded is in here."""
    first, *below = PurePosixPath(name).parts
    return path(folder, SESSION, *below) if first == places.FOLDER else folder / name


def downloaded(folder: Path) -> frozenset[str] | None:
    """The names of the run's downloaded files; None if nothing was downloaded into the folder."""
    record = path(folder, FETCHED)
    return frozenset(_fetched(record)) if record.is_file() else None


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


def clear_parts(folder: Path) -> None:
    """Delete what killed commands had begun to write in a run folder, in which the caller is
    alone."""
    files.clear_parts(folder, path(folder))


def read_json(folder: Path, name: str) -> dict[str, Any]:
    """The object in one of the kit's own JSON files; {} where there is none to read."""
    return files.read_object(path(folder, name))


@dataclass(frozen=True)
class RunState:
    """What is known of a run besides its files.

    notebook    the path of the notebook of a run on this machine, "" for a session's
    parameters  the values of its parameters, as JSON has them
    chosen      whether somebody named the folder: then no other command continues in it
    over        whether it reached its end, for a session by Kaggle's word; None if nobody noted it
    """

    notebook: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    chosen: bool = False
    over: bool | None = None


def note_state(folder: Path, state: RunState) -> None:
    """Note the state of the run in a folder."""
    files.write_text(path(folder, STATE), json.dumps(asdict(state), indent=1) + "\n")


def state(folder: Path) -> RunState:
    """The state of the run in a folder."""
    return typed.fitting(RunState, read_json(folder, STATE))


def notebook(folder: Path) -> Path | None:
    """The notebook of a run on this machine; None if that is not known."""
    name = state(folder).notebook
    return Path(name) if name else None


@dataclass(frozen=True)
class Fetched:
    """A file when its download ended: bytes, time in ns, and its SHA-256 if it was compared."""

    size: int
    mtime_ns: int
    sha256: str | None = None


class FetchedFiles:
    """The record of files downloaded from the run; any other file is fetched again."""

    def __init__(self, folder: Path) -> None:
        self._path = path(folder, FETCHED)
        self._lock = threading.Lock()
        self._fetched = _fetched(self._path)
        if not self._path.is_file():
            files.write_text(self._path, "")

    def holds(self, name: str, file: Path, size: int | None) -> bool:
        """Whether `file` is unchanged since its download, and has this `size`, if that is known."""
        try:
            stat = file.stat()
        except OSError:
            return False
        fetched = self._fetched.get(name)
        if fetched is None or size not in (None, stat.st_size):
            return False
        return (fetched.size, fetched.mtime_ns) == (stat.st_size, stat.st_mtime_ns)

    def verified(self, name: str, sha256: str) -> bool:
        """Whether the file had this SHA-256 when it was recorded."""
        fetched = self._fetched.get(name)
        return fetched is not None and fetched.sha256 == sha256

    def add(self, name: str, file: Path, sha256: str | None = None) -> None:
        """Record a file that was downloaded completely, with the SHA-256 that it was found to
        have."""
        stat = file.stat()
        fetched = Fetched(stat.st_size, stat.st_mtime_ns, sha256)
        line = {"name": name, **asdict(fetched)}
        self._fetched[name] = fetched
        with self._lock, files.named(self._path), self._path.open("a", encoding="utf-8") as record:
            record.write(json.dumps(line) + "\n")


def _fetched(record: Path) -> dict[str, Fetched]:
    """{name: its state} of the readable lines: a kill can truncate the last one."""
    fetched = {}
    written = record.read_text("utf-8", "replace") if record.is_file() else ""
    for text in written.splitlines():
        with contextlib.suppress(ValueError, TypeError, KeyError):
            line = files.parse_json(text)
            state = typed.kept(Fetched, line)
            if state:
                fetched[str(line["name"])] = state
    return fetched
