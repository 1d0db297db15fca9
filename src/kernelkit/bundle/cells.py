"""The cells that stand before a bundled notebook's own: facts, wheels, files and their check."""

from __future__ import annotations

import json
import pprint
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kernelkit.bundle import manifest, packages
from kernelkit.errors import PreflightError
from kernelkit.terminal import safe_text
from kernelkit.wheels import session

Cell = dict[str, Any]

# What the first cell puts into the environment, for whatever runs in the session to read.
MINUTES = "KERNELKIT_SESSION_MINUTES"  # of a session, after which Kaggle ends it
VERSION = "KERNELKIT_PROJECT_VERSION"  # of the repository that was pushed from
BEGAN = "KERNELKIT_SESSION_BEGAN"  # time.monotonic() then, which all processes of a machine share
GIT_SHA, GIT_DIRTY = "KERNELKIT_GIT_SHA", "KERNELKIT_GIT_DIRTY"  # a commit; true or false

FOLDED = {"_kg_hide-input": True, "jupyter": {"source_hidden": True}, "tags": ["bundle"]}


def head(facts: Mapping[str, Any]) -> Cell:
    """The first cell: states `facts` as a dict named BUNDLE, and defines how files are written.

    Its version, commit and `session_minutes`, where known, and the session's beginning are in the
    environment from there on.
    """
    environment = {
        MINUTES: facts["session_minutes"],
        VERSION: facts["version"],
        GIT_SHA: facts["git"]["commit"],
    }
    environment = {name: str(value) for name, value in environment.items() if value}
    if GIT_SHA in environment:
        environment[GIT_DIRTY] = str(facts["git"]["dirty"]).lower()
    message = {"facts": _literal(facts), "environment": _literal(environment), "began": BEGAN}
    return code(_HEAD.format(**message), {})


def carry(files: Sequence[packages.File]) -> list[Cell]:
    """Folded cells that write the files, one for each folder.

    Raises `PreflightError` for a file that would be changed by that.
    """
    # Papermill writes the whole notebook before and after each cell: with a cell for each file of
    # a sweep's bundle, a session began ten seconds later.
    folders: dict[str, list[packages.File]] = {}
    for file in files:
        folders.setdefault(file.path.rpartition("/")[0], []).append(file)
    return [
        code("\n\n".join([f"# {safe_text.one_line(folder)}", *map(_call, own)]), FOLDED)
        for folder, own in folders.items()
    ]


def _call(file: packages.File) -> str:
    text = packages.literal(file.text)
    if packages.value(text) != file.text:
        raise PreflightError(f"{file.path} cannot be carried as text")
    path = json.dumps(file.path, ensure_ascii=False)  # Python reads a JSON string as JSON does
    return f'_carry(\n    {path},\n    "{file.sha256}",\n    {text},\n)'


def manifest_begins() -> Cell:
    """The folded cell that begins the session's manifest; `LAST` is the cell that writes it."""
    source = Path(manifest.__file__).read_text(encoding="utf-8").rstrip("\n")
    return code(f"{source}\n\n\nbegin(os.getcwd(), PUSH)", FOLDED)


def wheels(pins: Sequence[str], dataset: str) -> Cell:
    """A folded cell that installs what the image lacks of these from an attached dataset."""
    source = Path(session.__file__).read_text(encoding="utf-8").rstrip("\n")
    call = f"_added = install_wheels({json.dumps(list(pins))}, {json.dumps(dataset)})"
    return code(
        f'{source}\n\n\n{call}\nprint("wheels:", *(_added or ["all there already"]))', FOLDED
    )


def check(names: tuple[str, ...]) -> Cell:
    """A folded cell that puts what was written first on the path and imports these packages."""
    return code(_CHECK.format(names=json.dumps(list(names))), FOLDED)


def code(source: str, metadata: Mapping[str, Any]) -> Cell:
    """A code cell without outputs."""
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": dict(metadata),
        "outputs": [],
        "source": source,
    }


def _literal(values: Mapping[str, Any]) -> str:
    return pprint.pformat(values, width=96, sort_dicts=False)


_HEAD = """\
# Pushed by kernelkit. The packages that this notebook imports ride in the folded cells
# below, as text; they are written to a temporary folder and imported from there.
BUNDLE = {facts}

PUSH = ""  # the number of this push, which its log and the manifest of its files show too

import hashlib, importlib, os, pathlib, sys, tempfile, time

print("bundle:", BUNDLE["notebook"], *BUNDLE["packages"], BUNDLE["content"][:19])
print("push:", PUSH)
os.environ.update({environment})
os.environ["{began}"] = str(time.monotonic())

_carried = pathlib.Path(tempfile.mkdtemp(prefix="carried-"))


def _carry(path, sha256, text):
    data = text.encode()
    if hashlib.sha256(data).hexdigest() != sha256:
        raise RuntimeError(f"{{path}} is not what was pushed: its cell was edited")
    target = _carried / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)
"""

LAST = """\
# Name, size and SHA-256 of each file that this session leaves, for the desk to verify them.
import kernelkit_session

kernelkit_session.end()"""

_CHECK = """\
# The packages come from this notebook and from nowhere else.
sys.path.insert(0, str(_carried))
os.environ["PYTHONPATH"] = os.pathsep.join(
    [str(_carried), *filter(None, [os.environ.get("PYTHONPATH")])]
)
importlib.invalidate_caches()
for _name in {names}:
    _module = importlib.import_module(_name)
    if not str(pathlib.Path(_module.__file__).resolve()).startswith(str(_carried.resolve())):
        raise RuntimeError(f"{{_name}} came from {{_module.__file__}}, not from this notebook")"""
