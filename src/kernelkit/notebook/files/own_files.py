"""The files of a repository that a notebook needs, found by one rule, as Python does at home.

- A module is looked for beside the notebook, and in the folders that the code adds to `sys.path`
  as a literal, by `__file__`, `abspath("..")` or `cwd()`. A package found there is needed whole.
- `packages` of [tool.kernelkit] is for the rest. One of these is needed as far as imports reach
  into it. It is needed whole if nothing imports it, or if any code imports a module by a name that
  is no literal, because such names are not followed.
- Files that cells start (`%run`, `!python`) are needed, too, beside the notebook.

Files are text, unchanged, so that a reader of a pushed notebook sees the code that ran.
"""

import contextlib
import hashlib
import json
import sys
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import kernelkit
from kernelkit import image
from kernelkit.errors import KernelkitError, PreflightError
from kernelkit.files import is_file
from kernelkit.git import in_repository
from kernelkit.notebook import document
from kernelkit.notebook.code.reading import Program, read
from kernelkit.notebook.code.records import Reading
from kernelkit.notebook.files.modules import File, Package, left_out, package_files, text_of
from kernelkit.notebook.language import python
from kernelkit.notebook.language.shell import STARTED
from kernelkit.project import Project, repository

EVALUATION = "kaggle_evaluation"  # which a competition brings
OUTSIDE = (
    "it lies outside the repository, at {}: copy it into the repository, or attach it as a dataset "
    "(kernelkit upload FOLDER) and add the dataset's folder to sys.path"
)


@dataclass
class OwnFiles:
    """What a notebook needs of its repository, and what of that cannot travel.

    files      the files, sorted by path
    places     where each of them lies here, by its path
    modules    the top-level names of those that are imported
    beside     the paths of those that cells start, in the folder that they run in
    stays      modules and files that cannot travel, and why
    notes      what else is to be said about the files
    elsewhere  modules that the code needs and that lie in the repository where the rule does not
               reach, each with its file
    """

    files: list[File] = field(default_factory=list)
    places: dict[str, Path] = field(default_factory=dict)
    modules: set[str] = field(default_factory=set)
    beside: list[str] = field(default_factory=list)
    stays: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    elsewhere: dict[str, Path] = field(default_factory=dict)

    def add(self, files: Iterable[File], parent: Path) -> list[File]:
        """Take these files, whose paths are relative to `parent`; returns those that are new."""
        new = [file for file in files if file.path not in self.places]
        for file in new:
            self.files.append(file)
            self.places[file.path] = parent / file.path
        return new


def own_files(
    notebook: Path,
    project: Project,
    program: Program,
    *,
    attached: Collection[str] = (),
) -> OwnFiles:
    """The files of its repository that a notebook needs, whose code is `program`.

    `attached`: the kinds of the kernel's sources; a competition brings Kaggle's own module. Raises
    `PreflightError` for an unreadable package of the project.
    """
    search = _Search(notebook, project, program, attached)
    search.run()
    search.found.files.sort()
    return search.found


def fingerprint(notebook: Path, cells: Iterable[str], project: Project) -> str:
    """A hash of what a notebook runs: the sources of its code cells, and its own files.

    Raises `PreflightError` for an unreadable package of the project.
    """
    sources = [(f"cell {number}", text.rstrip()) for number, text in enumerate(cells, start=1)]
    files = own_files(notebook, project, Program.of(sources, cells=True)).files
    texts = [text for _, text in sources]
    return hashlib.sha256(json.dumps([texts, files]).encode()).hexdigest()


class _Source(NamedTuple):
    """Code to follow: its own file if it has one, and the package that it is in."""

    reading: Reading
    file: Path | None = None
    home: str = ""


class _Search:
    """A search for the modules and files of a notebook."""

    def __init__(
        self, notebook: Path, project: Project, program: Program, attached: Collection[str]
    ) -> None:
        self.notebook = project.swept_notebook or notebook
        self.project = project
        self.attached = attached
        self.found = OwnFiles()
        self.here = self.notebook.resolve().parent
        self.top = repository(self.here)
        root = project.root.resolve()
        if not (self.top / ".git").exists() and self.here.is_relative_to(root):
            self.top = root
        self.packages: dict[str, Package] = {}
        for package in project.packages:
            folder = project.package_folder(package)
            self.packages[folder.name] = Package(folder, project.leave_out)
        self.roots = [self.here]  # the folders to look in, in this order
        # The folders of the files that cells start. A started file's folder comes first for Python.
        # Here the image's modules go first, because cells would otherwise import these too.
        self.started_in: list[Path] = []
        self.seen: set[str] = set()  # dotted names that were looked for
        self.taken: set[str] = set()  # modules that were found, whole packages among them
        self.unknown: set[str] = set()  # modules that were not found
        self.loads_by_name = False
        self.waiting = self._own(program)

    def _own(self, program: Program) -> list[_Source]:
        """The notebook's code, that of the notebook it is generated from, and the Python files that
        either writes."""
        script = self.notebook.resolve() if self.notebook.suffix == ".py" else None
        sources = [_Source(reading, script) for _, reading in program.sources]
        if self.project.swept_notebook:
            sources += _cells(self.project.swept_notebook)
        for source in list(sources):
            for written in source.reading.writes:
                if written.path.endswith(".py"):
                    sources.append(_Source(read(written.text, cell=False)))
        return sources

    def run(self) -> None:
        """Follow what the code needs until nothing new is found."""
        for source in self.waiting:  # a later cell may use an earlier one's path
            self._look_for_folders(source)
        self._follow()
        for name, package in self.packages.items():
            # The kit loads by name what a sweep's file says, and nothing of its own.
            is_loaded_by_name = self.loads_by_name and name != kernelkit.__name__
            if not package.reached or is_loaded_by_name:
                for module in package.by_module:
                    self._reach(package, module)
        self._follow()
        for package in self.packages.values():
            self.found.add(package.needed(), package.parent)
        self._look_elsewhere()

    def _follow(self) -> None:
        while self.waiting:
            source = self.waiting.pop(0)
            is_kit = source.home.partition(".")[0] == kernelkit.__name__
            self.loads_by_name |= source.reading.loads_by_name and not is_kit
            for each in source.reading.imports:
                name = each.absolute(source.home)
                if name:
                    self._module(name)
            for start in source.reading.starts:
                if start.module:
                    self._module(start.module)
                    self._module(f"{start.module}.__main__")
                if start.file:
                    self._started(start.file)

    def _look_for_folders(self, source: _Source) -> None:
        for folder in source.reading.folders:
            if folder is None:
                continue
            if not folder.by_file:
                place = self.here / folder.path
            elif source.file:
                place = source.file.parent / folder.path
            else:  # a cell, which has no file
                continue
            with contextlib.suppress(OSError, ValueError, RuntimeError):
                place = place.expanduser().resolve()
                if place not in self.roots and place.is_dir() and _is_own_folder(place):
                    self.roots.append(place)

    # Modules.

    def _module(self, name: str) -> None:
        """Take the module of a dotted name from the first place that has it.

        The places are the project's packages, what a kernel has loaded, the folders on the search
        path, the standard library and the image, the folders of files that cells start, and at last
        folders without `__init__.py`, for which Python prefers a package that is a whole one.
        """
        top = name.partition(".")[0]
        if top in self.packages:
            self.found.modules.add(top)
            self._reach(self.packages[top], name)
            return
        if name in self.seen or top in self.taken or top in python.LOADED:
            return
        self.seen.add(name)
        for root in self.roots:
            if self._take_module(top, root):
                return
        if top in sys.stdlib_module_names or top in image.MODULES["cpu"]:
            return
        for root in self.started_in:
            if self._take_module(top, root):
                return
        for root in self.roots:
            self._take_portion(name, root)
        if top not in self.found.modules and top not in self.found.stays:
            self.unknown.add(top)

    def _reach(self, package: Package, name: str) -> None:
        for file in package.reach(name):
            place = package.parent / file.path
            self._wait_for(_Source(read(file.text, cell=False), place, file.home))

    def _wait_for(self, source: _Source) -> None:
        self._look_for_folders(source)
        self.waiting.append(source)

    def _take_module(self, top: str, root: Path) -> bool:
        """Take the file or the whole package of this name from a folder; whether it has one."""
        for path in (root / top / "__init__.py", root / f"{top}.py"):
            if is_file(path):
                self._carry(top, root, path)
                self.taken.add(top)
                return True
        return False

    def _carry(self, top: str, root: Path, path: Path) -> None:
        if not root.is_relative_to(self.top):
            self.found.stays[top] = OUTSIDE.format(root / top)
            return
        if self._is_kaggles_own(top):
            copy = path.parent if path.stem == "__init__" else path
            note = (
                f"{self.project.name(copy)} is not bundled, because the session has Kaggle's own "
                f"{top}"
            )
            if note not in self.found.notes:
                self.found.notes.append(note)
            return
        try:
            if path.stem == "__init__":
                files = package_files(root / top, self.project.leave_out)
            elif left_out(path.name, self.project.leave_out):
                return
            else:
                files = [File(path.name, text_of(path))]
        except PreflightError as refusal:
            self.found.stays[top] = str(refusal)  # in part, it would hide a complete one
            return
        self.found.modules.add(top)
        self._take(files, root)

    def _take_portion(self, name: str, root: Path) -> None:
        """Take what a dotted name reaches in a folder without `__init__.py`."""
        parts = name.split(".")
        folder = root / parts[0]
        if not folder.is_dir():
            return
        if not root.is_relative_to(self.top):
            if any(folder.rglob("*.py")):
                self.found.stays[parts[0]] = OUTSIDE.format(folder)
            return
        files = []
        for path in _portion(folder, parts[1:]):
            relative = path.relative_to(root).as_posix()
            if left_out(relative, self.project.leave_out):
                continue
            try:
                if path.is_dir():
                    files += package_files(path, self.project.leave_out, root)
                else:
                    files.append(File(relative, text_of(path)))
            except PreflightError as refusal:
                self.found.stays[parts[0]] = str(refusal)
        if files:
            self.found.modules.add(parts[0])
        self._take(files, root)

    def _take(self, files: Iterable[File], root: Path) -> None:
        for file in self.found.add(files, root):
            if file.path.endswith(".py"):
                reading = read(file.text, cell=False)
                self._wait_for(_Source(reading, root / file.path, file.home))

    def _is_kaggles_own(self, module: str) -> bool:
        """Whether the session brings this module of Kaggle's, of which the code has a copy here."""
        if module == EVALUATION:
            return "competition" in self.attached
        return module.startswith("kaggle_") and module in image.KAGGLES_OWN & image.MODULES["cpu"]

    def _look_elsewhere(self) -> None:
        """Note where the repository has the modules that were not found."""
        wanted = sorted(self.unknown - image.KAGGLES_OWN)
        patterns = []
        for name in wanted:
            patterns += [f"{name}.py", f"{name}/__init__.py"]
        if not patterns:
            return
        for path in in_repository(self.top, patterns):
            name = path.parent.name if path.stem == "__init__" else path.stem
            if name in wanted and path.resolve() != self.notebook.resolve():
                self.found.elsewhere.setdefault(name, path)

    # Files that cells start.

    def _started(self, path: str) -> None:
        """Take a file that a cell starts in the folder that it runs in."""
        relative = PurePosixPath(path)
        place = self.here / relative
        name = str(relative)
        if relative.is_absolute() or not path.endswith(STARTED) or name in self.found.beside:
            return
        if not is_file(place) or place.resolve() == self.notebook.resolve():
            return
        if ".." in relative.parts:
            self.found.stays[path] = (
                "a cell starts it, and it lies above the notebook's folder, where a session cannot "
                "have it: move it beside the notebook, or import it as a module"
            )
            return
        if left_out(name, self.project.leave_out):
            return
        try:
            file = File(name, text_of(place))
        except PreflightError as refusal:
            self.found.stays[name] = str(refusal)
            return
        self.found.beside.append(name)
        if place.suffix == ".py":
            self.started_in.append(place.parent)
            self._take([file], self.here)
            return
        self.found.add([file], self.here)
        if place.suffix == ".ipynb":
            with contextlib.suppress(KernelkitError):
                for source in _cells(place):
                    self._wait_for(source)


def _cells(notebook: Path) -> list[_Source]:
    """The code cells of another notebook."""
    cells = document.code_cells(document.read_json(notebook)["cells"])
    return [_Source(read(cell.source, cell=True)) for cell in cells]


def _portion(folder: Path, parts: Iterable[str]) -> list[Path]:
    """The Python files that these parts of a dotted name reach below a folder.

    The first part with an `__init__.py` is a package, which is reached whole: its folder is the
    last of them.
    """
    found: list[Path] = []
    for part in parts:
        folder /= part
        if (folder / "__init__.py").is_file():
            return [*found, folder]
        module = folder.with_suffix(".py")
        if module.is_file():
            found.append(module)
    return found


def _is_own_folder(folder: Path) -> bool:
    """Whether a folder is one of the user's own, and not of an environment of Python."""
    return not {"site-packages", "dist-packages"}.intersection(folder.parts)
