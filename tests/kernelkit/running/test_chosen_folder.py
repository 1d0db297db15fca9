"""The same command goes on where it was cut off, and never over what is done."""

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from kernelkit import files
from kernelkit.errors import ParameterError, RunFailedError
from kernelkit.running import chosen_folder as choosing
from kernelkit.running.run_notebook import run_notebook
from kernelkit.runs import kit_folder, run_state, submitted
from kernelkit.runs.run_state import RunState
from kernelkit.runs.submitted import Submitted
from kernelkit.terminal.events import Events

pytestmark = pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning",
    "ignore::ResourceWarning",
    "ignore::DeprecationWarning:(zmq|jupyter_client|papermill|nbclient)",
)

NOTEBOOK = """# %% tags=["parameters"]
scale = 2  # >= 0: what to multiply with
output = ""  # the run's folder

# %%
import json
import time
from pathlib import Path

kept = Path(output, "kept.txt")
if scale and not kept.exists():
    kept.write_text("half of it")
    print("cut me off", flush=True)
    time.sleep(60 if scale > 1 else 0)
    raise ValueError("not at once")
Path(output, "metrics.json").write_text(json.dumps({"macro_f1": scale / 10}))
"""
STUDY = Path("study.py")
ODD = os.fsdecode(b"caf\xe9")


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    STUDY.write_text(NOTEBOOK)
    return tmp_path


def chosen_folder(notebook, parameters, **chosen):
    return choosing.chosen_folder(notebook, parameters, Events(), **chosen)


def cut_off(number=1, **chosen):
    with pytest.raises(KeyboardInterrupt), chosen_folder(STUDY, {"n": number}, **chosen) as at:
        raise KeyboardInterrupt
    return at


@pytest.mark.long
def test_killed_at_any_moment_the_same_command_goes_on(place, capsys):
    command = [sys.executable, "-m", "kernelkit", "run", "study.py"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert any("cut me off" in line for line in process.stdout)
        os.kill(process.pid, signal.SIGKILL)
    (folder,) = Path("runs").glob("study-*")
    (folder / ".run.ipynb.part.ipynb").write_text("{")  # as papermill leaves it
    (folder / ".report.html.k3x.part").write_text("<")
    run = run_notebook(STUDY, quiet=True)
    assert run.folder == folder
    assert run.metrics == {"macro_f1": 0.2}
    assert capsys.readouterr().out == (
        f"continues {folder}: the last run of this notebook with these parameters did not finish; "
        "--fresh starts a new one\n"
    )
    names = sorted(path.name for path in folder.iterdir())
    assert names == [".kernelkit", "kept.txt", "metrics.json", "run.ipynb"]


def test_what_a_killed_command_was_writing_is_gone_when_its_run_goes_on():
    folder = cut_off()
    parts = [folder / ".report.html.k3x.part", kit_folder.path(folder, ".run.json.a1.part")]
    for part in parts:
        part.write_text("{")
    assert cut_off() == folder
    assert not any(part.exists() for part in parts)


def test_a_run_that_failed_is_taken_up_and_one_that_is_over_is_not():
    with pytest.raises(RunFailedError):
        run_notebook(STUDY, {"scale": 1}, quiet=True)
    (first,) = Path("runs").glob("study-*")
    for again in (True, False):
        with chosen_folder(STUDY, {"scale": 1, "output": ""}) as folder:
            assert (folder == first) is again


def test_other_parameters_another_notebook_or_fresh_begin_anew(capsys):
    folder = cut_off()
    others = [cut_off(2), cut_off(None)]
    for notebook, fresh in ((Path("other.py"), False), (STUDY, True)):
        with chosen_folder(notebook, {"n": 1}, fresh=fresh) as other:
            others.append(other)
    assert len({folder, *others}) == 5
    assert capsys.readouterr().out == ""
    assert cut_off() == folder
    assert f"continues {folder}:" in capsys.readouterr().out


@pytest.mark.parametrize("chosen", [{"name": "mine"}, {"output": Path("runs/mine")}])
class TestANamedFolder:
    """`--name` and `--output` choose it, whatever it contains."""

    def test_it_notes_its_run_each_time(self, chosen):
        notebook = str(STUDY.resolve())
        run = RunState(notebook=notebook, parameters={"n": 1}, chosen=True, over=False)
        for _ in range(2):
            with chosen_folder(STUDY, {"n": 1}, **chosen) as mine:
                assert mine == Path("runs/mine")
                assert run_state.read(mine) == run
            assert run_state.read(mine) == replace(run, over=True)

    def test_a_command_without_a_name_does_not_continue_in_it(self, chosen):
        mine = cut_off(**chosen)
        with chosen_folder(STUDY, {"n": 1}) as other:
            assert other != mine

    def test_a_second_command_is_refused(self, chosen):
        with chosen_folder(STUDY, {"n": 1}, **chosen):
            again = chosen_folder(STUDY, {}, **chosen)
            with pytest.raises(ParameterError, match="another command is using runs/mine: wait"):
                again.__enter__()

    def test_another_host_of_the_run_shares_it(self, chosen, monkeypatch):
        with chosen_folder(STUDY, {"n": 1}, **chosen) as mine:
            monkeypatch.setenv("JAX_PROCESS_ID", "1")
            with chosen_folder(STUDY, {}, **chosen) as shared:
                assert shared == mine
            monkeypatch.delenv("JAX_PROCESS_ID")


def files_in(folder):
    return {path.name for path in folder.iterdir() if path.is_file()}


def test_a_named_folder_puts_aside_each_run_that_it_does_not_continue(capsys):
    Path("pyproject.toml").write_text('[tool.kernelkit]\nsubmission = "mine.csv"\n')
    names = {"run.ipynb", "metrics.json", "history.csv", "submission.csv", "mine.csv"}
    mine = Path("runs/mine")
    for number in (1, 2):
        assert cut_off(number, name="mine") == mine
        for name in names:
            (mine / name).write_text(str(number))
        (mine / "notes.txt").touch()
        submitted.add(mine, Submitted("garden", reference=number))
        kit_folder.path(mine, kit_folder.THUMBNAIL).touch()
        capsys.readouterr()
        assert cut_off(number, name="mine") == mine
        assert files_in(mine) == {*names, "notes.txt"}
        assert capsys.readouterr().out == ""
    assert cut_off(3, name="mine") == mine
    assert files_in(mine) == {"notes.txt"}
    said = "set aside runs/mine has files that this run did not make: run.ipynb, metrics.json, "
    assert said in " ".join(capsys.readouterr().out.split())
    for number in (1, 2):
        aside = kit_folder.path(mine, kit_folder.EARLIER, str(number))
        assert files_in(aside) == names
        assert {(aside / name).read_text() for name in names} == {str(number)}
        assert run_state.read(aside).parameters == {"n": number}
        assert [each.reference for each in submitted.read(aside)] == [number]
        assert kit_folder.path(aside, kit_folder.THUMBNAIL).is_file()
    left = {path.name for path in kit_folder.path(mine).iterdir()}
    assert left == {kit_folder.EARLIER, kit_folder.LOCK, kit_folder.STATE}


def test_what_stood_in_a_folder_before_its_first_run_is_put_aside(capsys):
    there = Path("there")
    there.mkdir()
    (there / "submission.csv").touch()
    assert cut_off(output=there) == there
    assert files_in(there) == set()
    assert files_in(kit_folder.path(there, kit_folder.EARLIER, "1")) == {"submission.csv"}
    assert "there has files that this run did not make: submission.csv" in capsys.readouterr().out


@pytest.mark.parametrize("below", ["", "sub"])
def test_a_run_never_takes_a_pushs_folder(below):
    pushed = Path("runs/pushed")
    files.write_text(kit_folder.path(pushed, kit_folder.MARKER), "{}")
    folder = pushed / below
    with pytest.raises(ParameterError, match=f"{folder} is for the results of a push: choose"):
        chosen_folder(STUDY, {}, output=folder).__enter__()
    assert [path.name for path in pushed.iterdir()] == [kit_folder.NAME]


def test_a_run_that_ran_out_of_time_goes_on():
    folders = []
    for metrics in ('{"stopped": "time limit"}', "{}", "{}"):
        with chosen_folder(STUDY, {"n": 1}) as folder:
            (folder / "metrics.json").write_text(metrics)
            folders.append(folder)
    assert folders[0] == folders[1] != folders[2]


def test_from_a_subfolder_of_the_project_the_same_run_is_found(place, monkeypatch):
    (place / "pyproject.toml").touch()
    cut = cut_off()
    (place / "deep").mkdir()
    monkeypatch.chdir(place / "deep")
    with chosen_folder(place / STUDY, {"n": 1}) as again:
        assert again.resolve() == (place / cut).resolve()
    assert list(Path().iterdir()) == []


def test_two_at_once_share_no_folder():
    cut, at_once = cut_off(), [chosen_folder(STUDY, {"n": 1}) for _ in range(3)]
    with at_once[0] as first, at_once[1] as second, at_once[2] as third:
        assert first == cut
        assert len({first, second, third}) == 3


@pytest.mark.parametrize("state", ["{", '{"over": false}'])
def test_a_damaged_state_begins_anew(state):
    folder = cut_off()
    (folder / ".kernelkit" / "run.json").write_text(state)
    assert cut_off() != folder


@pytest.mark.parametrize("option", ["name", "output"])
def test_a_new_folder_and_a_chosen_one_exclude_each_other(option):
    with pytest.raises(ParameterError, match=f"a new folder itself: leave out --{option}"):
        chosen_folder(STUDY, {}, fresh=True, **{option: "here"}).__enter__()


def test_a_name_and_an_output_would_be_two_folders():
    with pytest.raises(ParameterError, match="--name and --output each name the folder"):
        chosen_folder(STUDY, {}, name="here", output=Path("there")).__enter__()


@pytest.mark.parametrize("name", ["..", "a/../../b", "/tmp/a", "."])
def test_a_name_that_leads_out_of_runs_is_refused(name):
    with pytest.raises(ParameterError, match="a folder's name in runs: give any other with"):
        chosen_folder(STUDY, {}, name=name).__enter__()
    assert not Path("runs").exists()


@pytest.mark.parametrize("notebook", ["run.ipynb", "run.py"])
def test_a_run_never_takes_the_place_of_its_notebook(place, notebook):
    (place / "run.ipynb").write_text("mine")
    with pytest.raises(ParameterError, match=r"would write over run\.ipynb, this notebook"):
        chosen_folder(Path(notebook), {}, output=place).__enter__()
    assert (place / "run.ipynb").read_text() == "mine"
    assert not (place / ".kernelkit").exists()


@pytest.mark.parametrize("choice", [{"name": ODD}, {"output": Path(ODD)}, {}])
def test_a_folder_whose_name_is_not_unicode_is_refused(choice):
    notebook = Path(f"{ODD}.py")
    chosen = chosen_folder(notebook, {}, **choice)
    with pytest.raises(ParameterError, match="not Unicode: rename the notebook"), chosen:
        pass
