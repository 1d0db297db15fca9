"""The cells that come before a bundled notebook's own: facts, wheels, files and their check.

A pushed bundle is read back from its text, without running any of it: the files that it carries,
and the notebook's own cells.
"""

from __future__ import annotations

import ast
import json
import pprint
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from kernelkit.bundle import manifest, packages
from kernelkit.errors import NotebookError, PreflightError
from kernelkit.notebooks.document import INJECTED_TAG, SCRIPT_BEGINS, cell_source, tags
from kernelkit.terminal import safe_text
from kernelkit.wheels import session

Cell = dict[str, Any]

# Environment variables that the first cell sets, for everything that runs in the session.
MINUTES = "KERNELKIT_SESSION_MINUTES"  # the time after which Kaggle ends the session
VERSION = "KERNELKIT_PROJECT_VERSION"  # the version of the pushed repository
BEGAN = "KERNELKIT_SESSION_BEGAN"  # time.monotonic(), which all processes of a machine share
GIT_SHA, GIT_DIRTY = "KERNELKIT_GIT_SHA", "KERNELKIT_GIT_DIRTY"  # a commit; true or false

FOLDED_TAG = "bundle"  # of the cells that a push adds
FOLDED = {"_kg_hide-input": True, "jupyter": {"source_hidden": True}, "tags": [FOLDED_TAG]}
FIRST = "# Pushed by kernelkit."


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
    message = {
        "facts": _literal(facts),
        "environment": _literal(environment),
        "began": BEGAN,
        "first": FIRST,
    }
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
{first} The folded cells below contain the packages that this notebook
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


class OwnCell(NamedTuple):
    """A cell that the notebook had before it was pushed."""

    kind: str
    source: str
    tags: tuple[str, ...]


def carried(text: str) -> dict[str, str]:
    """{path: text} of the files that a bundle's cells write.

    Raises `NotebookError` for a text that no push made, or a folded cell that is not Python.
    """
    files: dict[str, str] = {}
    for source in _folded(text):
        try:
            files |= dict(_files(ast.parse(source)))
        except (SyntaxError, ValueError):
            raise NotebookError(
                "a folded cell of that version is not Python: see it there"
            ) from None
    return files


def own_cells(text: str) -> list[OwnCell]:
    """The notebook's own cells, without the one that holds a push's parameters."""
    own = []
    for cell in _notebook(text):
        source, labels = cell_source(cell), tags(cell)
        if not {FOLDED_TAG, INJECTED_TAG} & {*labels} and not source.startswith(FIRST):
            own.append(OwnCell(str(cell["cell_type"]), source, tuple(labels)))
    return own


def own_script(text: str) -> str:
    """What stands after the part of a script that the push carried."""
    _, mark, own = text.partition(f"{SCRIPT_BEGINS}\n")
    if not mark:
        raise NotebookError("that version was not pushed by kernelkit, or its mark was removed")
    return own


def _folded(text: str) -> list[str]:
    if not text.startswith("{"):
        return [text.partition(SCRIPT_BEGINS)[0]]
    cells = _notebook(text)
    return [cell_source(cell) for cell in cells if FOLDED_TAG in tags(cell)]


def _notebook(text: str) -> list[dict[str, Any]]:
    try:
        cells = json.loads(text)["cells"]
        for cell in cells:
            str(cell["cell_type"]), cell_source(cell)
    except (ValueError, KeyError, TypeError, RecursionError):
        raise NotebookError("that version is not a notebook of Jupyter's fourth format") from None
    return list(cells)


def _files(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """The arguments of the calls that write files: the path, and the text after its first line."""
    for node in tree.body:
        call = node.value if isinstance(node, ast.Expr) else None
        if (
            isinstance(call, ast.Call)
            and ast.unparse(call.func) == "_carry"
            and len(call.args) == 3
        ):
            path, _, text = call.args
            inner = text.value if isinstance(text, ast.Subscript) else text
            yield ast.literal_eval(path), str(ast.literal_eval(inner)).removeprefix("\n")
