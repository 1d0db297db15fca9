"""`kernelkit init` for a notebook that is there: it writes the notebook's metadata."""

import json
import shutil

import nbformat
import pytest
from click.testing import CliRunner

from kernelkit.cli.commands.check import check
from kernelkit.cli.commands.init import init
from kernelkit.errors import CredentialsError
from kernelkit.kaggle import client
from kernelkit.push.known.ledger import Ledger, Push
from local_kaggle import LocalKaggle


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a notebook that reads an input of which the path tells no kind."""
    made = tmp_path / "mine"
    made.mkdir()
    monkeypatch.chdir(made)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    cell = nbformat.v4.new_code_cell("open('/kaggle/input/soil/rows.csv')")
    heading = nbformat.v4.new_markdown_cell("# Leaves of spring")
    notebook = nbformat.v4.new_notebook(cells=[heading, cell])
    (made / "leaves.ipynb").write_text(nbformat.writes(notebook))
    return made


@pytest.fixture
def without_account(monkeypatch):
    def refuse(timeouts):
        raise CredentialsError("no token")

    monkeypatch.setattr(client, "open_connection", refuse)


def written(folder, name="kernel-metadata.json"):
    return json.loads((folder / name).read_text())


def test_it_writes_the_metadata_and_nothing_else(folder, without_account):
    done = CliRunner().invoke(init, ["."])
    assert done.exit_code == 0, done.output
    assert "soil is taken for a competition: move a dataset to dataset_sources" in done.output
    assert sorted(path.name for path in folder.iterdir()) == [
        "kernel-metadata.json",
        "leaves.ipynb",
    ]
    values = written(folder)
    assert values["id"] == "INSERT_USERNAME/leaves-of-spring"
    assert values["competition_sources"] == ["soil"]
    assert "no error" in CliRunner().invoke(check, []).output


def test_what_is_assumed_of_an_input_is_a_warning_for_programs_too(folder, without_account):
    done = CliRunner().invoke(init, [".", "--json"])
    events = [json.loads(line) for line in done.stdout.splitlines()]
    (warning,) = [event["text"] for event in events if event["event"] == "warning"]
    assert warning.startswith("soil is taken for a competition")


@pytest.mark.parametrize("name", ["leafs.ipynb", "leafs.py"])
def test_a_notebook_that_is_not_there_is_no_name_of_a_new_folder(folder, name):
    done = CliRunner().invoke(init, [name])
    assert (done.exit_code, "no notebook at" in done.output) == (2, True), done.output
    assert [path.name for path in folder.iterdir()] == ["leaves.ipynb"]


@pytest.mark.parametrize("state", ["complete", "failed", None])
def test_what_was_rehearsed_is_to_be_pushed_next(folder, without_account, state):
    if state:
        ledger = Ledger(folder / "runs", rehearsal=True)
        push = Push("tester/leaves-of-spring", "c", "g", "none", version=1)
        ledger.update(ledger.begin(push), state=state)
    said = CliRunner().invoke(init, ["."]).output
    assert ("next      kernelkit push  # on Kaggle" in said) == (state == "complete")
    assert ("next      kernelkit check && kernelkit rehearse\n" in said) == (state != "complete")


def test_no_id_is_that_of_another_kernel_of_the_repository(folder, without_account):
    (folder / ".git").mkdir()
    (folder / "early-spring").mkdir()
    names = ["leaves.ipynb", "second-try.ipynb", "early-spring/second-try.ipynb"]
    for name in names[1:]:
        shutil.copy(folder / names[0], folder / name)
    for name in names:
        assert CliRunner().invoke(init, [name]).exit_code == 0
    ids = []
    for path in sorted(folder.rglob("*kernel-metadata.json")):
        ids.append(json.loads(path.read_text())["id"].partition("/")[2])
    assert ids == ["early-spring-second-try", "leaves-of-spring", "second-try"]


def test_what_is_described_is_left_alone(folder, without_account):
    CliRunner().invoke(init, ["."])
    before = (folder / "kernel-metadata.json").read_bytes()
    again = CliRunner().invoke(init, ["."])
    assert again.exit_code == 2
    assert "describes leaves.ipynb already" in again.stderr
    assert (folder / "kernel-metadata.json").read_bytes() == before


@pytest.mark.parametrize("kind", ["competition", "dataset"])
def test_kaggle_is_asked_what_an_input_is(folder, tmp_path, kind):
    place = "competitions/soil" if kind == "competition" else "datasets/anna/soil"
    (tmp_path / "catalogue" / place).mkdir(parents=True)
    kaggle = LocalKaggle(tmp_path / "kaggle", catalogue=tmp_path / "catalogue")
    with kaggle, kaggle.attach():
        done = CliRunner().invoke(init, ["."])
    assert done.exit_code == 0, done.output
    expected = {"competition": ["soil"], "dataset": ["anna/soil"]}
    assert written(folder)[f"{kind}_sources"] == expected[kind]
