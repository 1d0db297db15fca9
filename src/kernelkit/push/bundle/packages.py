"""The files that a bundle carries, found as Python finds them at home.

Imports are followed, also those by name (`import_module`, `python -m`), through the folders that
the code adds to `sys.path`, and so are the files that cells start (`%run`, `!python`). Only text
travels, unchanged, so that a reader of the pushed notebook sees the code that ran. Binary files are
refused.
"""

import ast
import base64
import contextlib
import json
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from kernelkit import image, project
from kernelkit.errors import KernelkitError, PreflightError
from kernelkit.files import is_file
from kernelkit.notebook import document, magics, search_path
from kernelkit.notebook.modules import (
    File,
    files_started,
    files_written,
    imported,
    left_out,
    package_files,
    parsed,
    text_of,
)
from kernelkit.project import Project

EVALUATION = "kaggle_evaluation"  # which a competition brings
STARTED = (".py", ".ipynb", ".sh")  # files that travel when a cell starts them
OUTSIDE = (
    "it lies outside the repository, at {}: copy it into the repository, or attach it as a dataset "
    "(kernelkit upload FOLDER) and add the dataset's folder to sys.path"
)


@dataclass
class Carried:
    """What a bundle carries, and what it leaves here.

    `files` are sorted by path; `places` says where each lies here; `beside` are those that the
    session needs in its own folder, because cells start them there. `stays` are the modules that
    cannot be sent, with reasons; `from_sources` those that an attached source brings, about which
    `notes` says so; `writes` are differences between what cells write and files here.
    """

    files: list[File] = field(default_factory=list)
    places: dict[str, Path] = field(default_factory=dict)
    beside: list[str] = field(default_factory=list)
    stays: dict[str, str] = field(default_factory=dict)
    from_sources: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)

    def add(self, files: Iterable[File], parent: Path) -> None:
        """Carry these files, whose paths are relative to `parent`."""
        for file in files:
            if file.path not in self.places:
                self.files.append(file)
                self.places[file.path] = parent / file.path


def carried(
    notebook: Path, project: Project, cells: Mapping[str, str], *, attached: Collection[str] = ()
) -> Carried:
    """What to bundle with a notebook whose code `cells` are {place: source}.

    `attached`: the kinds of the kernel's sources. With any, modules which the code looks for below
    /kaggle/input come from them. Raises `PreflightError` for an unreadable package of the project.
    """
    found = Carried()
    sources = list(cells.values())
    for package in project.packages:
        folder = project.package_folder(package)
        files = reached(sources, package_files(folder, project.leave_out), folder.name)
        found.add(files, folder.parent)
    if project.beside:  # this notebook carries the one that runs
        inner = document.read_json(project.beside)["cells"]
        code = (cell for cell in inner if cell["cell_type"] == "code")
        sources = list(map(document.cell_source, code))
        cells = {f"{project.beside.name}[{number}]": text for number, text in enumerate(sources)}
    _Search(project.beside or notebook, project, cells, found, attached=attached).run()
    found.files.sort(key=_order(project))
    return found


def _order(project: Project) -> Callable[[File], tuple[int, str]]:
    """The key to sort by: the project's packages first, as they are listed."""
    packages = [*project.packages]

    def key(file: File) -> tuple[int, str]:
        top = file.path.partition("/")[0]
        return (packages.index(top) if top in packages else len(packages), file.path)

    return key


class _Search:
    """A search for the modules and files of a notebook that are not in a project's packages."""

    def __init__(
        self,
        notebook: Path,
        owner: Project,
        cells: Mapping[str, str],
        found: Carried,
        *,
        attached: Collection[str],
    ) -> None:
        self.notebook = notebook
        self.project = owner
        self.cells = cells
        self.found = found
        self.attached = attached
        self.here = notebook.resolve().parent
        self.top = project.repository(self.here)
        own = owner.root.resolve()
        if not (self.top / ".git").exists() and self.here.is_relative_to(own):
            self.top = own
        self.first: list[Path] = []
        self.last: list[Path] = []
        self.elsewhere = ""  # sources that look for modules where nothing is known of here
        self.seen = set(owner.packages)
        self.written = _written(cells)
        # Of files that cells start: Python looks there first for what these import. The image's
        # modules come before them here, because the cells would get these modules, too.
        self.started_in: list[Path] = []
        self.listed: dict[Path, list[str]] = {}

    @property
    def roots(self) -> list[Path]:
        """The folders to look in, in Python's order."""
        return list(dict.fromkeys([*self.first, self.here, *self.last]))

    def run(self) -> None:
        """Follow what the cells need until nothing new is found."""
        script = self.notebook.resolve() if self.notebook.suffix == ".py" else None
        waiting = [(text, script) for text in self.cells.values()]
        packages = [file for file in self.found.files if file.path.endswith(".py")]
        waiting += [(file.text, self.found.places[file.path]) for file in packages]
        for name, (text, _, _) in self.written.items():
            if text and name.endswith(".py"):
                waiting.append((text, None))
        for text, file in waiting:  # all of them first: a later cell may use an earlier one's path
            self._look_for_folders(text, file)
        while waiting:
            text, _ = waiting.pop(0)
            for name in sorted(imported(text)):
                waiting += self._module(name)
            for path in files_started(text):
                waiting += self._started(path)
        self._compare_written()

    def _look_for_folders(self, text: str, file: Path | None) -> None:
        if not search_path.may_add(text):
            return
        added = search_path.additions(parsed(text), self.here, file, self.top)
        for folder, first in added.folders:
            if folder in self.roots or not _is_own_folder(folder):
                continue
            if first:
                self.first.insert(0, folder)
            else:
                self.last.append(folder)
        if added.elsewhere:
            self.elsewhere += f"{text}\n"

    def _found_module(self, name: str, root: Path, module: Path) -> list[tuple[str, Path | None]]:
        """Carry the module of a dotted name, whose top lies at `module` in the folder `root`."""
        top = name.partition(".")[0]
        if module.suffix == ".so":
            self.found.stays[top] = _not_text(module)
            return []
        if top in self.seen and name != top:
            return []  # carried whole
        self.seen.add(top)
        return self._carry(top, root, module)

    def _module(self, name: str) -> list[tuple[str, Path | None]]:
        """Carry the module of a dotted name; returns the new files to follow."""
        top = name.partition(".")[0]
        if name in self.seen or top in magics.LOADED or top in self.project.packages:
            return []
        self.seen.add(name)
        for root in self.roots:
            module = self._in_folder(top, root)
            if module is not None:
                return self._found_module(name, root, module)
        if top in sys.stdlib_module_names or top in image.MODULES["cpu"]:
            return []  # a regular package comes before a folder without __init__.py
        for root in self.started_in:
            module = self._in_folder(top, root)
            if module is not None:
                return self._found_module(name, root, module)
        new: list[tuple[str, Path | None]] = []
        for root in self.roots:
            if (root / top).is_dir():
                new += self._portion(name, root)
        return new

    def _in_folder(self, top: str, root: Path) -> Path | None:
        """The file of a top-level module in a folder, which is listed once for all modules."""
        if root not in self.listed:
            self.listed[root] = []
            with contextlib.suppress(OSError):  # no folder, or one that this account may not read
                self.listed[root] = [path.name for path in root.iterdir()]
        names = self.listed[root]
        if top in names and (root / top / "__init__.py").is_file():
            return root / top / "__init__.py"
        if f"{top}.py" in names and (root / f"{top}.py").is_file():
            return root / f"{top}.py"
        binaries = [name for name in names if name.startswith(f"{top}.") and name.endswith(".so")]
        return root / binaries[0] if binaries else None

    def _carry(self, top: str, root: Path, path: Path) -> list[tuple[str, Path | None]]:
        """Carry a package whole, or a single file."""
        if not root.is_relative_to(self.top):
            self.found.stays[top] = OUTSIDE.format(root / top)
            return []
        if self._is_kaggles_own(top):
            copy = path.parent if path.stem == "__init__" else path
            self.found.notes.append(
                f"{self.project.name(copy)} is not bundled, because the session has Kaggle's own "
                f"{top}"
            )
            return []
        if self._comes_from_source(top):
            self.found.from_sources.append(top)
            place = path.parent if path.stem == "__init__" else path
            self.found.notes.append(
                f"{self.project.name(place)} is not bundled, because the code looks for it below "
                "/kaggle/input: an attached source, or what it fetches itself, must provide it"
            )
            return []
        try:
            if path.stem == "__init__":
                files = package_files(root / top, self.project.leave_out)
            elif left_out(path.name, self.project.leave_out):
                return []
            else:
                files = [File(path.name, text_of(path))]
        except PreflightError as refusal:
            self.found.stays[top] = str(refusal)  # in part, it would hide a complete one
            return []
        return self._take(files, root)

    def _portion(self, name: str, root: Path) -> list[tuple[str, Path | None]]:
        """Carry what a dotted name reaches in a folder without `__init__.py`."""
        parts = name.split(".")
        folder = root / parts[0]
        files = list[Path]()
        if not root.is_relative_to(self.top):
            if any(folder.rglob("*.py")):
                self.found.stays[parts[0]] = OUTSIDE.format(folder)
            return []
        for part in parts[1:]:
            if part in ("*", "**"):
                files += folder.rglob("*.py") if part == "**" else []
                break
            folder /= part
            files += [folder.with_suffix(".py"), folder / "__init__.py"]
            if (folder / "__init__.py").is_file():
                files += folder.rglob("*.py")
        there = sorted({path for path in files if path.is_file()})
        texts = []
        for path in there:
            relative = path.relative_to(root).as_posix()
            if not left_out(relative, self.project.leave_out):
                try:
                    texts.append(File(relative, text_of(path)))
                except PreflightError as refusal:
                    self.found.stays[parts[0]] = str(refusal)
        return self._take(texts, root)

    def _started(self, path: str) -> list[tuple[str, Path | None]]:
        """Carry a file that a cell starts in the session's folder."""
        relative = PurePosixPath(path)
        place = self.here / relative
        known = str(relative) in self.found.beside
        if not path.endswith(STARTED) or known or relative.is_absolute():
            return []
        if not is_file(place):
            return []
        if place.resolve() == self.notebook.resolve():
            return []
        if ".." in relative.parts:
            self.found.stays[path] = (
                "a cell starts it, and it lies above the notebook's folder, where a session cannot "
                "have it: move it beside the notebook, or import it as a module"
            )
            return []
        name = str(relative)
        if name in self.written or left_out(name, self.project.leave_out):
            return []
        try:
            file = File(name, text_of(place))
        except PreflightError as refusal:
            self.found.stays[name] = str(refusal)
            return []
        self.found.beside.append(name)
        if place.suffix == ".py":
            self.started_in.append(place.parent)
        if place.suffix == ".ipynb":
            self.found.add([file], self.here)
            try:
                cells = document.read_json(place)["cells"]
            except KernelkitError:
                return []
            return [(document.cell_source(c), None) for c in cells if c["cell_type"] == "code"]
        return self._take([file], self.here)

    def _take(self, files: Iterable[File], root: Path) -> list[tuple[str, Path | None]]:
        taken = [
            file
            for file in files
            if file.path not in self.found.places and file.path not in self.written
        ]
        self.found.add(taken, root)
        new = [(file.text, root / file.path) for file in taken if file.path.endswith(".py")]
        for text, file in new:
            self._look_for_folders(text, file)
        return [*new]

    def _is_kaggles_own(self, module: str) -> bool:
        """Whether the session brings this module of Kaggle's, of which the code has a copy here."""
        if module == EVALUATION:
            return "competition" in self.attached
        return module.startswith("kaggle_") and module in image.KAGGLES_OWN & image.MODULES["cpu"]

    def _comes_from_source(self, module: str) -> bool:
        """Whether code that adds folders of a session to `sys.path` names the module there."""
        if not self.attached or "/kaggle/input" not in self.elsewhere:
            return False
        constants = (n for n in ast.walk(parsed(self.elsewhere)) if isinstance(n, ast.Constant))
        texts = (node.value for node in constants if isinstance(node.value, str))
        return any(PurePosixPath(text).name == module for text in texts)

    def _compare_written(self) -> None:
        """Note where what cells write differs from a file here of the same name."""
        for name, (text, place, begun) in self.written.items():
            path = self.here / name
            if not name.endswith(STARTED) or not is_file(path):
                continue  # another file of that name here may be what a run left
            here = path.read_text("utf-8", "replace")
            if text is None:
                self.found.writes.append(
                    f"{place} writes {name}, and a file of that name lies here: the session uses "
                    "what the cell writes"
                )
            elif not begun:
                self.found.writes.append(
                    f"{place} appends to {name}, and the session has no such file before: write "
                    "all of it in cells, or give it another name than the file here"
                )
            elif here.rstrip() != text.rstrip():
                self.found.writes.append(
                    f"{place} writes {name}, which differs from the file of that name here: the "
                    "session uses what the cell writes"
                )
        folders = {name.partition("/")[0] for name in self.written if "/" in name}
        for top in sorted(folders):
            rest = [file.path for file in self.found.files if file.path.startswith(f"{top}/")]
            if rest:
                self.found.stays[top] = (
                    f"cells write a part of it, and the bundle has {rest[0]}: Python looks in one "
                    "of the two folders only. Write the whole package in cells, or none of it"
                )


def _written(cells: Mapping[str, str]) -> dict[str, tuple[str | None, str, bool]]:
    """What cells write into the session's folder: {path: (text, last cell, begun by a cell)}.

    The text is None where it is known only when the cell runs.
    """
    written: dict[str, tuple[str | None, str, bool]] = {}
    for place, source in cells.items():
        for path in files_written(source):
            written[_in_session(path)] = (None, place, True)
        file = magics.written(source)
        if file is None:
            continue
        name = _in_session(file.path)
        before, _, begun = written.get(name, (None, "", False))
        if file.appended and name in written:
            text = None if before is None else before + file.text
            written[name] = (text, place, begun)
        else:
            written[name] = (file.text, place, not file.appended)
    return written


def _in_session(path: str) -> str:
    """A path as it is below the session's folder."""
    return str(PurePosixPath(path.removeprefix("/kaggle/working/")))


def _is_own_folder(folder: Path) -> bool:
    """Whether a folder is one of the user's own, and not of an environment of Python."""
    return not {"site-packages", "dist-packages"}.intersection(folder.parts)


def _not_text(path: Path) -> str:
    try:
        text_of(path)
    except PreflightError as refusal:
        return str(refusal)
    return f"{path} is not Python"


def reached(sources: Iterable[str], files: Sequence[File], package: str) -> list[File]:
    """The files of `package` that code with these `sources` imports, directly or indirectly.

    A data file is included with the package or subpackage whose folder holds it. If no source
    imports the package by name, everything is included, because the use cannot be determined.
    Keeps the order of `files`.
    """
    by_module = {file.module: file for file in files if file.path.endswith(".py")}
    waiting = [name for source in sources for name in imported(source)]
    if not any(name.split(".")[0] == package for name in waiting):
        return list(files)
    modules: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name.endswith(".**"):  # its modules' names are made up while it runs
            below = name.removesuffix("**")
            waiting += [module for module in by_module if module.startswith(below)]
        elif name.endswith(".*") and (star := by_module.get(name[:-2])):
            waiting += [f"{name[:-1]}{each}" for each in exported(star.text)]
        parts = name.split(".")
        # Importing a.b.c runs a and a.b first; the last part may be a name inside a module.
        for module in (".".join(parts[:depth]) for depth in range(1, len(parts) + 1)):
            file = by_module.get(module)
            if file is not None and module not in modules:
                modules.add(module)
                waiting += imported(file.text, file.home)

    def holder(file: File) -> str:
        """The module that a file is, or the nearest package above it."""
        name = file.module if file.path.endswith(".py") else file.home
        while name and name not in by_module:
            name = name.rpartition(".")[0]
        return name

    return [file for file in files if holder(file) in modules]


def exported(source: str) -> list[str]:
    """The names in the literal that a module assigns to `__all__`; none without one."""
    for node in ast.walk(parsed(source)):
        match node:
            case ast.Assign(
                [ast.Name("__all__")], ast.List(values) | ast.Tuple(values)
            ) | ast.AugAssign(ast.Name("__all__"), ast.Add(), ast.List(values)):
                constants = (value.value for value in values if isinstance(value, ast.Constant))
                return [str(value) for value in constants]
    return []


def texts_of(cells: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
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
