"""What the design fixes of the whole repository: who imports whom, and what starts at once."""

import ast
import re
import subprocess
import sys
from collections import defaultdict
from functools import cache
from graphlib import CycleError, TopologicalSorter

import pytest
from checkouts import ROOT
from rooms import ROOMS, UPWARD

PETALS_MAY = {
    "IPython",
    "filelock",
    "h5py",
    "jax",
    "kaggle_datasets",
    "keras_hub",
    "matplotlib",
    "numpy",
    "petals",
    "PIL",
    "scipy",
    "sklearn",
    "tensorflow",
    "threadpoolctl",
}  # h5py comes with keras, scipy and threadpoolctl with sklearn, kaggle_datasets and
# keras_hub with Kaggle's images
SOURCES = {
    path.relative_to(ROOT / "src")
    .with_suffix("")
    .as_posix()
    .replace("/", ".")
    .removesuffix(".__init__"): path
    for path in sorted((ROOT / "src").rglob("*.py"))
}
TOOLS = sorted((ROOT / "tools").glob("[!_]*.py"))


PACKAGES = ("petals", "kernelkit", "local_kaggle")


@cache
def parsed(source: str) -> list[ast.AST]:
    """All nodes of a source."""
    return list(ast.walk(ast.parse(source)))


@cache
def imported(source: str) -> frozenset[str]:
    """The modules that a source imports, lazily ones too."""
    found: set[str] = set()
    for node in parsed(source):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"write the whole name: {ast.unparse(node)}"
            inner = {alias.name: f"{node.module}.{alias.name}" for alias in node.names}
            found.update(i if i in SOURCES else str(node.module) for i in inner.values())
    return frozenset(found)


@pytest.mark.parametrize("name", [n for n in SOURCES if n.startswith("kernelkit")])
def test_nothing_but_the_notebook_room_reads_the_code_of_people(name):
    if name.startswith("kernelkit.notebook"):
        return
    readers = {"ast", "tokenize", "symtable", "inspect"}
    readers |= {"kernelkit.notebook.language.syntax", "kernelkit.notebook.code.noting.visitor"}
    assert readers.isdisjoint(imported(SOURCES[name].read_text()))


def test_checks_match_no_patterns_but_in_names_and_sentences():
    users = {
        name
        for name in SOURCES
        if name.startswith("kernelkit.push.checks.") and "re" in imported(SOURCES[name].read_text())
    }
    assert users == {
        "kernelkit.push.checks.annotations",  # the place that a finding's sentence names
        "kernelkit.push.checks.kernel_settings",  # ids and sources of the metadata
    }


def of_this_repository(source: str) -> set[str]:
    """The modules of this repository that a source imports."""
    return {name for name in imported(source) if name.split(".")[0] in PACKAGES}


def packages_imported_by(package: str) -> set[str]:
    texts = [path.read_text() for name, path in SOURCES.items() if name.split(".")[0] == package]
    assert texts
    return {name.split(".")[0] for text in texts for name in imported(text)}


def test_petals_imports_what_kaggles_images_hold():
    assert packages_imported_by("petals") <= PETALS_MAY | set(sys.stdlib_module_names)


def test_each_package_imports_neither_of_the_others_but_for_rehearsals():
    assert packages_imported_by("kernelkit") & {"petals", "tensorflow", "keras", "jax"} == set()
    barred = {"petals", "kernelkit", "tensorflow"}
    assert packages_imported_by("local_kaggle") & barred == set()
    lines = {
        (name, bool(indent), module)
        for name, path in SOURCES.items()
        if name.startswith("kernelkit.")
        for indent, module in re.findall(
            r"^( *)(?:from|import) (local_kaggle\S*)", path.read_text(), re.M
        )
    }
    assert lines == {("kernelkit.rehearsal.stand_in", True, "local_kaggle")}


def test_out_of_time_is_one_word_on_both_sides_of_the_wall():
    written = [
        (name.split(".")[0], word)
        for name, path in SOURCES.items()
        for word in re.findall(r'^OUT_OF_TIME = "(.+?)"', path.read_text(), re.M)
    ]
    assert sorted(written) == [("kernelkit", "time limit"), ("petals", "time limit")]


def room(module: str) -> str:
    """The longest name of a room that leads to a module."""
    while module not in ROOMS:
        module = module.rpartition(".")[0]
    return module


def test_imports_run_downward():
    upward = {
        (name, other)
        for name, path in SOURCES.items()
        for other in of_this_repository(path.read_text())
        if "." in other  # a package itself holds its version and nothing else
        if room(other) not in (room(name), *ROOMS[room(name)])
    }
    assert upward == UPWARD


def test_the_rooms_stand_on_floors():
    """The table itself runs in no circle, so that `below` means below."""
    standing: set[str] = set()
    while floor := {r for r in ROOMS if r not in standing and ROOMS[r] <= standing}:
        standing |= floor
    assert set(ROOMS) - standing == set()


def test_no_modules_import_each_other_in_a_circle():
    imports = {name: of_this_repository(path.read_text()) for name, path in SOURCES.items()}
    TopologicalSorter(imports).prepare()  # raises CycleError, which names the modules


def between_children(imports):
    """What the children of each folder import of each other: {folder: {child: {child, ...}}}.

    A folder's children are its modules and the folders below it, each with all that it holds.
    `imports`: pairs of module names, whose parts say in which folders they lie.
    """
    found = defaultdict(lambda: defaultdict(set))
    for importer, other in imports:
        own, others = importer.split("."), other.split(".")
        shared = 0
        while own[shared : shared + 1] == others[shared : shared + 1] != []:
            shared += 1
        if shared < min(len(own), len(others)):
            folder = ".".join(own[:shared])
            found[folder][own[shared]].add(others[shared])
    return found


def test_no_folders_import_each_other_in_a_circle():
    imports = {
        (name, other)
        for name, path in SOURCES.items()
        for other in of_this_repository(path.read_text())
    }
    for children in between_children(imports - UPWARD).values():
        TopologicalSorter(children).prepare()  # raises CycleError, which names the children


@pytest.mark.parametrize(
    "imports",
    [
        {("house.state", "house.faults.schedule"), ("house.faults.responses", "house.state")},
        {("house.files.pages", "house.wire.calls"), ("house.wire.links", "house.files.storage")},
        {("house.push.checks.a", "house.push.send"), ("house.push.send", "house.push.checks.b")},
    ],
    ids=["module and folder", "two folders", "deeper"],
)
def test_a_circle_of_folders_is_seen_where_the_modules_run_in_none(imports):
    modules = defaultdict(set)
    for importer, other in imports:
        modules[importer].add(other)
    TopologicalSorter(modules).prepare()
    with pytest.raises(CycleError):
        for children in between_children(imports).values():
            TopologicalSorter(children).prepare()


def test_every_room_is_there():
    assert [name for name in ROOMS if name not in SOURCES] == []


def test_the_init_of_a_room_is_its_docstring():
    packages = [name for name, path in SOURCES.items() if path.name == "__init__.py"]
    assert packages
    for package in packages:
        tree = ast.parse(SOURCES[package].read_text())
        assert ast.get_docstring(tree), package
        if package != "local_kaggle":  # the one that other projects import names from
            assert len(tree.body) == 1, package


def test_what_runs_a_sweep_in_a_session_reaches_nothing_of_a_push():
    waiting, reached = ["kernelkit.sweep.backends.in_session"], set()
    while waiting:
        module = waiting.pop()
        if module not in reached:
            reached.add(module)
            waiting += of_this_repository(SOURCES[module].read_text())
    assert "kernelkit.running.run_notebook" in reached
    barred = ("kernelkit.push", "kernelkit.push.checks", "kernelkit.kaggle", "local_kaggle")
    assert [module for module in reached if module.startswith(barred)] == []


@pytest.mark.parametrize("path", TOOLS, ids=lambda p: p.stem)
def test_every_tool_answers_help_without_a_heavy_library(path):
    command = [sys.executable, "-X", "importtime", str(path), "--help"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, "Usage: " in done.stdout) == (0, True)
    loaded = re.findall(r"\| +(\w+)$", done.stderr, re.M)
    assert "click" in loaded
    assert not {"tensorflow", "jax", "keras", "matplotlib", "kaggle", "papermill"} & set(loaded)


def test_the_formatter_decides_every_layout():
    exemption = "# fmt: " + "skip"
    folders = ("src", "tools", "examples", "tests", "notebooks")
    paths = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    assert [str(path) for path in paths if exemption in path.read_text()] == []
