"""What the design fixes of the whole repository: who imports whom, and that pairs agree."""

import ast
import subprocess
import sys
import time
from collections.abc import Callable, Collection
from pathlib import Path

import jupytext
import nbformat
import pytest
from rooms import ROOMS, UPWARD

from kernelkit import project
from kernelkit.notebooks import document, parameters

ROOT = Path(__file__).parents[1]
PETALS_MAY = {
    "IPython",
    "filelock",
    "h5py",
    "jax",
    "joblib",
    "kaggle_datasets",
    "keras_hub",
    "matplotlib",
    "numpy",
    "petals",
    "PIL",
    "sklearn",
    "tensorflow",
    "threadpoolctl",
}  # h5py comes with keras, joblib and threadpoolctl with sklearn, kaggle_datasets and
# keras_hub with Kaggle's images
SOURCES = {
    path.relative_to(ROOT / "src")
    .with_suffix("")
    .as_posix()
    .replace("/", ".")
    .removesuffix(".__init__"): path
    for path in sorted((ROOT / "src").rglob("*.py"))
}
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.py"))
TOOLS = sorted((ROOT / "tools").glob("[!_]*.py"))


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.add((node.module or "").split(".")[0])
    return found


def offending(package: str, wrong: Callable[[Path], set[str]]) -> dict[str, set[str]]:
    """The modules of a package that import something wrong, and what."""
    paths = [path for name, path in SOURCES.items() if name.split(".")[0] == package]
    assert len(paths) > 30
    return {str(path.relative_to(ROOT)): found for path in paths if (found := wrong(path))}


def test_petals_imports_what_kaggles_images_hold():
    allowed = PETALS_MAY | set(sys.stdlib_module_names)
    assert offending("petals", lambda path: imports(path) - allowed) == {}


def test_kernelkit_imports_neither_petals_nor_keras():
    barred = {"petals", "tensorflow", "keras", "jax"}
    assert offending("kernelkit", lambda path: imports(path) & barred) == {}


def test_local_kaggle_imports_neither_of_the_others():
    barred = {"petals", "kernelkit", "tensorflow"}
    assert offending("local_kaggle", lambda path: imports(path) & barred) == {}


def test_kernelkit_imports_the_local_kaggles_public_names_lazily_in_one_module():
    found = {
        name: (node.module, isinstance(node, ast.ImportFrom) and node.col_offset > 0)
        for name, path in SOURCES.items()
        if name.startswith("kernelkit.")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom) and "local_kaggle" in ast.unparse(node)
    }
    assert found == {"kernelkit.workspace.rehearsal": ("local_kaggle", True)}


def test_out_of_time_is_one_word_on_both_sides_of_the_wall():
    written = [
        (name.split(".")[0], ast.literal_eval(node.value))
        for name, path in SOURCES.items()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "OUT_OF_TIME"
    ]
    assert sorted(written) == [("kernelkit", "time limit"), ("petals", "time limit")]


def room(module: str) -> str:
    """The longest name of a room that leads to a module."""
    while module not in ROOMS:
        module = module.rpartition(".")[0]
    return module


def imported(module: str, source: str, modules: Collection[str]) -> set[str]:
    """The modules of this repository that a source imports, lazily ones too."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} imports relatively: write the whole name"
            names = [
                inner if (inner := f"{node.module}.{alias.name}") in modules else str(node.module)
                for alias in node.names
            ]
        found |= {
            name for name in names if name.split(".")[0] in ("petals", "kernelkit", "local_kaggle")
        }
    return found


def upward(module: str, source: str, modules: Collection[str]) -> list[str]:
    """The imports of a module that its room's line in the table does not allow."""
    own = room(module)
    return sorted(
        other
        for other in imported(module, source, modules)
        if "." in other  # a package itself holds its version and nothing else
        and room(other) not in (own, *ROOMS[own])
        and (module, other) not in UPWARD
    )


def test_imports_run_downward():
    found = {name: upward(name, path.read_text(), SOURCES) for name, path in SOURCES.items()}
    assert {name: others for name, others in found.items() if others} == {}


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("petals.data.pipeline", "def f():\n    from petals.training.head import train_head"),
        ("petals.models.build", "import petals.evaluation.prediction"),
        ("kernelkit.run_folders.run_folder", "def f():\n    import kernelkit.kaggle_api.client"),
        ("kernelkit.sweep.workers.engine", "from kernelkit.sweep.backends import on_kaggle"),
    ],
)
def test_an_upward_import_is_caught(module, source):
    assert upward(module, source, SOURCES)


def test_the_rooms_stand_on_floors():
    """The table itself runs in no circle, so that `below` means below."""
    standing: set[str] = set()
    while floor := {r for r in ROOMS if r not in standing and ROOMS[r] <= standing}:
        standing |= floor
    assert set(ROOMS) - standing == set()


def test_every_room_is_there():
    assert [name for name in ROOMS if name not in SOURCES] == []


def test_the_init_of_a_room_is_its_docstring():
    packages = [name for name, path in SOURCES.items() if path.name == "__init__.py"]
    assert len(packages) > 20
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
            waiting += imported(module, SOURCES[module].read_text(), SOURCES)
    assert "kernelkit.running.run_notebook" in reached
    barred = ("kernelkit.pushes", "kernelkit.checks", "kernelkit.kaggle_api", "local_kaggle")
    assert [module for module in reached if module.startswith(barred)] == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_both_halves_of_a_notebook_agree(path):
    script, notebook = jupytext.read(path), nbformat.read(path.with_suffix(".ipynb"), as_version=4)
    assert [(c.cell_type, c.source) for c in script.cells] == [
        (c.cell_type, c.source) for c in notebook.cells
    ], f"run: jupytext --sync {path.relative_to(ROOT)}"
    assert [document.has_tag(c, "parameters") for c in script.cells] == [
        document.has_tag(c, "parameters") for c in notebook.cells
    ]
    assert not any(cell.get("outputs") for cell in notebook.cells)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_is_an_article(path):
    notebook = document.read(path)
    assert sum(cell.cell_type == "code" for cell in notebook.cells) <= 25
    assert notebook.cells[0].source.startswith("# ")
    for cell in notebook.cells:
        if cell.cell_type == "code":
            for node in ast.walk(ast.parse(cell.source)):
                if isinstance(node, ast.FunctionDef):
                    assert node.end_lineno - node.lineno < 10, node.name
    cell = document.parameters_cell(notebook).source
    declared = parameters.declared(cell, project.find_project(path))
    assert all(p.comment for p in declared.values()), "every parameter has its comment"
    for parameter in declared.values():
        parameter.check(parameter.default)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_every_figure_is_shown_in_its_cell(path):
    """Jupyter shows a cell's last line alone; any other figure has to be displayed."""
    for cell in document.read(path).cells:
        tree = ast.parse(cell.source) if cell.cell_type == "code" else ast.Module([], [])
        shown = {
            id(node) for call in ast.walk(tree) if _calls(call, "display") for node in call.args
        }
        shown |= {id(node.value) for node in tree.body[-1:] if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            assert not _calls(node, "figure") or id(node) in shown, ast.unparse(node)


def _calls(node, name):
    named = getattr(node, "func", None)
    return name in (getattr(named, "id", ""), getattr(named, "attr", ""))


@pytest.mark.parametrize("path", TOOLS, ids=lambda p: p.stem)
def test_every_tool_answers_help_at_once(path):
    seconds = []
    command = [sys.executable, "-X", "importtime", str(path), "--help"]
    for _ in range(3):  # again where it was slow: other tests run beside this one
        begun = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True)
        seconds.append(time.monotonic() - begun)
        assert done.returncode == 0
        assert "Usage: " in done.stdout
        if seconds[-1] < 2:
            break
    assert "click" in done.stderr  # the modules that were imported
    assert "tensorflow" not in done.stderr
    assert min(seconds) < 2, "half a second on an idle machine"
