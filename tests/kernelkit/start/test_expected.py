"""A result that a project expects of its runs is a row of the doctor's table."""

import dataclasses
import json
from pathlib import Path

import pytest

from kernelkit import files
from kernelkit.errors import PreflightError
from kernelkit.project import ExpectedResult, find_project
from kernelkit.push.known.ledger import Push
from kernelkit.runs import kit_folder
from kernelkit.start.assumptions import OTHER, SAME, UNTRIED
from kernelkit.start.expected import results

ROW = ExpectedResult("oaks", "accuracy", 0.9, data="oak", parameters={"a": 1})


@pytest.fixture
def pushed(tmp_path):
    def pushed(number, *, state="complete", rehearsal=False, name="public oaks", a=1, **measures):
        folder = tmp_path / str(number)
        folder.mkdir()
        metrics = {"parameters": {"a": a, "b": 2}, "data": {"name": name}, **measures}
        (folder / "metrics.json").write_text(json.dumps(metrics))
        own = {"folder": str(folder), "state": state, "rehearsal": rehearsal}
        return Push("me/k", "content", "git", "tpu", version=number, **own)

    return pushed


def test_the_best_run_with_its_parameters_counts(pushed):
    pushes = [pushed(1, accuracy=0.8), pushed(2, accuracy=0.95), pushed(3, accuracy=0.99, a=2)]
    (row,) = results([ROW], pushes)
    assert (row.about, row.assumed, row.seen) == ("oaks", "accuracy of at least 0.9", "0.9500")
    assert row.verdict == SAME
    (row,) = results([dataclasses.replace(ROW, least=0.96)], pushes)
    assert row.verdict == OTHER


def test_what_no_run_on_kaggle_has_tried_is_not_tried(pushed):
    pushes = [
        pushed(1, accuracy=1.0, rehearsal=True),
        pushed(2, accuracy=1.0, state="failed"),
        pushed(3, accuracy=1.0, name="beeches"),
        pushed(4, loss=0.1),
        pushed(5, accuracy=None),
        pushed(6, accuracy=1.0),
    ]
    marker = kit_folder.path(Path(pushes[-1].folder), kit_folder.MARKER)
    files.write_text(marker, '{"kernel": "me/k"}')  # and no manifest proves its measures
    (row,) = results([ROW], pushes)
    assert (row.seen, row.verdict) == ("", UNTRIED)


@pytest.mark.parametrize(
    "row", ['about = "a"', 'about = "a"\nmeasure = "m"\nleast = "1"', "wrong = 1"]
)
def test_a_row_that_is_incomplete_is_refused_in_one_line(tmp_path, row):
    (tmp_path / "pyproject.toml").write_text(f"[[tool.kernelkit.expected]]\n{row}\n")
    with pytest.raises(PreflightError, match=r"expected in .* takes rows with about, measure"):
        find_project(tmp_path)
