"""Build a notebook that needs only Kaggle's image, with the packages it imports inside.

Before the notebook's own cells come one with the bundle's facts, and folded ones: for the manifest,
the wheels, each folder of files, and their check and import; after them comes one that ends the
manifest. The same input gives the same bytes; traces of the machine where the notebook was written
are removed. `carried` reads all of it back but the kit itself, which rides compressed with a sweep,
since it is almost half of what Kaggle accepts.
"""

import base64
import contextlib
import hashlib
import json
import pprint
import re
import textwrap
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import kernelkit
from kernelkit import files
from kernelkit.git import commit_of
from kernelkit.notebook import document
from kernelkit.notebook.document import cell_source, has_tag, tags
from kernelkit.notebook.modules import File
from kernelkit.notebook.own_files import OwnFiles, own_files
from kernelkit.notebook.parameters import assignments, literal
from kernelkit.notebook.reading import Program, read
from kernelkit.notebook.records import Reading
from kernelkit.project import Project
from kernelkit.push.bundle import installing, manifest
from kernelkit.session import accelerator_watch, places, recording
from kernelkit.terminal.events import size_of

# What reading a text as a notebook can raise, whatever it is.
NO_NOTEBOOK = (ValueError, LookupError, TypeError, AttributeError)
MAX_BYTES = 1_000_000  # Kaggle: "must be less than 1 megabytes" of notebook JSON
LINE = 96  # characters in a line of what is compressed
FIRST = "# Pushed by kernelkit."  # the beginning of the first cell
NUMBER = re.compile(r'^PUSH = "([0-9a-f]{16})?"', re.MULTILINE)  # in the first cell
FOLDED_TAG = "bundle"  # of the other cells that a push adds
FOLDED = {"_kg_hide-input": True, "jupyter": {"source_hidden": True}, "tags": [FOLDED_TAG]}

Values = Mapping[str, Any]  # parameters, facts or other contents by name
Cell = dict[str, Any]
Texts = tuple[tuple[str, str], ...]  # texts by file or cell, such as "train.ipynb[cell 2]"


class Commit(NamedTuple):
    """The commit of a checkout; `sha` is empty outside git, where everything counts as dirty."""

    sha: str
    dirty: bool

    def __str__(self) -> str:
        if not self.sha:
            return "no commit"
        short = self.sha[:12]
        return f"{short}+changes" if self.dirty else short


@dataclass(frozen=True)
class Bundle:
    """What is pushed: the notebook's JSON `text`, and facts about it for checks and the ledger.

    `content` is a hash of what runs (cells, package files, parameters), without the commit, so that
    two bundles with the same `content` do the same. `texts` is all text, for the search for
    credentials; `program` what the notebook's own code cells do, or the script; `modules` the
    bundled Python files; `stays` the modules not sent, and why. The rest is as in `OwnFiles`.
    """

    text: str
    content: str
    commit: Commit
    packages: tuple[str, ...]
    parameters: Values
    texts: Texts
    program: Program
    modules: Texts = ()
    stays: Mapping[str, str] = field(default_factory=dict)
    beside: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    places: Mapping[str, Path] = field(default_factory=dict)
    elsewhere: Mapping[str, Path] = field(default_factory=dict)

    @cached_property
    def programs(self) -> tuple[Program, ...]:
        """What all its Python does: the notebook's own code, and each bundled module."""
        modules = (Program.of([module], cells=False) for module in self.modules)
        return (self.program, *modules)

    @cached_property
    def readings(self) -> tuple[tuple[str, Reading], ...]:
        """What each of its sources does, with its place."""
        return tuple(source for program in self.programs for source in program.sources)

    @cached_property
    def carries(self) -> tuple[str, ...]:
        """What it carries, by name: packages, modules, and files that cells start."""
        return (*self.packages, *self.beside)

    @property
    def words(self) -> str:
        """What it carries, its commit and its size, in words that follow the notebook's name."""
        carried = f" with {', '.join(self.carries)}" if self.carries else ""
        git = f"git {self.commit}" if self.commit.sha else "no git commit"
        return f"{carried}, {git}, {size_of(self.size)} of the {size_of(MAX_BYTES)} allowed"

    @cached_property
    def size(self) -> int:
        """Bytes of notebook JSON; Kaggle accepts fewer than `MAX_BYTES`."""
        return len(self.text.encode())

    @cached_property
    def imports(self) -> dict[str, str]:
        """The modules that it needs, and where each is first imported.

        Not those that only a bundled module needs which the cells try to import and can do without.
        """
        cells, *modules = self.programs
        needed = dict(cells.needed)
        optional = cells.imported.difference(needed)
        while True:  # a module that one of them needs may need more
            for module in modules:
                if _top(module.sources[0][0]) not in optional:
                    for name, place in module.needed.items():
                        needed.setdefault(name, place)
            if optional.isdisjoint(needed):
                return needed
            optional -= needed.keys()


def _top(path: str) -> str:
    """The top-level module that a bundled file belongs to."""
    return path.partition("/")[0].removesuffix(".py")


def build(
    notebook: Path,
    source: Values,
    parameters: Values,
    project: Project,
    session_minutes: float | None = None,
    *,
    script: bool = False,
    attached: Collection[str] = (),
    accelerator: str = "cpu",
    brought: Mapping[str, str] = MappingProxyType({}),
) -> Bundle:
    """Bundle the notebook with the project's packages and these (checked) parameters.

    `source`: the notebook as nbformat's JSON, as `document` reads it from its file.
    `session_minutes`: how long its session may last; the first cell stores it in the environment
    variable `KERNELKIT_SESSION_MINUTES`. `script`: the cells become one file. `attached`: the
    kinds of the kernel's sources. `accelerator`: the kind of its machine; whether a process uses a
    TPU or GPU is looked at. `brought`: of the attached datasets that the push brings, each with the
    name of the file by which the session knows its version.

    Raises `PreflightError` for a package that cannot be read.
    """
    name = project.name(notebook)
    cells = _own_cells(source["cells"], name, parameters)
    if script:
        code = texts = _texts_of_script(name, cells)
    else:
        code = tuple((place, c["source"]) for place, c in cells.items() if c["cell_type"] == "code")
        texts = tuple(_texts(cells))
    program = Program.of(code, cells=not script)
    found = own_files(notebook, project, program, attached=attached)
    files = found.files
    tops = (_top(file.path) for file in files if file.path not in found.beside)
    names = tuple(dict.fromkeys([*tops, *sorted(found.modules)]))
    executed = json.dumps([files, project.wheels, list(cells.values()), *sorted(brought.items())])
    content = hashlib.sha256(executed.encode()).hexdigest()
    commit = _commit(project.beside or notebook, project, found)
    # The first cell has them as Python writes them; an infinite number is there as a text.
    told = {}
    for parameter, value in parameters.items():
        told[parameter] = value if literal(value) == repr(value) else str(value)
    facts = {
        "notebook": name,
        "packages": list(names),
        "version": project.version,
        "git": {"commit": commit.sha, "dirty": commit.dirty},
        "content": f"sha256:{content}",
        "parameters": told,
        "session_minutes": session_minutes,
    }
    added = _added_cells(facts, files, project, found.beside, accelerator, brought)
    write = _script if script else _notebook
    return Bundle(
        text=write(added, cells.values()),
        content=content,
        commit=commit,
        packages=names,
        parameters=dict(parameters),
        texts=(*files, *texts),
        program=program,
        modules=tuple((path, text) for path, text in files if path.endswith(".py")),
        stays=found.stays,
        beside=tuple(found.beside),
        notes=tuple(found.notes),
        places=found.places,
        elsewhere=found.elsewhere,
    )


def _commit(notebook: Path, project: Project, found: OwnFiles) -> Commit:
    """The commit of what is bundled with a notebook, and whether that differs from it.

    The kit itself counts only where it is part of the checkout.
    """
    carried = (notebook.name, *(file.path for file in found.files))
    folders = [project.package_folder(package) for package in project.packages]
    paths = [notebook, *folders, *found.places.values()]
    kit = Path(kernelkit.__file__).resolve().parent
    if not kit.is_relative_to(project.repository):
        paths = [path for path in paths if not path.resolve().is_relative_to(kit)]
    return Commit(*commit_of(project.root, paths, carried))


def _own_cells(source: Iterable[Values], name: str, parameters: Values) -> dict[str, Cell]:
    """The notebook's cells by place, such as "train.ipynb[cell 2]", with the parameters injected.

    Code cells are numbered as `code_cells` does, and cells of text between them by themselves. Only
    their sources, tags and attachments are kept, and their ids are reproducible.
    """
    cells: dict[str, Cell] = {}
    own = [cell for cell in source if not has_tag(cell, document.INJECTED_TAG)]
    numbers = {id(cell): number for number, cell in document.code_cells(own).items()}
    texts = 0
    for position, cell in enumerate(own):
        labels = tags(cell)
        clean = _code(cell_source(cell), {"tags": labels} if labels else {})
        if cell["cell_type"] != "code":
            del clean["execution_count"], clean["outputs"]
        content = {key: cell[key] for key in ("cell_type", "attachments") if key in cell}
        place = f"cell {numbers.get(id(cell))}"
        if id(cell) not in numbers:
            texts += 1
            place = f"text cell {texts}"
        cells[f"{name}[{place}]"] = clean | content | {"id": f"cell-{position:03d}"}
        place = f"{name}[parameters]"  # after the first such cell, as papermill does
        if parameters and place not in cells and document.takes_parameters(cell):
            injected = _code(assignments(parameters), {"tags": [document.INJECTED_TAG]})
            cells[place] = injected | {"id": document.INJECTED_TAG}
    return cells


def _code(source: str, metadata: Values = FOLDED) -> Cell:
    """A code cell without outputs."""
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": dict(metadata),
        "outputs": [],
        "source": source,
    }


def _added_cells(
    facts: Values,
    files: Sequence[File],
    project: Project,
    beside: Sequence[str],
    accelerator: str,
    brought: Values,
) -> Iterator[Cell]:
    """The cells that come before the notebook's own; `facts` are what BUNDLE will be.

    `beside`: the paths of those `files` that cells start in the session's folder. `brought`: as
    `build` takes it.

    The first one puts the version, the commit, the minutes of the session and the time when it
    began (time.monotonic(), which all processes of a machine share) into the environment.
    """
    commit = facts["git"]["commit"]
    environment = {
        "KERNELKIT_SESSION_MINUTES": facts["session_minutes"],
        "KERNELKIT_PROJECT_VERSION": facts["version"],
        "KERNELKIT_GIT_SHA": commit,
        "KERNELKIT_GIT_DIRTY": commit and str(facts["git"]["dirty"]).lower(),
    }
    variables = {name: str(value) for name, value in environment.items() if value}
    literals = (pprint.pformat(part, width=96, sort_dicts=False) for part in (facts, variables))
    yield _code(_HEAD.format(FIRST, *literals), {})
    yield _packed(manifest, "begin(os.getcwd(), PUSH)")
    if brought:
        yield _code(_BROUGHT.format(pprint.pformat(dict(brought), width=96)))
    yield _code(_TELLS.format(recording=_literal_of(recording), folder=places.FOLDER))
    if accelerator != "cpu":
        source = _literal_of(accelerator_watch)
        place = f"{places.FOLDER}/{places.MACHINE}"
        yield _code(_WATCHES.format(kind=accelerator, watching=source, file=place))
    if project.wheels:
        arguments = json.dumps([list(project.wheels), project.wheels_name])
        call = f"_added = install_wheels(*{arguments})"
        words = 'print("wheels:", *(_added or ["all installed already"]))'
        yield _packed(installing, f"{call}\n{words}")
    # Papermill writes the whole notebook before and after each cell: with one cell per file of a
    # sweep's bundle, a session started ten seconds later.
    folders: dict[str, list[str]] = {}
    kit = [file for file in files if is_kits_own(file.path)]
    if kit:
        yield _compressed(kit)
    for file in files:
        if is_kits_own(file.path):
            continue
        path = json.dumps(file.path, ensure_ascii=False)  # a JSON string is also a Python string
        call = f'_carry(\n    {path},\n    "{file.sha256}",\n    {document.literal(file.text)},\n)'
        folders.setdefault(path[1:].rpartition("/")[0], []).append(call)
    for folder, calls in folders.items():
        yield _code("\n\n".join([f"# {folder}", *calls]))
    if files:
        yield _code(_CHECK.format(names=json.dumps(facts["packages"])))
    if beside:
        yield _code(_BESIDE.format(names=json.dumps(beside, ensure_ascii=False)))


def is_kits_own(path: str) -> bool:
    """Whether a bundled file is part of the kit itself."""
    return path.startswith(f"{kernelkit.__name__}/")


def _compressed(kit: Sequence[File]) -> Cell:
    """A folded cell that writes the kit's files."""
    listed = json.dumps([[file.path, file.sha256, file.text] for file in kit])
    encoded = base64.b64encode(zlib.compress(listed.encode(), 9)).decode()
    return _code(_KIT.format("\n".join(textwrap.wrap(encoded, LINE))))


def _packed(module: Any, call: str) -> Cell:
    """A folded cell with the source of a module, and a call of it."""
    source = Path(module.__file__).read_text("utf-8").rstrip("\n")
    return _code(f"{source}\n\n\n{call}")


def _literal_of(module: Any) -> str:
    """The source of a module as a literal."""
    return document.literal(Path(module.__file__).read_text("utf-8"))


def _notebook(added: Iterable[Cell], own: Iterable[Cell]) -> str:
    """All cells as a notebook's JSON, with the one that ends the session's manifest."""
    cells = [cell | {"id": f"{document.ADDED}{number:03d}"} for number, cell in enumerate(added)]
    cells += [*own, _code(_LAST) | {"id": f"{document.ADDED}end"}]
    metadata = {"kernelspec": document.KERNELSPEC, "language_info": {"name": "python"}}
    return _as_json({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5})


def _script(added: Iterable[Cell], own: Iterable[Cell]) -> str:
    """All cells as one file, with its docstring and `from __future__` imports first, as Python
    requires.

    The process writes the manifest when it exits, so that no last cell is needed.
    """
    ridden = "\n\n".join(cell["source"] for cell in added)
    sources = [_of_script(cell) for cell in own]
    text = "\n".join(sources)
    futures, own_part = document.divided_script(text)
    # The script keeps its docstring where it was, too, so that a pull finds the script as it is.
    docstring = _docstring(sources)
    first = [docstring] if docstring else []
    return "\n".join([*first, *futures, ridden, document.SCRIPT_BEGINS, own_part]) + "\n"


def _of_script(cell: Cell) -> str:
    """A cell's source as a part of a script; parameters have marks, by which lines are counted."""
    source: str = cell["source"].rstrip("\n")
    if document.INJECTED_TAG in tags(cell):
        return "\n".join([document.SCRIPT_STOPS, source, document.SCRIPT_GOES_ON])
    return source


def _docstring(sources: Iterable[str]) -> str:
    """The literal that a script begins with; empty if it begins with another statement."""
    for source in sources:
        reading = read(source, cell=False)
        if reading.docstring or reading.statements:
            return reading.docstring
    return ""


def _texts_of_script(name: str, cells: Mapping[str, Cell]) -> Texts:
    """A script, whose lines are counted as its author sees them, and what a push sets in it."""
    texts = {name: ""}
    for place, cell in cells.items():
        if has_tag(cell, document.INJECTED_TAG):
            texts[place] = cell["source"]
        else:
            texts[name] += cell["source"]
    return tuple(texts.items())


def _texts(cells: Mapping[str, Values]) -> Iterator[tuple[str, str]]:
    """The sources of cells, and their tags and decoded attachments, each with its place."""
    for place, cell in cells.items():
        yield place, cell["source"]
        if not cell["metadata"] and not cell.get("attachments"):
            continue
        besides = json.dumps([cell["metadata"], cell.get("attachments")], indent=0)
        yield f"{place} tags and attachments", besides
        for data in re.findall(r"[A-Za-z0-9+/]{16,}", besides):
            with contextlib.suppress(ValueError):
                decoded = base64.b64decode(f"{data}==").decode("utf-8", "replace")
                yield f"{place} attachment", decoded


def _as_json(notebook: Values) -> str:
    return json.dumps(notebook, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def stamped(text: str, number: str) -> str:
    """A bundle, or the source of its first cell, with the push's number in it.

    A notebook that cannot be read, as an edit on Kaggle may leave it, stays as it is.
    """
    if not text.startswith("{"):  # a script, or the cell
        return NUMBER.sub(f'PUSH = "{number}"', text, count=1)
    try:
        notebook = files.parse_json(text)
        first = notebook["cells"][0]
        first["source"] = stamped(cell_source(first), number)
    except NO_NOTEBOOK:
        return text
    return _as_json(notebook)


def number_of(text: str) -> str:
    """The number in a notebook's first cell; empty if there is none."""
    try:
        first = cell_source(files.parse_json(text)["cells"][0]) if text.startswith("{") else text
    except NO_NOTEBOOK:
        return ""
    stated = NUMBER.search(first)
    if stated is None:
        return ""
    return stated[1] or ""


_HEAD = """\
{} The folded cells below contain the packages that this notebook
# imports, as text; they are written to a temporary folder and imported from there.
BUNDLE = {}

PUSH = ""  # the number of this push, also in its log and in the manifest of its files

import hashlib, importlib, os, pathlib, sys, tempfile, time

print("bundle:", BUNDLE["notebook"], *BUNDLE["packages"], BUNDLE["content"][:19])
print("push:", PUSH)
os.environ.update({})
os.environ.setdefault("KERNELKIT_SESSION_BEGAN", str(time.monotonic()))

_carried = pathlib.Path(tempfile.mkdtemp(prefix="carried-"))


def _carry(path, sha256, text):
    data = text.encode()
    if hashlib.sha256(data).hexdigest() != sha256:
        raise RuntimeError(f"{{path}} is not what was pushed: its cell was edited")
    target = _carried / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)
"""

_BROUGHT = """\
# What these datasets hold is known by the name of a file in each. After an upload, Kaggle may mount
# the version before it for a while.
_inputs = pathlib.Path(os.environ.get("KERNELKIT_INPUT_ROOT", "/kaggle/input"))
for _slug, _sums in {}.items():
    _places = (f"datasets/*/{{_slug}}/{{_sums}}", f"{{_slug}}/{{_sums}}")
    if not any([*_inputs.glob(_place)] for _place in _places):
        raise RuntimeError(
            f"{{_slug}} is not mounted in the version that was pushed: push again in a few minutes"
        )"""

_KIT = """\
# kernelkit, which makes the runs of this sweep. It is compressed to stay below Kaggle's limit.
import base64, json, zlib

_KIT = \"\"\"
{}
\"\"\"
for _file in json.loads(zlib.decompress(base64.b64decode(_KIT))):
    _carry(*_file)"""

_TELLS = """\
# What the cells show is kept in {folder}, for the report.
import types

import kernelkit_session

_recording = types.ModuleType("kernelkit_recording")
if kernelkit_session.before_end is not None:
    try:
        exec({recording}, _recording.__dict__)
        kernelkit_session.before_end.append(_recording.begin(os.path.abspath("{folder}")))
    except Exception as _error:
        print(f"the report will lack what cells show: {{_error!r}}", file=sys.stderr)"""

_WATCHES = """\
# A process looks once a minute whether one of this session uses the {kind} that was asked for. In a
# rehearsal, CPU devices stand in for it.
_watching = types.ModuleType("kernelkit_watching")
_source = {watching}
if kernelkit_session.before_end is not None and "LOCAL_KAGGLE_SESSION" not in os.environ:
    try:
        exec(_source, _watching.__dict__)
        _write = _watching.begin("{kind}", os.path.abspath("{file}"), _source)
        kernelkit_session.before_end.append(_write)
    except Exception as _error:
        print(f"whether the {kind} is used will not be told: {{_error!r}}", file=sys.stderr)"""

_LAST = """\
# Write name, size and SHA-256 of each output file, so that the download can be verified.
import kernelkit_session

getattr(kernelkit_session, "tidy", int)()
kernelkit_session.end()"""

_CHECK = """\
# The packages must come from this notebook. None is imported yet: when, and with which environment,
# is for the notebook's own cells to say.
# As at home, a file that the session writes into its own folder comes before them.
sys.path[:0] = [os.getcwd(), str(_carried)]
os.environ["PYTHONPATH"] = os.pathsep.join(
    [str(_carried), *filter(None, [os.environ.get("PYTHONPATH")])]
)
importlib.invalidate_caches()
import importlib.util

for _name in {names}:
    _spec = importlib.util.find_spec(_name)
    _places = [_spec.origin, *(_spec.submodule_search_locations or ())] if _spec else []
    _places = [pathlib.Path(_place).resolve() for _place in _places if _place]
    if not any(_place.is_relative_to(_carried.resolve()) for _place in _places):
        raise RuntimeError(f"{{_name}} would come from {{_places}}, not from this notebook")"""

_BESIDE = """\
# Cells start these files in this folder. At the end they are removed, if they are as they were.
import atexit

_beside = {{_path: (_carried / _path).read_bytes() for _path in {names}}}
for _path, _data in _beside.items():
    pathlib.Path(_path).parent.mkdir(parents=True, exist_ok=True)
    pathlib.Path(_path).write_bytes(_data)


def _tidy(beside=_beside, folder=pathlib.Path.cwd()):
    for path, data in beside.items():
        try:
            if (folder / path).read_bytes() == data:
                (folder / path).unlink()
        except OSError:
            pass


import kernelkit_session

kernelkit_session.tidy = _tidy  # for a notebook's last cell
if "get_ipython" not in globals() and __name__ != "__mp_main__":
    atexit.register(_tidy)"""
