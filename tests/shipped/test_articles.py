"""The notebooks read as articles: short cells between prose, figures that the docs hold."""

import re
from pathlib import Path

import pytest

from kernelkit.notebooks import document
from kernelkit.notebooks.document import PARAMETERS_TAG, has_tag

ROOT = Path(__file__).parents[2]
NAMES = sorted(path.stem for path in (ROOT / "notebooks").glob("*.py"))
ASKED = (
    "How a notebook uses a TPU",
    "Why JAX",
    "What a replica is",
    "Where the photos are",
    "What transfer learning keeps",
    "Why the features are",
    "Second phase: fine-tuning",
    "Why BatchNorm stays frozen",
    "The learning rate over time",
    "Why macro F1 and not accuracy",
    "Which mistakes",
    "What to expect",
    "What to try next",
)


def cells(name, kind):
    notebook = document.read(ROOT / "notebooks" / f"{name}.py")
    return [cell for cell in notebook.cells if cell.cell_type == kind]


def prose(name):
    return "\n\n".join(cell.source for cell in cells(name, "markdown"))


@pytest.mark.parametrize("name", NAMES)
def test_no_code_cell_is_longer_than_fifteen_lines(name):
    code = [cell.source for cell in cells(name, "code") if not has_tag(cell, PARAMETERS_TAG)]

    assert [cell for cell in code if len(cell.splitlines()) > 15] == []


def test_the_first_notebook_has_ten_settings_and_at_most_120_lines_of_code():
    lines = [line for cell in cells("00_first", "code") for line in cell.source.splitlines()]

    assert len([line for line in lines if line and not line.startswith("#")]) <= 120
    parameters = document.parameters_cell(document.read(ROOT / "notebooks" / "00_first.py"))
    assert len(parameters.source.splitlines()) == 10


def test_the_training_notebook_answers_a_reader_s_questions_in_their_order():
    headings = re.findall(r"^##+ (.+)$", prose("02_train"), re.MULTILINE)
    places = [
        next(i for i, heading in enumerate(headings) if heading.startswith(asked))
        for asked in ASKED
    ]

    assert places == sorted(places)


def test_what_to_expect_is_what_the_docs_hold():
    pages = [path.read_text() for path in (ROOT / "docs").rglob("*.md")]
    section = prose("02_train").split("## What to expect")[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("|")]
    cells = [cell for row in rows for cell in row.split("|")[1:]]
    figures = [
        f for cell in cells for f in re.findall(r"(?<![\w.,])(?:\.?\d[\d.,]*\d|\d)(?!\w)", cell)
    ]

    assert len(figures) >= 20
    assert [f for f in figures if not any(f in page for page in pages)] == []
    assert "0.1.0" not in section


@pytest.mark.parametrize("name", NAMES)
def test_files_that_the_prose_names_are_there(name):
    named = re.findall(r"`(?:\S+ )*((?:docs|tools|src|notebooks)/[\w./-]+)", prose(name))

    assert [path for path in named if not (ROOT / path).exists()] == []
