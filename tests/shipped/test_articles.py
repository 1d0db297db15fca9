"""The notebooks read as articles: short cells between prose, figures that the docs hold."""

import ast
import re

import jupytext
import nbformat
import pytest
from checkouts import ROOT

from kernelkit import project
from kernelkit.notebook import document, parameters
from kernelkit.notebook.document import PARAMETERS_TAG, has_tag

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
def test_a_notebook_is_an_article_of_short_cells_that_show_their_figures(path):
    cells = document.read(path).cells
    assert cells[0].source.startswith("# ")
    code = [cell for cell in cells if cell.cell_type == "code"]
    assert len(code) <= 25
    for cell in code:
        assert has_tag(cell, PARAMETERS_TAG) or len(cell.source.splitlines()) <= 15
        tree = ast.parse(cell.source)
        nodes = list(ast.walk(tree))
        # Jupyter shows a cell's last line alone; any other figure has to be displayed.
        shown = [argument for node in nodes if _calls(node, "display") for argument in node.args]
        shown += [node.value for node in tree.body[-1:] if isinstance(node, ast.Expr)]
        for node in nodes:
            assert not _calls(node, "figure") or node in shown, ast.unparse(node)
            if isinstance(node, ast.FunctionDef):
                assert node.end_lineno - node.lineno < 10, node.name


def _calls(node, name):
    function = getattr(node, "func", None)
    return name in (getattr(function, "id", ""), getattr(function, "attr", ""))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_every_parameter_is_explained_and_its_default_allowed(path):
    cell = document.parameters_cell(document.read(path)).source
    for parameter in parameters.declared(cell, project.find_project(path)).values():
        assert parameter.comment
        parameter.check(parameter.default)


def test_the_first_notebook_has_ten_settings_and_at_most_120_lines_of_code():
    path = ROOT / "notebooks/00_first.py"
    lines = [line for source in sources(path, "code") for line in source.splitlines()]
    assert len([line for line in lines if line and not line.startswith("#")]) <= 120
    assert len(document.parameters_cell(document.read(path)).source.splitlines()) == 10


def test_what_to_expect_is_what_the_docs_hold():
    pages = "\n".join(path.read_text() for path in ROOT.glob("docs/**/*.md"))
    section = TRAIN.split("## What to expect")[1].split("\n## ")[0]
    rows = "\n".join(line for line in section.splitlines() if line.startswith("|"))
    figures = re.findall(r"(?<![\w.,])(?:\.?\d[\d.,]*\d|\d)(?!\w)", rows)
    assert len(figures) >= 20
    assert [figure for figure in figures if figure not in pages] == []
