"""What is done with a push that was made: some of its files, its state, its submission."""

import io
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from unittest.mock import Mock

import pytest

from kernelkit import errors
from kernelkit.kaggle.answers import Status
from kernelkit.kaggle.client import Kaggle
from kernelkit.kaggle.kernel import Kernel
from kernelkit.kaggle.transport import authentication
from kernelkit.kaggle.transport.connection import Connection
from kernelkit.project import find_project
from kernelkit.push.known.ledger import NAME, Ledger, Push
from kernelkit.push.resume import resume_push
from kernelkit.push.submit import submit_result
from kernelkit.runs import submitted
from kernelkit.session_records import proved, session_manifest
from kernelkit.submissions.submission import Submission
from kernelkit.terminal import safe_text
from kernelkit.watching.status import list_pushes, tell_quota, tell_status

pytestmark = pytest.mark.usefixtures("quick_sessions")


@pytest.fixture
def server(serve, repository, open_competition):
    server = serve(score_seconds=0.2)
    open_competition(server, metric="accuracy")
    return server


def test_only_the_files_that_fit_come_home_or_all(server, repository, tmp_path):
    repository.push("files=4")
    out = tmp_path / "some"
    fit = ["*.csv", "deep/1.*"]
    assert repository.run(resume_push, only=fit, output=out, as_json=True) == out
    (fetched,) = repository.events("fetched")
    assert set(fetched["files"]) == {"submission.csv", "deep/1.bin"}
    assert sorted(path.name for path in out.iterdir()) == [".kernelkit", "deep", "submission.csv"]

    told = r"no output file matches \*\.h5: .*metrics\.json"
    with pytest.raises(errors.OutputsError, match=told) as caught:
        repository.run(resume_push, "tester/blossom-train/1", only=["*.h5"], output=tmp_path / "no")
    assert "Download the rest" not in str(caught.value)  # which would end in the same way

    folder = repository.run(resume_push, output=tmp_path / "all", as_json=True)
    repository.assert_whole(folder, 4)
    assert repository.events("metrics")


def test_the_log_of_results_that_are_here_is_not_shown_again(server, repository):
    repository.push("files=1")
    assert "  | bundle: " in repository.message
    repository.resume("last")
    assert "  | " not in repository.message


def test_what_is_fetched_again_comes_into_the_folder_that_was_chosen(
    server, repository, tmp_path, monkeypatch
):
    chosen = tmp_path / "chosen"
    repository.push("files=2", output=Path("../chosen"))
    (chosen / "0.bin").unlink()
    monkeypatch.chdir(repository.notebook.parent)
    folder = repository.run(resume_push)
    assert (folder.resolve(), (chosen / "0.bin").is_file()) == (chosen, True)
    assert not (repository.runs / "rehearsal-blossom-train-v1").exists()
    with pytest.raises(
        errors.PreflightError,
        match=r"whose results are in \.\./\.\./chosen: .* fetches what is missing there",
    ):
        repository.push("files=2")


def test_after_rehearsals_alone_nothing_was_pushed(repository):
    ledger = Ledger(repository.runs, rehearsal=True)
    ledger.begin(Push("tester/blossom-train", "", "", "cpu", version=1))
    with pytest.raises(errors.ParameterError, match=r"nothing was pushed to Kaggle.*--local"):
        repository.run(tell_status)


@pytest.fixture
def as_on_kaggle(server, repository, monkeypatch):
    """Kaggle without a push, and a repository whose ledger has a rehearsal of version 1."""
    monkeypatch.setattr(Connection, "rehearses", False)
    monkeypatch.delenv("KAGGLE_API_ENVIRONMENT")
    monkeypatch.setattr("kernelkit.kaggle.client.open_connection", opened(server))
    ledger = Ledger(repository.runs, rehearsal=True)
    ledger.begin(Push("tester/blossom-train", "", "", "cpu", version=1))
    return ledger


def opened(server):
    """`open_connection` to a server, whatever the environment says."""

    def open_connection(*arguments):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("KAGGLE_API_ENVIRONMENT", "LOCALHOST")
            return authentication.open_connection(*arguments)

    return open_connection


def test_a_reference_that_was_only_rehearsed_is_said_to_be_so(as_on_kaggle, repository):
    told = r"no tester/blossom-train/1, or .*\. tester/blossom-train/1 was rehearsed here: --local"
    with pytest.raises(errors.ParameterError, match=told):
        repository.run(tell_status, "tester/blossom-train/1")
    with pytest.raises(errors.ParameterError, match=told):
        repository.resume("tester/blossom-train/1")


def test_a_rehearsal_of_the_same_number_is_not_taken_for_the_push(as_on_kaggle, repository):
    repository.on_cpu()
    repository.sources("open('petals.txt', 'w').write('five')")
    repository.push()
    folder = repository.resume("tester/blossom-train/1")
    assert folder == repository.runs / "blossom-train-v1"
    (push,) = Ledger(repository.runs).of("tester/blossom-train")
    (rehearsal,) = Ledger(repository.runs, rehearsal=True).of("tester/blossom-train")
    assert (push.state, push.reference) == ("complete", rehearsal.reference)
    assert (rehearsal.state, rehearsal.folder) == ("sending", None)


def test_without_credentials_a_reference_that_was_rehearsed_is_said_to_be_so(
    no_account, repository
):
    ledger = Ledger(repository.runs, rehearsal=True)
    ledger.begin(Push("tester/blossom-train", "", "", "cpu", version=1))
    told = r"no token\. tester/blossom-train/1 was rehearsed here"
    with pytest.raises(errors.CredentialsError, match=told):
        repository.run(tell_status, "tester/blossom-train/1")


def test_a_run_that_is_alive_is_not_waited_for(busy_kaggle, repository, monkeypatch):
    repository.push(wait=False)
    with pytest.raises(errors.StillRunningError, match=r"still queued.*resume tester/bl"):
        repository.run(resume_push, wait=False)
    assert repository.run(tell_status, as_json=True) == "queued"
    (event,) = repository.events("status")
    assert {event["kind"] for event in repository.events("quota")} == {"tpu", "gpu"}
    assert (event["alive"], event["version"]) == (True, 1)
    shown = iter([None, Status("running")])  # at first, Kaggle does not show it yet
    monkeypatch.setattr(Kaggle, "status", lambda *_, **__: next(shown))
    with pytest.raises(errors.StillRunningError, match="still running"):
        repository.run(resume_push, wait=False)


def test_a_version_without_a_session_is_not_waited_for(busy_kaggle, repository, monkeypatch):
    repository.push(wait=False)
    monkeypatch.setattr(Kaggle, "status", lambda *_, **__: Status("new_script"))
    with pytest.raises(errors.RefusedError, match="or saved without one"):
        repository.resume("last")


def test_a_push_is_looked_at_and_entered_once_by_its_reference(server, repository, monkeypatch):
    repository.describe(competition_sources=["garden"])
    repository.push("files=0")
    assert repository.run(tell_status, "tester/blossom-train/1") == "complete"
    assert "tester/blossom-train/1: complete" in repository.message
    with pytest.raises(errors.ParameterError, match="no tester/blossom-train/9"):
        repository.run(tell_status, "tester/blossom-train/9")
    with monkeypatch.context() as patch, pytest.raises(errors.NetworkError):
        patch.setattr(Submission, "_score", Mock(side_effect=errors.NetworkError))
        repository.run(submit_result, "tester/blossom-train/1", "later")
    repository.resume(submit="with another message")
    assert "1.00000 in garden (submission 1)" in repository.message


def test_of_a_push_that_kaggle_no_longer_has_the_folder_is_named(server, repository, connect):
    repository.push("files=1")
    connect().kaggle.kernels.delete_kernel(Kernel("tester", "blossom-train"))
    words = r"no tester/blossom-train/1, .*; its results are in runs/rehearsal-blossom-train-v1$"
    with pytest.raises(errors.ParameterError, match=words):
        repository.resume()
    shutil.rmtree(repository.runs / "rehearsal-blossom-train-v1")
    with pytest.raises(errors.ParameterError, match=r"or this account cannot see it$"):
        repository.resume()


def test_a_push_without_a_competition_is_refused_before_anything_is_downloaded(server, repository):
    folder = repository.push("files=2")
    (folder / "0.bin").unlink()
    with pytest.raises(errors.ParameterError, match="has no competition among its sources"):
        repository.resume(submit="a try")
    assert not (folder / "0.bin").exists()


def test_two_commands_at_once_submit_a_push_once_and_both_tell_its_score(
    server, repository, monkeypatch, timing
):
    repository.describe(competition_sources=["garden"])
    repository.push("files=0")
    enter = Submission._enter

    def slowly(submission):
        time.sleep(0.5)  # in which the other command could look for a submission, too
        return enter(submission)

    monkeypatch.setattr(Submission, "_enter", slowly)
    waits = iter([0.0, 1.1])  # seconds: the other command tells of it in another second
    monkeypatch.setattr(
        "kernelkit.submissions.submission.tell_standing", lambda *_: time.sleep(next(waits))
    )
    told = [io.StringIO(), io.StringIO()]
    with ThreadPoolExecutor() as pool:
        options = [{"submit": "m", "stream": stream, "timing": timing} for stream in told]
        list(pool.map(lambda each: resume_push(**each), options))
    for stream in told:
        assert "1.00000 in garden (submission 1)" in stream.getvalue()
    assert [each["reference"] for each in Ledger(repository.runs).submissions()] == [1]


def test_the_table_of_pushes_shows_what_a_row_holds(tmp_path):
    assert list_pushes(tmp_path) == "no pushes yet"
    ledger = Ledger(tmp_path)
    push = ledger.begin(Push("me/blossom", "c", "abc", "tpu", {"epochs": 3}))
    ledger.update(push, version=2, state="complete", minutes_run=12.34, score="0.95")
    table = list_pushes(tmp_path)
    for part in ("me/blossom/2", "complete", "12.3 min", "0.95", "epochs=3", "abc"):
        assert part in table


def test_files_stay_proved_while_another_command_fetches_them_again(
    server, repository, monkeypatch
):
    folder = repository.push("files=0")
    proved_before = []
    keep = session_manifest.keep

    def watched(*arguments):
        proved_before.append(proved.is_proved(folder, "submission.csv"))
        keep(*arguments)

    monkeypatch.setattr(session_manifest, "keep", watched)
    repository.resume()
    assert proved_before == [True]


@pytest.mark.parametrize("odd", ["a\u2028b", "a\nb", "a\r\x1b[2Jb", "a\u202eb", "x" * 200_000])
def test_whatever_a_row_holds_it_is_one_line(tmp_path, odd):
    ledger = Ledger(tmp_path)
    ledger.begin(Push("me/blossom", "c", "abc", "tpu", {odd: odd}))
    ledger.add_submission("1", {"competition": odd, "message": odd, "file": odd, "problem": odd})
    table = list_pushes(tmp_path)
    assert len(table.split("\n")) == 5  # two tables of two lines, and one between them
    assert len(table) < 40_000
    assert table == safe_text.plain(table)


def test_a_score_whose_file_was_not_compared_is_marked(tmp_path):
    score = {"competition": "garden", "reference": 1, "score": "0.95"}
    Ledger(tmp_path).add_submission("1", score | {"compared": "not compared"})
    Ledger(tmp_path).add_submission("2", score | {"compared": "same"})
    assert [line.count("not compared") for line in list_pushes(tmp_path).splitlines()[-2:]] == [
        1,
        0,
    ]


def test_kaggle_may_say_nothing_of_hours(server, repository, answers_to):
    def nothing(answer, call):
        answer.tpu_quota = answer.gpu_quota = None

    answers_to("GetAcceleratorQuotaStatistics", nothing)
    assert repository.run(tell_quota) == {}
    assert "does not say how many hours" in repository.message


def test_the_weeks_hours_in_a_line_each(server, repository):
    left = repository.run(tell_quota, as_json=True)
    assert {event["kind"]: event["left"] for event in repository.events()} == left
    assert set(left) == {"tpu", "gpu"}
    for event in repository.events():
        assert event["left"] <= event["allowed"]
        assert "hours are left this week" in event["text"]


def test_the_file_of_any_run_is_entered_or_refused_with_the_reason(server, repository, tmp_path):
    file = tmp_path / "run" / "submission.csv"
    file.parent.mkdir()
    file.write_text("id,label\na,0\nb,1\n")
    repository.run(submit_result, str(file.parent), "by hand", competition="garden")
    assert "1.00000 in garden (submission 1)" in repository.message
    (kept,) = submitted.read(tmp_path / "run")
    assert (float(kept.score), kept.message, kept.push) == (1.0, "by hand", "")
    assert kept.sha256 == sha256(file.read_bytes()).hexdigest()
    assert "submission.csv  " + kept.sha256[:12] in list_pushes(repository.runs)
    with pytest.raises(errors.ParameterError, match="--competition SLUG"):
        repository.run(submit_result, str(file), "m")
    other = file.rename(file.with_suffix(".txt"))
    with pytest.raises(errors.ParameterError, match=r"a file that ends in \.csv, \.parquet"):
        repository.run(submit_result, str(other), "m", competition="garden")
    other.rename(file)
    repository.describe(competition_sources=["garden"])
    repository.run(submit_result, str(file), "the project's own")
    assert "1.00000 in garden (submission 2)" in repository.message


def test_a_result_is_entered_as_its_own_push_and_project_say(
    server, repository, tmp_path, monkeypatch
):
    repository.describe(competition_sources=["garden"])
    folder = repository.push("files=0")
    repository.describe(competition_sources=["meadow"])
    repository.configure('submission = "answers.csv"\n')
    (folder / "deep").mkdir()
    for name in ("answers.csv", "deep/more.csv"):
        (folder / name).write_text("id,label\na,0\nb,1\n")
    monkeypatch.chdir(tmp_path)
    for result in (folder, folder / "deep/more.csv"):
        with pytest.raises(errors.OutputsError, match=r"(answers|more)\.csv is not proved"):
            repository.run(submit_result, str(result), "m")
    repository.run(submit_result, str(folder), "m", unverified=True)
    assert "1.00000 in garden (submission 1)" in repository.message
    with pytest.raises(errors.ParameterError, match="its own competition"):
        repository.run(submit_result, "last", "m", competition="meadow")


def test_the_result_of_a_push_that_the_ledger_lacks_is_unproved_by_name_as_by_folder(
    server, repository
):
    repository.describe(competition_sources=["garden"])
    folder = repository.push("files=0")
    (repository.runs / NAME).unlink()
    for result in ("tester/blossom-train/1", str(folder)):
        with pytest.raises(errors.OutputsError, match="not proved"):
            repository.run(submit_result, result, "m")


def test_settings_that_a_session_left_among_its_outputs_decide_nothing(server, repository):
    folder = repository.push("files=0")
    (folder / "submission.csv").write_text("id,label\na,0\nb,1\n")
    (folder / "kernel-metadata.json").write_text('{"competition_sources": ["garden"]}')
    (folder / "pyproject.toml").write_text('[tool.kernelkit]\nsubmission = "other.csv"\n')
    (folder / "runs").mkdir()
    (folder / "runs/pushes.sqlite").write_text("a ledger of its own")
    with pytest.raises(errors.ParameterError, match="names no competition: give --competition"):
        repository.run(submit_result, str(folder), "m", unverified=True)
    (folder / "pyproject.toml").write_text("not = TOML [")
    assert find_project(folder).root == find_project(repository.runs).root
