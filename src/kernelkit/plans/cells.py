"""The cells of a bundle besides the notebook's own: facts, wheels, files and their check.

A pushed bundle is read back from its text, without running any of it: the files that it carries,
and the notebook's own cells.
"""

import ast
import json
import pprint
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from kernelkit.errors import NotebookError
from kernelkit.notebooks.document import (
    INJECTED_TAG,
    KERNELSPEC,
    SCRIPT_BEGINS,
    cell_source,
    tags,
)
from kernelkit.plans import manifest
from kernelkit.plans.packages import File
from kernelkit.project import Project
from kernelkit.wheels import session

FIRST = "# Pushed by kernelkit."  # the beginning of the first cell
FOLDED_TAG = "bundle"  # of the other cells that a push adds
FOLDED = {"_kg_hide-input": True, "jupyter": {"source_hidden": True}, "tags": [FOLDED_TAG]}
FUTURE = re.compile(r"^from __future__ import [\w, ]+$", re.MULTILINE)
# Characters besides "\n" at which Python or Jupyter would break or change a line.
_NOT_PLAIN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\x85\u2028\u2029]")

Cell = dict[str, Any]


class OwnCell(NamedTuple):
    """A cell that the notebook had before it was pushed."""

    kind: str
    source: str
    tags: tuple[str, ...]


def code(source: str, metadata: Mapping[str, Any] = FOLDED) -> Cell:
    """A code cell without outputs."""
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": dict(metadata),
        "outputs": [],
        "source": source,
    }


def before(facts: Mapping[str, Any], files: Sequence[File], project: Project) -> list[Cell]:
    """The cells that come before the notebook's own; `facts` are what BUNDLE will be."""
    cells = [_head(facts), _packed(manifest, "begin(os.getcwd(), PUSH)")]
    if project.wheels:
        cells.append(_wheels(project))
    if files:
        cells += [*_carry(files), code(_CHECK.format(names=json.dumps(facts["packages"])))]
    return cells


def _head(facts: Mapping[str, Any]) -> Cell:
    """The first cell: sets BUNDLE to a dict of `facts`, and defines how files are written.

    It also puts the version, the commit, the minutes of the session and the time when it began
    (time.monotonic(), which all processes of a machine share) into the environment.
    """
    environment = {
        "KERNELKIT_SESSION_MINUTES": facts["session_minutes"],
        "KERNELKIT_PROJECT_VERSION": facts["version"],
        "KERNELKIT_GIT_SHA": facts["git"]["commit"],
        "KERNELKIT_GIT_DIRTY": facts["git"]["commit"] and str(facts["git"]["dirty"]).lower(),
    }
    literals = {
        "facts": facts,
        "environment": {name: str(value) for name, value in environment.items() if value},
    }
    texts = {n: pprint.pformat(v, width=96, sort_dicts=False) for n, v in literals.items()}
    return code(_HEAD.format(first=FIRST, **texts), {})


def _packed(module: Any, call: str) -> Cell:
    """A folded cell with the source of a module, and a call of it."""
    source = Path(module.__file__).read_text(encoding="utf-8").rstrip("\n")
    return code(f"{source}\n\n\n{call}")


def _wheels(project: Project) -> Cell:
    """The cell that installs the project's wheels from an attached dataset."""
    dataset = json.dumps(f"*/{project.wheels_name}-*")
    call = f"_added = install_wheels({json.dumps(list(project.wheels))}, {dataset})"
    return _packed(session, f'{call}\nprint("wheels:", *(_added or ["all installed already"]))')


def _carry(files: Sequence[File]) -> list[Cell]:
    """Folded cells that write the files, one for each folder."""
    # Papermill writes the whole notebook before and after each cell: with one cell per file of a
    # sweep's bundle, a session started ten seconds later.
    folders: dict[str, list[str]] = {}
    for file in files:
        path = json.dumps(file.path, ensure_ascii=False)  # a JSON string is also a Python string
        call = f'_carry(\n    {path},\n    "{file.sha256}",\n    {literal(file.text)},\n)'
        folders.setdefault(path[1:].rpartition("/")[0], []).append(call)
    return [code("\n\n".join([f"# {folder}", *calls])) for folder, calls in folders.items()]


def literal(text: str) -> str:
    """A readable Python expression over several lines whose value is `text`.

    It is a raw string if that is exact, and otherwise one with only the necessary escapes.
    """
    for quotes in ("'''", '"""'):
        if _NOT_PLAIN.search(text) or quotes in text or text.endswith(("\\", quotes[0])):
            continue
        return f"r{quotes}\n{text}{quotes}[1:]"
    escaped = text.replace("\\", "\\\\").replace("'''", "\\'\\'\\'")
    escaped = _NOT_PLAIN.sub(lambda match: f"\\u{ord(match[0]):04x}", escaped)
    if escaped.endswith("'"):
        escaped = escaped[:-1] + "\\'"
    return f"'''\n{escaped}'''[1:]"


def notebook(carried: Iterable[Cell], own: Iterable[Cell]) -> str:
    """All cells as a notebook's JSON, with the one that ends the session's manifest."""
    cells = [cell | {"id": f"bundle-{number:03d}"} for number, cell in enumerate(carried)]
    content = {
        "cells": [*cells, *own, code(LAST) | {"id": "bundle-end"}],
        "metadata": {"kernelspec": KERNELSPEC, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return as_json(content)


def as_json(notebook: Mapping[str, Any]) -> str:
    """The JSON text of a notebook, the same for the same content."""
    return json.dumps(notebook, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def script(carried: Iterable[Cell], own: Iterable[Cell]) -> str:
    """All cells as one file, with `from __future__` imports first, as Python requires.

    The process writes the manifest when it exits, so that no last cell is needed.
    """
    ridden = "\n\n".join(cell["source"] for cell in carried)
    text = "\n".join(cell["source"].rstrip("\n") for cell in own)
    futures = dict.fromkeys(FUTURE.findall(text))  # not those inside the bundled files
    return "\n".join([*futures, ridden, SCRIPT_BEGINS, FUTURE.sub("", text)]) + "\n"


def carried(text: str) -> dict[str, str]:
    """{path: text} of the files that a bundle's cells write.

    Raises `NotebookError` for a text that no push made, or a folded cell that is not Python.
    """
    files: dict[str, str] = {}
    for source in _folded(text):
        try:
            files |= dict(_calls(ast.parse(source)))
        except (SyntaxError, ValueError):
            raise NotebookError(
                "a folded cell of that version is not Python: see it there"
            ) from None
    return files


def own_cells(text: str) -> list[OwnCell]:
    """The notebook's own cells, without the one that holds a push's parameters."""
    own = []
    for cell in _read(text):
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
    cells = _read(text)
    return [cell_source(cell) for cell in cells if FOLDED_TAG in tags(cell)]


def _read(text: str) -> list[dict[str, Any]]:
    try:
        cells = json.loads(text)["cells"]
        for cell in cells:
            str(cell["cell_type"]), cell_source(cell)
    except (ValueError, KeyError, TypeError, RecursionError):
        raise NotebookError("that version is not a notebook of Jupyter's fourth format") from None
    return list(cells)


def _calls(tree: ast.Module) -> Iterator[tuple[str, str]]:
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


_HEAD = """\
{first} The folded cells below contain the packages that this notebook
# imports, as text; they are written to a temporary folder and imported from there.
BUNDLE = {facts}

PUSH = ""  # the number of this push, also in its log and in the manifest of its files

import hashlib, importlib, os, pathlib, sys, tempfile, time

print("bundle:", BUNDLE["notebook"], *BUNDLE["packages"], BUNDLE["content"][:19])
print("push:", PUSH)
os.environ.update({environment})
os.environ["KERNELKIT_SESSION_BEGAN"] = str(time.monotonic())

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
