"""An identical push is never a second session."""

import contextlib
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from unittest.mock import Mock

import pytest

from kernelkit import errors
from kernelkit.kaggle.client import Kaggle
from kernelkit.kaggle.kernel import Kernel
from kernelkit.kaggle.transport.failures import Failure, FailureKind
from kernelkit.kaggle.uploading.uploads import upload_dataset
from kernelkit.pages.one_run import push_report
from kernelkit.push.sending.save_once import Sending
from kernelkit.runs import claims, submitted
from kernelkit.runs.claims import Claim
from kernelkit.watching.status import tell_status
from local_kaggle.faults.schedule import Fault, FaultKind, FaultSchedule

PUSH = """\
import sys
from kernelkit.push.push_kernel import push_kernel
push_kernel(parameters=["files=9"])
"""


def interrupt(*_, **__):
    """Ctrl-C at this place."""
    raise KeyboardInterrupt


@pytest.fixture
def kaggle(serve, quick_sessions):
    return serve()


def push_killed(repository, server, when):
    """Push in a process that is killed once `when` says so; returns its exit code."""
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", PUSH],
        cwd=repository.root,
        env=server.client_environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    with process:
        while not when() and process.poll() is None:
            time.sleep(0.01)
        process.kill()
    return process.returncode


def test_killed_while_its_files_download_the_same_command_goes_on(repository, kaggle):
    # Later files do not come: there is a time at which some are here and others are not.
    hangs = [Fault("Download", number, FaultKind.STALLED, 60.0) for number in range(6, 30)]
    kaggle.faults = FaultSchedule(hangs)
    folder = repository.runs / "rehearsal-blossom-train-v1"

    killed = push_killed(repository, kaggle, lambda: any(folder.rglob("*.bin")))

    assert killed < 0
    for place in (folder, folder / ".kernelkit"):
        (place / ".push.json.a1b2c3.part").write_text("{")  # as from a kill in between
    kaggle.faults = FaultSchedule()
    assert repository.push("files=9") == folder
    repository.assert_whole(folder, 9)
    assert not list(folder.rglob("*.part"))
    assert [(push.version, push.state) for push in repository.pushes()] == [(1, "complete")]
    assert "SaveKernel" not in kaggle.faults.calls


@pytest.mark.parametrize("at", ["fetch", "_Homecoming._report"])
def test_killed_before_a_failed_run_is_shown_the_same_command_shows_it(
    repository, kaggle, monkeypatch, at
):
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(f"kernelkit.push.delivered.results.{at}", interrupt)
        repository.push("fail=true")
    with pytest.raises(errors.RunFailedError, match="withered"):
        repository.push("fail=true")
    assert kaggle.faults.calls["SaveKernel"] == 1
    assert repository.states() == ["failed"]


def test_killed_while_its_report_is_written_the_same_command_writes_it(
    repository, kaggle, monkeypatch
):
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(push_report, "report_or_why", interrupt)
        repository.push("files=1")
    repository.push("files=1")
    assert "report.html" in repository.message
    assert kaggle.faults.calls["SaveKernel"] == 1


@pytest.mark.parametrize("at", ["submission.Submission._enter", "submission.tell_standing"])
def test_killed_while_it_is_submitted_the_same_command_goes_on(
    repository, kaggle, open_competition, monkeypatch, at
):
    open_competition(kaggle, metric="accuracy")
    repository.describe(competition_sources=["garden"])
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(f"kernelkit.submissions.{at}", interrupt)
        repository.push("files=1", submit="first")
    folder = repository.push("files=1", submit="first")
    assert "1.00000 in garden (submission 1)" in repository.message
    assert [each.reference for each in submitted.read(folder)] == [1]
    assert kaggle.faults.calls["SaveKernel"] == 1
    assert kaggle.faults.calls["CreateSubmission"] == 1


def test_one_that_could_not_be_scored_is_submitted_again_by_the_same_command(
    repository, kaggle, open_competition
):
    rules = open_competition(kaggle, metric="accuracy")
    repository.describe(competition_sources=["garden"])
    missing = rules.rename(rules.with_suffix(".later"))
    with pytest.raises(errors.RefusedError, match="cannot score it"):
        repository.push("files=1", submit="first")
    missing.rename(rules)
    repository.push("files=1", submit="first")
    assert "1.00000 in garden (submission 2)" in repository.message
    assert kaggle.faults.calls["SaveKernel"] == 1


def test_one_whose_score_is_here_is_told_how_to_submit_it_with_another_message(
    repository, kaggle, open_competition
):
    open_competition(kaggle, metric="accuracy")
    repository.describe(competition_sources=["garden"])
    repository.push("files=1", submit="first")
    hint = r"kernelkit resume tester/blossom-train/1 --submit 'a second' submits its result"
    with pytest.raises(errors.PreflightError, match=hint):
        repository.push("files=1", submit="a second")


def test_one_whose_results_are_here_is_told_how_they_come_into_another_folder(
    repository, kaggle, tmp_path
):
    folder = repository.push("files=1")
    told = r"resume tester/blossom-train/1 --output \S+/new downloads its results there"
    with pytest.raises(errors.PreflightError, match=told):
        repository.push("files=1", output=tmp_path / "new")
    with pytest.raises(errors.PreflightError, match=r"train/1 fetches what is missing there"):
        repository.push("files=1", output=folder)
    repository.resume(output=tmp_path / "new")
    repository.assert_whole(tmp_path / "new", 1)


def test_once_means_one_submission_whatever_the_message(repository, kaggle, open_competition):
    open_competition(kaggle, metric="accuracy")
    repository.describe(competition_sources=["garden"])
    repository.push("files=1", submit="first")
    repository.push("files=1", submit="a second", once=True)
    assert "submission 1 is of this file" in repository.message
    assert "makes another one" not in repository.message
    assert kaggle.faults.calls["CreateSubmission"] == 1


def test_killed_before_what_kaggle_saved_is_compared_the_same_command_compares_it(
    repository, kaggle, monkeypatch
):
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("kernelkit.push.sending.sent.check_saved", interrupt)
        repository.push("files=1")
    refusal = Mock(side_effect=errors.RefusedError("on another machine"))
    monkeypatch.setattr("kernelkit.push.sending.sent.check_saved", refusal)
    with pytest.raises(errors.RefusedError, match="on another machine"):
        repository.push("files=1")
    assert repository.states() == ["failed"]
    assert kaggle.faults.calls["SaveKernel"] == 1


ON_A_GPU = {"machine_shape": "NvidiaTeslaT4", "accelerator": "gpu"}
NO_SEEDS = {"sources": ("competition garden",)}


@pytest.fixture
def stored_otherwise(monkeypatch):
    """`stored_otherwise(**fields)`: Kaggle stores each version with these fields."""
    stored = Kaggle.stored

    def change(**fields):
        def changed(kaggle, *version):
            found = stored(kaggle, *version)
            return found and replace(found, **fields)

        monkeypatch.setattr(Kaggle, "stored", changed)

    return change


@pytest.fixture
def killed_without_an_answer(repository, kaggle, monkeypatch, open_competition, stored_otherwise):
    """A push whose command is killed once Kaggle has saved it, before the answer arrives."""

    def push(without_answer, **options):
        repository.on_cpu()
        open_competition(kaggle)
        repository.describe(competition_sources=["garden"], dataset_sources=["me/seeds"])
        save = Kaggle.save

        def killed(*sent):
            save(*sent)
            raise KeyboardInterrupt

        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(Kaggle, "save", killed)
            repository.push(**options)
        assert repository.states() == ["sending"]
        stored_otherwise(**without_answer)

    return push


@pytest.mark.parametrize(
    ("stored", "told"),
    [(ON_A_GPU, "on NvidiaTeslaT4, not on a CPU"), (NO_SEEDS, "refused dataset me/seeds and runs")],
)
def test_killed_without_an_answer_resume_compares_what_kaggle_saved(
    repository, killed_without_an_answer, stored, told
):
    killed_without_an_answer(stored)
    with pytest.raises(errors.RefusedError, match=told):
        repository.resume()
    assert repository.states() == ["failed"]
    with pytest.raises(errors.RefusedError, match="Its files are in"):
        repository.resume()
    assert repository.states() == ["failed"]


@pytest.mark.parametrize("stops", ["an interrupt", "a failure"])
def test_stopped_without_an_answer_a_forced_push_names_the_way_to_its_one_session(
    repository, kaggle, monkeypatch, stops
):
    repository.on_cpu()
    save = Kaggle.save
    failure = Failure(FailureKind.NETWORK, "SaveKernel", "no answer in time", sent=True)
    stop, error = KeyboardInterrupt, KeyboardInterrupt()
    if stops == "a failure":
        stop, error = errors.NetworkError, failure

    def stopped(*sent):
        save(*sent)
        raise error

    with monkeypatch.context() as patch, pytest.raises(stop) as caught:
        patch.setattr(Sending, "once", lambda sending: stopped(sending.kaggle, sending.fields))
        repository.push(force=True)
    told = f"{repository.message} {caught.value}"
    assert "whether the push arrived: `kernelkit resume` looks for it" in told
    repository.resume()
    assert repository.states() == ["complete"]
    assert kaggle.faults.calls["SaveKernel"] == 1


def test_killed_without_an_answer_a_version_without_a_session_is_compared_when_repeated(
    repository, killed_without_an_answer
):
    killed_without_an_answer(ON_A_GPU, no_run=True)
    with pytest.raises(errors.RefusedError, match="for NvidiaTeslaT4, not for a CPU"):
        repository.push(no_run=True)
    assert repository.states() == ["failed"]


def test_killed_while_it_runs_the_same_command_waits_for_it(repository, serve, quick_sessions):
    server = serve(queue_seconds=2.0)

    killed = push_killed(repository, server, lambda: repository.states() == ["sent"])

    assert killed < 0
    repository.push("files=9", dry_run=True)
    assert "identical to tester/blossom-train/1 (sent)" in repository.message
    for words in ("would be refused", "this would be"):  # as it is taken up
        assert words not in repository.message
    repository.assert_whole(repository.push("files=9"), 9)
    for options in ({}, {"dry_run": True}):
        with pytest.raises(errors.PreflightError, match=r"blossom-train/1 \(complete\), whose"):
            repository.push("files=9", **options)
    assert server.faults.calls["SaveKernel"] == 1


def test_one_whose_status_was_lost_is_asked_about_again(repository, kaggle, monkeypatch):
    with monkeypatch.context() as patch, pytest.raises(errors.RefusedError, match="no session"):
        shown = Kaggle.status
        asked = []

        def lost(self, kernel, version, until=None):
            """Nothing while the command waits, as behind a 404."""
            asked.append(version)
            return None if version else shown(self, kernel, version, until)

        patch.setattr(Kaggle, "status", lost)
        repository.push("files=1")
    assert repository.states() == ["lost"]
    assert (repository.push("files=1") / "0.bin").is_file()
    assert repository.states() == ["complete"]
    assert kaggle.faults.calls["SaveKernel"] == 1


@pytest.mark.parametrize("fails", [False, True])
def test_one_whose_end_was_seen_is_not_lost_when_kaggle_no_longer_shows_it(
    repository, kaggle, monkeypatch, fails
):
    with contextlib.suppress(errors.RunFailedError):
        repository.push("files=1", f"fail={fails}")
    before = repository.states()
    monkeypatch.setattr(Kaggle, "status", lambda *_, **__: None)
    with pytest.raises(errors.RefusedError, match="no session"):
        repository.resume()
    assert repository.states() == before == ["failed" if fails else "complete"]


def test_one_that_kaggle_no_longer_shows_is_pushed_again(repository, kaggle, connect, monkeypatch):
    with monkeypatch.context() as patch, pytest.raises(errors.RefusedError, match="no session"):
        patch.setattr(Kaggle, "status", lambda *_, **__: None)
        repository.push("files=1", wait=False)
        repository.resume("last")
    client, kernel = connect().kaggle, Kernel("tester", "blossom-train")
    while client.status(kernel, None).alive:
        time.sleep(0.05)
    with monkeypatch.context() as patch:
        shown = Kaggle.status
        patch.setattr(
            Kaggle,
            "status",
            lambda self, kernel, version, until=None: (
                None if version == 1 else shown(self, kernel, version, until)
            ),
        )
        repository.push("files=1")
    assert [push.version for push in repository.pushes()] == [1, 2]


def test_whose_folder_is_gone_is_fetched_again(repository, kaggle):
    folder = repository.push("files=1")
    folder.rename(folder.with_name("elsewhere"))
    assert (repository.push("files=1") / "0.bin").is_file()
    assert kaggle.faults.calls["SaveKernel"] == 1


def test_new_data_is_another_push(repository, kaggle, tmp_path):
    data = tmp_path / "leaves"
    data.mkdir()
    (data / "leaves.csv").write_text("id\n1\n")
    repository.run(upload_dataset, data, "leaves")
    repository.describe(dataset_sources=["tester/leaves"])
    repository.push("files=1")
    with pytest.raises(errors.PreflightError, match="identical to tester/blossom-train/1"):
        repository.push("files=1")

    (data / "leaves.csv").write_text("id\n1\n2\n")
    repository.run(upload_dataset, data, "leaves")
    repository.push("files=1")

    assert [push.inputs for push in repository.pushes()] == [
        {"tester/leaves": 1},
        {"tester/leaves": 2},
    ]


def save_by_hand(connect):
    """Save a version in the site's editor: what is stored there, with another cell."""
    client, kernel = connect().kaggle, Kernel("tester", "blossom-train")
    text = client.stored(kernel).text.replace("withered", "wilted")
    fields = {"slug": str(kernel), "new_title": "Blossom train", "text": text}
    client.save(fields | {"language": "python", "kernel_type": "notebook"})


def test_a_version_saved_on_kaggle_is_said_before_it_is_pushed_over(repository, kaggle, connect):
    repository.push("files=1")
    save_by_hand(connect)
    words = "tester/blossom-train/2 was saved on Kaggle since the last push from here"
    repository.run(tell_status)
    assert words in repository.message
    repository.push("files=2", dry_run=True)
    assert f"{words}, and this push goes over it" in repository.message


def test_the_folder_of_another_kernel_is_not_taken_for_the_results(repository, kaggle):
    folder = repository.runs / "rehearsal-blossom-train-v1"
    claims.claim(folder, Claim("team/blossom-train", 1), chosen=False)
    results = repository.push("files=1")
    assert results.name == "rehearsal-blossom-train-v1-2"
    shutil.rmtree(results)
    assert (repository.push("files=1", once=True) / "0.bin").is_file()
    assert [push.version for push in repository.pushes()] == [1]


def test_a_push_that_kaggle_gave_another_name_is_found(repository, kaggle):
    repository.describe(id="tester/one-name", title="Another name here")
    results = repository.push("files=1")
    assert repository.push("files=1", once=True) == results
    (push,) = repository.pushes()
    assert push.reference == "tester/another-name-here/1"
