"""What is done with a push that was made: some of its files, its state, its submission."""

import io
import json

import pytest

from kernelkit import errors
from kernelkit.pushes.resuming import fetch_push, submit_result
from kernelkit.pushes.status import list_pushes, tell_quota, tell_status
from kernelkit.workspace.context import Ledger, Push
from local_kaggle.limits import ServerLimits
from local_kaggle.server import LocalKaggle

pytestmark = pytest.mark.usefixtures("quick_sessions")


@pytest.fixture
def server(tmp_path, repository, monkeypatch, open_competition):
    limits = ServerLimits(score_seconds=0.2)
    monkeypatch.chdir(repository.root)
    with LocalKaggle(tmp_path / "kaggle", limits=limits) as server, server.attach():
        open_competition(server, metric="accuracy")
        yield server


@pytest.fixture
def told(timing):
    """Calls one of the commands with a pace for tests; returns its result and its events."""

    def told(command, *arguments, **options):
        stream = io.StringIO()
        result = command(*arguments, as_json=True, stream=stream, timing=timing, **options)
        return result, [json.loads(line) for line in stream.getvalue().splitlines()]

    return told


def names(folder):
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*.*")
        if path.is_file() and ".kernelkit" not in path.parts
    }


def test_only_the_files_that_fit_come_home(server, repository, told, tmp_path):
    repository.push("files=6")
    out = tmp_path / "some"
    folder, events = told(fetch_push, only=["*.csv", "deep/1.*"], output=out)
    assert folder == out
    assert {"submission.csv", "deep/1.bin"} <= names(out)
    assert not {"0.bin", "deep/3.bin", "metrics.json"} & names(out)
    (fetched,) = [event for event in events if event["event"] == "fetched"]
    assert set(fetched["files"]) == {"submission.csv", "deep/1.bin"}


def test_what_is_fetched_again_comes_into_the_folder_that_was_chosen(
    server, repository, told, tmp_path
):
    chosen = repository.push("files=2", output=tmp_path / "chosen")
    (chosen / "0.bin").unlink()
    folder, _ = told(fetch_push)
    assert (folder, (chosen / "0.bin").is_file()) == (chosen, True)
    assert not (repository.runs / "rehearsal-blossom-train-v1").exists()
    with pytest.raises(
        errors.PreflightError, match=r"fetches that into \.\./chosen, or push anyway"
    ):
        repository.push("files=2")


@pytest.mark.parametrize("command", [tell_status, fetch_push])
def test_after_rehearsals_alone_nothing_was_pushed(repository, told, monkeypatch, command):
    monkeypatch.chdir(repository.root)
    ledger = Ledger(repository.runs)
    ledger.begin(Push("tester/blossom-train", "", "", "cpu", version=1, rehearsal=True))
    with pytest.raises(errors.ParameterError, match=r"nothing was pushed to Kaggle.*--local"):
        told(command)


def test_a_pattern_that_fits_nothing_is_told_what_there_is(server, repository, told, tmp_path):
    repository.push("files=1")
    with pytest.raises(
        errors.OutputsError, match=r"no output file matches \*\.h5: .*metrics\.json"
    ):
        told(fetch_push, "tester/blossom-train/1", only=["*.h5"], output=tmp_path / "none")


def test_without_a_pattern_all_comes_home_and_is_reported(server, repository, told, tmp_path):
    repository.push("files=2")
    folder, events = told(fetch_push, output=tmp_path / "all")
    assert {"0.bin", "metrics.json", "submission.csv"} <= names(folder)
    assert "metrics" in {event["event"] for event in events}


def test_a_run_that_is_alive_is_not_waited_for(busy_kaggle, repository, told, monkeypatch):
    monkeypatch.chdir(repository.root)
    repository.push(wait=False)
    with pytest.raises(errors.StillRunningError, match=r"still queued.*resume tester/bl"):
        told(fetch_push)
    state, (event,) = told(tell_status)
    assert state == "queued"
    assert (event["alive"], event["version"]) == (True, 1)


def test_the_state_of_a_push_in_a_line(server, repository, told):
    repository.push("files=0")
    state, (event,) = told(tell_status, "tester/blossom-train/1")
    assert state == "complete"
    assert event["text"] == "tester/blossom-train/1: complete"
    with pytest.raises(errors.ParameterError, match="no tester/blossom-train/9"):
        told(tell_status, "tester/blossom-train/9")


def test_the_table_of_pushes_shows_what_a_row_holds(tmp_path):
    assert list_pushes(tmp_path) == "no pushes yet"
    ledger = Ledger(tmp_path)
    push = ledger.begin(Push("me/blossom", "c", "abc", "tpu", {"epochs": 3}))
    ledger.update(push, version=2, state="complete", minutes_run=12.34, score="0.95")
    table = list_pushes(tmp_path)
    for part in ("me/blossom/2", "complete", "12.3 min", "0.95", "epochs=3", "abc"):
        assert part in table


def test_the_weeks_hours_in_a_line_each(server, told):
    left, events = told(tell_quota)
    assert {event["kind"] for event in events} == set(left) == {"tpu", "gpu"}
    for event in events:
        assert event["left"] == left[event["kind"]] <= event["allowed"]
        assert "hours are left this week" in event["text"]


def test_the_file_of_any_run_is_entered(server, repository, told, tmp_path):
    (tmp_path / "run").mkdir()
    file = tmp_path / "run" / "submission.csv"
    file.write_text("id,label\na,0\nb,1\n")
    for result in (file, file.parent):
        _, events = told(submit_result, str(result), "by hand", competition="garden")
        assert float(events[-1]["score"]) == 1.0
    score = json.loads((tmp_path / "run/.kernelkit/score.json").read_text())
    assert float(score["score"]) == 1.0
    repository.describe(competition_sources=["garden"])
    _, events = told(submit_result, str(file), "the project's own")
    assert float(events[-1]["score"]) == 1.0


def test_a_push_is_entered_by_its_reference(server, repository, told):
    repository.describe(competition_sources=["garden"])
    repository.push("files=0")
    _, events = told(submit_result, "tester/blossom-train/1", "later")
    assert float(events[-1]["score"]) == 1.0


def test_a_file_that_cannot_be_submitted_says_why(server, repository, told, tmp_path):
    (tmp_path / "other.txt").write_text("id,label\n")
    with pytest.raises(errors.ParameterError, match=r"a file that ends in \.csv, \.parquet"):
        told(submit_result, str(tmp_path / "other.txt"), "m", competition="garden")
    (tmp_path / "submission.csv").write_text("id,label\n")
    with pytest.raises(errors.ParameterError, match="--competition SLUG"):
        told(submit_result, str(tmp_path / "submission.csv"), "m")
