"""The notebooks read as articles: a title, figures that show, numbers that the docs hold."""

import ast
import re

import jupytext
import nbformat
import pytest
from checkouts import ROOT

from kernelkit import project
from kernelkit.notebook import document
from kernelkit.notebook.document import PARAMETERS_TAG, has_tag
from kernelkit.notebook.interface import parameters

NOTEBOOKS = sorted(ROOT.glob("notebooks/*.py"))


def sources(path, kind):
    return [cell.source for cell in document.read(path).cells if cell.cell_type == kind]


TRAIN = "\n\n".join(sources(ROOT / "notebooks/02_train.py", "markdown"))


@pytest.mark.parametrize(
    "path", [*NOTEBOOKS, *sorted(ROOT.glob("examples/*/notebooks/*.py"))], ids=lambda p: p.stem
)
def test_both_halves_of_a_notebook_agree(path):
    script, notebook = (
        [(c.cell_type, c.source, has_tag(c, PARAMETERS_TAG)) for c in half.cells]
        for half in (jupytext.read(path), nbformat.read(path.with_suffix(".ipynb"), as_version=4))
    )
    assert script == notebook, f"run: jupytext --sync {path.relative_to(ROOT)}"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_begins_with_its_title(path):
    assert document.read(path).cells[0].source.startswith("# ")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_shows_every_figure_that_it_draws(path):
    for source in sources(path, "code"):
        tree = ast.parse(source)
        nodes = list(ast.walk(tree))
        # Jupyter shows a cell's last line alone; any other figure has to be displayed.
        shown = [argument for node in nodes if _calls(node, "display") for argument in node.args]
        shown += [node.value for node in tree.body[-1:] if isinstance(node, ast.Expr)]
        for node in nodes:
            assert not _calls(node, "figure") or node in shown, ast.unparse(node)


def _calls(node, name):
    function = getattr(node, "func", None)
    return name in (getattr(function, "id", ""), getattr(function, "attr", ""))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_every_parameter_is_explained_and_its_default_allowed(path):
    declared = parameters.of_notebook(document.read(path), project.find_project(path))
    for parameter in declared.values():
        assert parameter.comment
        parameter.check(parameter.default)


def settled(monkeypatch, on_kaggle=False, **given):
    """The parameters of 00_first as its second code cell leaves them."""
    monkeypatch.delenv("KAGGLE_KERNEL_RUN_TYPE", raising=False)
    if on_kaggle:
        monkeypatch.setenv("KAGGLE_KERNEL_RUN_TYPE", "Batch")
    cell, settling, *_ = sources(ROOT / "notebooks/00_first.py", "code")
    values = {}
    exec(cell, values)
    values |= given
    exec(settling, values)
    names = ("image_size", "width", "epochs", "learning_rate")
    return tuple(values[name] for name in names)


QUICK, FULL = (128, 0.25, 2, 0.001), (192, 1.0, 12, 0.0003)


def test_the_first_notebook_is_quick_at_home_and_full_on_kaggle(monkeypatch):
    assert settled(monkeypatch) == QUICK
    assert settled(monkeypatch, on_kaggle=True) == FULL


def test_the_first_notebook_is_as_quick_as_it_is_told_to_be(monkeypatch):
    assert settled(monkeypatch, quick="no") == FULL
    assert settled(monkeypatch, on_kaggle=True, quick="yes") == QUICK


def test_what_is_set_in_the_first_notebook_goes_before_quick(monkeypatch):
    given = {"image_size": 224, "width": 0.5, "epochs": 0, "learning_rate": 0.01}
    for quick in ("yes", "no"):
        assert settled(monkeypatch, quick=quick, **given) == (224, 0.5, 0, 0.01)


def test_what_to_expect_is_what_the_docs_hold():
    pages = "\n".join(path.read_text() for path in ROOT.glob("docs/**/*.md"))
    section = TRAIN.split("## What to expect")[1].split("\n## ")[0]
    rows = "\n".join(line for line in section.splitlines() if line.startswith("|"))
    figures = re.findall(r"(?<![\w.,])(?:\.?\d[\d.,]*\d|\d)(?!\w)", rows)
    assert len(figures) >= 20
    assert [figure for figure in figures if figure not in pages] == []
