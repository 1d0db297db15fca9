"""Hidden data that a command of the project makes."""

import json
import re

import pytest
from checkouts import ROOT
from csv_files import read, write

from kernelkit.errors import ParameterError
from kernelkit.hidden.data.hidden_data import make_hidden_data
from kernelkit.project import HiddenSettings, Project


def make(catalogue, count=None, **settings):
    project = Project(catalogue, hidden=HiddenSettings(**{"metric": "accuracy", **settings}))
    return make_hidden_data(catalogue, "swings", project, count)


COMMAND = """\
import pathlib, sys
public, hidden, answers, rows = sys.argv[1:]
print("recording", rows)
pathlib.Path(hidden, "records.bin").write_bytes(pathlib.Path(public, "records.bin").read_bytes())
pathlib.Path(answers).write_text("id,label\\nx1,0\\nx2,1\\n")
"""


@pytest.fixture
def records(tmp_path):
    public = tmp_path / "competitions/swings"
    write(public / "sample_submission.csv", ("id", "label"), [("p1", 0)])
    (public / "records.bin").write_bytes(b"records")
    (tmp_path / "hide.py").write_text(COMMAND)
    return tmp_path


SAMPLE = "pathlib.Path(hidden, 'sample_submission.csv').write_text('{}'); print("


RUN = "python hide.py {public} {hidden} {answers} {rows}"


def test_what_no_table_holds_is_made_by_a_command_of_the_project(records):
    told = []
    project = Project(records, hidden=HiddenSettings(metric="accuracy", command=RUN))
    made = make_hidden_data(records, "swings", project, 2, told.append)
    assert made.rows == 2
    assert told == ["recording 2"]
    assert (records / "hidden/swings/records.bin").read_bytes() == b"records"
    rules = (records / "solutions/swings.toml").read_text()
    assert rules == 'metric = "accuracy"\ncolumns = ["id", "label"]\n'
    manifest = json.loads((records / "hidden/swings/.made_by_kernelkit.json").read_text())
    assert manifest["recipe"]["settings"]["command"] == RUN


def test_a_metric_is_asked_for_before_the_command_runs(records):
    project = Project(records, hidden=HiddenSettings(command=RUN))
    told = []
    with pytest.raises(ParameterError, match="not known how swings is scored") as caught:
        make_hidden_data(records, "swings", project, 2, told.append)
    assert 'command = "python hide.py {public} {hidden} {answers} {rows}"' in str(caught.value)
    assert not told


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("x1,0", "p1,0"), "have 'p1', an id of the public set"),
        (("x2,1", "x1,1"), "an id twice"),
        (("x1,0\\nx2,1\\n", ""), "need a row for each id"),
        (("pathlib.Path(answers)", "pathlib.Path(hidden, 'a')"), "it wrote no {answers}"),
        (("print(", "sys.exit('no photos'); print("), "no photos"),
        (("print(", SAMPLE.format("id,label\\nx1,0\\n")), "not those of its sample submission"),
        (("print(", SAMPLE.format("")), "has no line with the names of its columns"),
    ],
)
def test_a_command_that_leaves_something_else_is_refused(records, change, said):
    (records / "hide.py").write_text(COMMAND.replace(*change))
    with pytest.raises(ParameterError) as caught:
        make(records, command=RUN)
    assert said in str(caught.value)
    assert "hidden = {command = …}" in str(caught.value)
    assert not (records / "hidden/swings").exists()


def test_without_a_test_set_it_is_asked_how_one_is_made(records):
    with pytest.raises(ParameterError, match=r"hidden = \{command = "):
        make(records)


def test_the_command_of_the_docs_makes_test_photos_of_folders_of_classes(tmp_path):
    text = (ROOT / "docs/how-to/hidden-run.md").read_text()
    script = re.search(r'```python title="mypackage/hidden.py"\n(.*?)```', text, re.S)[1]
    (tmp_path / "mypackage").mkdir()
    (tmp_path / "mypackage/hidden.py").write_text(script)
    public = tmp_path / "competitions/swings"
    for kind in ("cat", "dog"):
        for number in range(30):
            photo = public / f"train/{kind}/{number}.jpg"
            photo.parent.mkdir(parents=True, exist_ok=True)
            photo.write_text(kind)
    (public / "test").mkdir()
    (public / "test/1.jpg").write_text("public")
    write(public / "sample_submission.csv", ("id", "label"), [(1, "cat")])
    line = "python -m mypackage.hidden {public} {hidden} {answers} {rows}"
    assert line in text
    assert make(tmp_path, 10, command=line).rows == 10
    folder = tmp_path / "hidden/swings"
    answers = {row["id"]: row["label"] for row in read(tmp_path / "solutions/swings.hidden.csv")}
    assert {path.stem for path in (folder / "test").iterdir()} == set(answers)
    assert all((folder / f"test/{one}.jpg").read_text() == kind for one, kind in answers.items())
    assert len(list((folder / "train").rglob("*.jpg"))) == 50
