"""The cells that come before a bundled notebook's own: facts, wheels, files and their check."""

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

# Environment variables that the first cell sets, for everything that runs in the session.
MINUTES = "KERNELKIT_SESSION_MINUTES"  # the time after which Kaggle ends the session
VERSION = "KERNELKIT_PROJECT_VERSION"  # the version of the pushed repository
BEGAN = "KERNELKIT_SESSION_BEGAN"  # time.monotonic(), which all processes of a machine share
GIT_SHA, GIT_DIRTY = "KERNELKIT_GIT_SHA", "KERNELKIT_GIT_DIRTY"  # a commit; true or false

FOLDED = {"_kg_hide-input": True, "jupyter": {"source_hidden": True}, "tags": ["bundle"]}


def head(facts: Mapping[str, Any]) -> Cell:
    """The first cell: sets BUNDLE to a dict of `facts`, and defines how files are written.

    It also puts the version, commit and `session_minutes`, if known, and the time when the session
    began into the environment.
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

    Raises `PreflightError` for a file that this would change.
    """
    # Papermill writes the whole notebook before and after each cell: with one cell per file of a
    # sweep's bundle, a session started ten seconds later.
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
        raise PreflightError(f"{file.path} cannot be bundled as text")
    path = json.dumps(file.path, ensure_ascii=False)  # a JSON string is also a Python string
    return f'_carry(\n    {path},\n    "{file.sha256}",\n    {text},\n)'


def manifest_begins() -> Cell:
    """The folded cell that prepares the session's manifest; `LAST` is the cell that writes it."""
    source = Path(manifest.__file__).read_text(encoding="utf-8").rstrip("\n")
    return code(f"{source}\n\n\nbegin(os.getcwd(), PUSH)", FOLDED)


def wheels(pins: Sequence[str], dataset: str) -> Cell:
    """A folded cell that installs the packages missing from the image, from an attached dataset."""
    source = Path(session.__file__).read_text(encoding="utf-8").rstrip("\n")
    call = f"_added = install_wheels({json.dumps(list(pins))}, {json.dumps(dataset)})"
    return code(
        f'{source}\n\n\n{call}\nprint("wheels:", *(_added or ["all installed already"]))', FOLDED
    )


def check(names: tuple[str, ...]) -> Cell:
    """A folded cell that puts the written files first on the path and imports these packages."""
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
# Pushed by kernelkit. The folded cells below contain the packages that this notebook
# imports, as text; they are written to a temporary folder and imported from there.
BUNDLE = {facts}

PUSH = ""  # the number of this push, also in its log and in the manifest of its files

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
# Write name, size and SHA-256 of each output file, so that the download can be verified.
import kernelkit_session

kernelkit_session.end()"""

_CHECK = """\
# The packages must come from this notebook.
sys.path.insert(0, str(_carried))
os.environ["PYTHONPATH"] = os.pathsep.join(
    [str(_carried), *filter(None, [os.environ.get("PYTHONPATH")])]
)
importlib.invalidate_caches()
for _name in {names}:
    _module = importlib.import_module(_name)
    if not str(pathlib.Path(_module.__file__).resolve()).startswith(str(_carried.resolve())):
        raise RuntimeError(f"{{_name}} came from {{_module.__file__}}, not from this notebook")"""
