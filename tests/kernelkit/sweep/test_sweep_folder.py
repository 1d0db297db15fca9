"""A sweep's folder: what it refuses, and what it survives."""

import shutil

import pytest

from kernelkit import files
from kernelkit.errors import ParameterError
from kernelkit.pages.shared import trail
from kernelkit.sweep import sweep_folder
from kernelkit.sweep.sweep_folder import Record, SweepFolder


@pytest.mark.parametrize("copy", [shutil.copy2, shutil.move])
def test_runs_with_results_are_copied_or_moved(sweeps, run, copy):
    session, folder = SweepFolder(sweeps.folder / "session"), SweepFolder(sweeps.runs)
    record = session.write(run.id, Record(sweep_folder.DONE, {"a": 1}, 3.5))
    model = files.write_text(session.run_folder(run.id) / "deep" / "model.h5", "weights")

    assert folder.take_over(session, ["another"], copy) == []
    assert folder.take_over(session, None, copy) == [run.id]
    assert folder.record(run.id) == record
    assert (folder.run_folder(run.id) / "deep" / "model.h5").read_text() == "weights"
    assert not list(sweeps.runs.rglob("*.part"))
    assert model.is_file() == (copy is shutil.copy2)
    assert folder.take_over(session, None, copy) == []
    assert folder.take_over(session, None, copy, again=True) == [run.id]


@pytest.mark.parametrize("text", ["{", '{"version": 1}', '{"state":"odd"}'])
def test_a_damaged_state_counts_as_never_begun(sweeps, run, text):
    folder = SweepFolder(sweeps.runs)
    folder.write(run.id, Record(sweep_folder.DONE))
    (folder.run_folder(run.id) / sweep_folder.STATE).write_text(text)

    assert folder.record(run.id).state == sweep_folder.PENDING


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (sweep_folder.SWEEP, '{"version": 1, "name": "tiny"}', "by another version of the kit"),
        (sweep_folder.SWEEP, '{"version": 2, "name": "other"}', "has the sweep 'other'"),
        ("thesis.tex", "years of work", "has files that no sweep wrote"),
    ],
)
def test_a_folder_of_something_else_is_refused_and_left_alone(sweeps, name, text, message):
    file = files.write_text(sweeps.runs / name, text)

    with pytest.raises(ParameterError, match=message):
        SweepFolder(sweeps.runs).claim("tiny")
    assert [*sweeps.runs.iterdir()] == [file]
    assert file.read_text() == text


def test_a_folder_whose_claim_was_killed_is_taken(sweeps):
    files.write_text(sweeps.runs / f".{sweep_folder.SWEEP}.a1b2c3.part", "{")

    folder = SweepFolder(sweeps.runs)
    folder.claim("tiny", ["a"])

    assert trail.varying(sweeps.runs / "a run") == ["a"]  # before the run has a report
    with folder.locked():
        assert not list(sweeps.runs.glob("*.part"))


def test_two_sweeps_on_one_folder_the_second_says_so_and_stops(sweeps):
    with (
        SweepFolder(sweeps.runs).locked(),
        pytest.raises(ParameterError, match="is being written by another sweep"),
    ):
        sweeps.run("grid: {a: [1]}")

    with SweepFolder(sweeps.runs).locked():
        pass
