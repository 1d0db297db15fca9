"""The catalogue: a folder with the inputs that exist on this Kaggle, and the answers.

competitions/<slug>/…          what a competition's page offers
hidden/<slug>/…                what a code competition's rerun finds in its place; with it, the
                               competition takes notebooks and no files
datasets/<owner>/<slug>/…      other people's datasets
kernels/<owner>/<slug>/…       outputs of other people's kernels
models/<owner>/<model>/<framework>/<variation>/<version>/…   the framework in lower case
…/<slug>.versions/<number>/…   earlier versions of the dataset or kernel `<slug>` beside it
…/<slug>.topics/<number>.toml  a topic about it; a forum's are in forums/<slug>.topics
…/<slug>.toml                  what its page says: fields of Kaggle's API, such as isPrivate = true
solutions/<slug>.toml          how submissions are scored (`competitions/scoring.py` has the format)
solutions/<slug>.csv           the answers that they are scored against, which no session sees
"""

import json
import os
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from local_kaggle.errors import LocalKaggleError

LAST_LINES = 12  # of a command that failed


class Catalogue:
    """A read-only view of the folder; files that are added later are visible at once.

    `inputs` are folders that lie elsewhere, by their places in the catalogue, such as
    "datasets/owner/slug", or "models/owner/model/framework/variation/version". They come before
    what the folder has there, and a dataset or kernel among them stands for each of its versions.
    """

    def __init__(self, folder: Path, inputs: Mapping[str, Path] | None = None) -> None:
        self.folder = folder
        self.inputs = {place.lower(): path for place, path in (inputs or {}).items()}

    def find(self, kind: str, reference: str) -> Path | None:
        """The folder of `reference` ("slug" or "owner/slug") among `competitions`, `datasets`…

        None if there is none, or if the reference has a prefix or leads out of the folder. For a
        model it is "owner/model" or "owner/model/framework/variation". Raises LocalKaggleError
        while a command fills the catalogue, and after one that failed or was interrupted.
        """
        parts = reference.split("/")
        depths = {"competitions": (1,), "hidden": (1,), "models": (2, 4)}.get(kind, (2,))
        if len(parts) not in depths or any(part in ("", ".", "..") for part in parts):
            return None
        if (mark := _mark(self.folder)).exists():
            raise LocalKaggleError(
                f"{self.folder} is incomplete: the command that fills it has not ended well. Fill "
                f"it again, or remove it and {mark}"
            )
        given = self._given(kind, reference)
        folder = next(iter(given.values()), self.folder / kind / reference)
        return folder if folder.is_dir() else None

    def given(self, kind: str, reference: str) -> Path | None:
        """The folder of a competition, dataset or kernel that is one of `inputs`."""
        return None if kind == "models" else self._given(kind, reference).get(1)

    def _given(self, kind: str, reference: str) -> dict[int, Path]:
        """The folders among `inputs` of an item by version, the newest first; of a model any."""
        place = f"{kind}/{reference}".lower()
        if kind != "models":
            return {1: self.inputs[place]} if place in self.inputs else {}
        below = {name: path for name, path in self.inputs.items() if name.startswith(f"{place}/")}
        numbered = {int(name.rpartition("/")[2]): path for name, path in below.items()}
        return dict(sorted(numbered.items(), reverse=True))

    def versions(self, kind: str, reference: str) -> dict[int, Path]:
        """The folders of an item's versions by version number, newest first."""
        folder = self.find(kind, reference)
        if folder is None:
            return {}
        if given := self._given(kind, reference):
            return given
        numbered = folder if kind == "models" else folder.with_name(f"{folder.name}.versions")
        folders = {int(path.name): path for path in numbered.glob("*") if path.name.isdecimal()}
        if kind != "models":
            folders[max(folders, default=0) + 1] = folder
        return dict(sorted(folders.items(), reverse=True))

    def page(self, kind: str, reference: str) -> dict[str, Any]:
        """The fields of an existing item's page."""
        return read_page(self.folder / kind / f"{reference}.toml")

    def references(self, kind: str) -> list[str]:
        """The references of a kind, sorted.

        "models" gives models, "models/owner/model" the variations of that model.
        """
        base = self.folder / kind
        pages = base.glob("*" if kind == "competitions" else "*/*")
        found = [path.relative_to(base).as_posix() for path in pages if path.is_dir()]
        names = {name for name in found if "." not in name}
        for place in self.inputs:
            if place.startswith(f"{kind}/".lower()):
                parts = place[len(kind) + 1 :].split("/")
                names.add("/".join(parts[: 1 if kind == "competitions" else 2]))
        return sorted(names)


def read_page(file: Path) -> dict[str, Any]:
    """The fields of a page, as the API's JSON has them: TOML's dates are text there.

    Raises LocalKaggleError for a file that is not TOML.
    """
    try:
        fields = tomllib.loads(file.read_text("utf-8")) if file.is_file() else {}
        text = json.dumps(
            fields, allow_nan=False, default=lambda date: f"{date:%Y-%m-%dT%H:%M:%S}Z"
        )
    except (OSError, ValueError) as error:
        raise LocalKaggleError(f"{file} cannot be read: {error}") from None
    return dict(json.loads(text))


def files_below(folder: Path) -> list[tuple[str, Path]]:
    """All files below a folder as ("sub/name", path), sorted by name; links followed.

    Names that are not valid text are left out, because JSON cannot hold them.
    """
    files = []
    folders = [folder]  # one by one: a program may leave paths a thousand folders deep
    while folders:
        with suppress(OSError), os.scandir(folders.pop()) as entries:  # gone, or too long a path
            for entry in entries:
                path = Path(entry.path)
                if not _can_be_named(entry.name):
                    continue
                if entry.is_file():
                    files.append(path)
                elif entry.is_dir() and not _leads_back_up(path):
                    folders.append(path)
    return sorted((path.relative_to(folder).as_posix(), path) for path in files)


def _can_be_named(name: str) -> bool:
    """Whether a name is valid text: Linux allows other names, JSON does not."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _leads_back_up(path: Path) -> bool:
    return path.is_symlink() and path.resolve() in map(Path.resolve, path.parents)


def fill_catalogue(
    folder: Path,
    command: str,
    where: Path | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> None:
    """Run a command that puts inputs in the catalogue; `{catalogue}` in it becomes the folder.

    The command is another program's, so that the local Kaggle need not know what the data is. It
    runs in the folder `where`, by default the current one; a leading `python` is this Python.
    `tell` gets each line that it prints. Raises LocalKaggleError with its last line if it fails.
    """
    folder = folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    mark = _mark(folder)
    lines = []
    try:
        words = [word.replace("{catalogue}", str(folder)) for word in shlex.split(command)]
        if words[0] in ("python", "python3"):
            words[0] = sys.executable
        with subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace", cwd=where
        ) as process:
            mark.touch()
            for line in process.stdout or ():
                lines.append(line.rstrip("\n"))
                tell(lines[-1])
        if process.returncode:
            last = [f"{words[0]} ended with exit code {process.returncode}", *lines[-LAST_LINES:]]
            raise ValueError("\n    ".join(last))
        mark.unlink()
    except (OSError, ValueError, IndexError) as error:
        raise LocalKaggleError(f"the catalogue could not be filled: {error}") from error


def _mark(folder: Path) -> Path:
    """The file that marks a catalogue while it is filled: beside it, for commands that clone."""
    return folder.with_name(f".{folder.name}.filling")
