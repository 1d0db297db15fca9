"""The commands about pushes, as they are typed."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from kernelkit.cli.console import main


@pytest.fixture
def kernelkit(repository, serve, quick_sessions):
    """Types a command in the repository, at a Kaggle whose sessions are quick."""
    serve(score_seconds=0.1)
    repository.on_cpu()

    def kernelkit(*words):
        done = CliRunner().invoke(main, words)
        kernelkit.output = done.output
        return done.exit_code

    return kernelkit


@pytest.mark.long
def test_a_push_is_resumed_in_part_and_as_a_whole(kernelkit, repository, tmp_path):
    assert kernelkit("push", "--no-wait", "-p", "files=4") == 0
    summary = tmp_path / "summary.md"
    codes = {kernelkit("resume", "--no-wait", "--summary", str(summary))}
    assert codes <= {0, 13}, kernelkit.output
    assert kernelkit("resume", "--only", "deep/*", "--output", str(tmp_path / "some")) == 0
    assert {path.name for path in (tmp_path / "some").iterdir()} == {".kernelkit", "deep"}
    assert kernelkit("resume", "tester/blossom-train/1", "--summary", str(summary)) == 0
    repository.assert_whole(repository.runs / "rehearsal-blossom-train-v1", 4)
    assert "and without these parameters" in " ".join(kernelkit.output.split())
    assert "tester/blossom-train/1" in summary.read_text()
    assert kernelkit("resume", "--only", "*.csv", "--submit", "x") == 2


def test_the_weeks_hours_are_shown_without_a_push(kernelkit):
    assert kernelkit("status", "--quota", "--json") == 0
    events = [json.loads(line) for line in kernelkit.output.splitlines()]
    assert {event["kind"] for event in events} == {"tpu", "gpu"}
    assert kernelkit("status", "--all") == 0
    assert kernelkit.output == "no pushes yet\n"
    assert kernelkit("status") == 2


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--rows", "5"], "add --hidden"),
        (["--hidden", "notebooks/train.ipynb"], "write the notebook before --hidden"),
        (["--submit", "x", "--hidden"], "drop --submit"),
        (["--dry-run", "--hidden"], "drop --dry-run"),
        (["--hidden", "--rows", "5"], "names 0 competitions"),
    ],
)
def test_a_hidden_run_that_cannot_be_is_refused(repository, words, told):
    repository.describe(competition_sources=[] if "0 comp" in told else ["garden"])
    done = CliRunner().invoke(main, ["rehearse", *words])
    assert done.exit_code == 2
    assert told in done.output


def test_a_push_that_leaves_less_than_the_reserve_needs_force(repository, serve, quick_sessions):
    serve()
    repository.configure("reserve = {tpu = 15}\n")
    done = CliRunner().invoke(main, ["push", "--timeout", "360", "-p", "files=1"])
    assert done.exit_code == 5
    assert "15 are reserved" in done.output
    assert repository.pushes() == []
    repository.push("files=1", timeout=120, wait=False)  # 18 of 20 hours are left for sure
    repository.resume()
    repository.push("files=2", timeout=360, force=True, wait=False)
    assert [push.timeout_minutes for push in repository.pushes()] == [120, 360]


def test_hours_that_may_end_before_the_run_are_a_warning_where_none_are_reserved(
    repository, serve, quick_sessions
):
    serve(weekly_seconds={"tpu": 3 * 3600.0, "gpu": 0.0})
    repository.push("files=1", timeout=360, wait=False, as_json=True)
    (warning,) = [event["text"] for event in repository.events("warning")]
    assert warning.endswith(
        "hours are left this week, and the run may take 6.0: limit it with --timeout 180"
    )
    assert len(repository.pushes()) == 1


def test_a_sweep_keeps_to_the_reserve(repository, serve, notebook_code):
    serve()
    parameters = 'files = 1  # >= 0: how many\noutput = ""'
    repository.cells(notebook_code(parameters, ["parameters"]))
    repository.configure("reserve = {tpu = 15}\n")
    sweep = Path("sweep.yaml")
    sweep.write_text("notebook: notebooks/train.ipynb\ngrid: {files: [1, 2]}\n")
    done = CliRunner().invoke(main, ["sweep", str(sweep), "--kaggle", "--timeout", "360"])
    assert (done.exit_code, "15 are reserved" in done.output) == (5, True), done.output
