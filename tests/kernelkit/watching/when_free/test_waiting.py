"""A push waits for a session and hours, and sends what stands in the files then."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from click.testing import CliRunner

from kernelkit import errors
from kernelkit.cli.console import main
from kernelkit.kaggle.client import Kaggle
from kernelkit.kaggle.kernels import Kernels
from kernelkit.kaggle.transport.failures import Failure, FailureKind
from kernelkit.push.sending.save_once import Sending
from kernelkit.watching.status import list_pushes
from kernelkit.watching.stop import stop_push
from local_kaggle.faults.schedule import Fault, FaultKind, FaultSchedule

UNTIL_RELEASED = """\
import pathlib, time
while not pathlib.Path("released").exists():
    time.sleep(0.02)
"""


def release(server):
    """Let the first session end, once it has begun."""
    working = server.root / "sessions" / "1" / "working"
    while not working.is_dir():
        time.sleep(0.02)
    (working / "released").touch()


def wait_until_it_waits(push, when_free):
    """Until a push in another thread has said what it waits for."""
    while not when_free.events("waiting"):
        assert not push.done(), push.exception()
        time.sleep(0.05)


def test_it_waits_for_the_hours_that_the_whole_run_may_take(server, when_free, store, repository):
    store.count_each_run_as(hours=16)  # however short it is
    when_free.push("files=1", timeout=300)

    def a_week_goes_by():
        while not when_free.events("waiting"):
            time.sleep(0.05)
        time.sleep(0.5)  # of this time the command must make nothing
        assert len(store.sessions()) == 1
        store.next_week()

    with ThreadPoolExecutor() as pool:
        week = pool.submit(a_week_goes_by)
        when_free.push("files=2", timeout=300)
        week.result()

    (waiting,) = when_free.events("waiting")
    hours = "4.0 of 20 TPU hours are left this week and the run may take 5.0"
    assert hours in waiting["text"]
    assert store.files() == [1, 2]
    assert repository.states() == ["complete"] * 2


def test_another_session_is_waited_for_and_nothing_is_told_twice(
    server, when_free, store, repository
):
    repository.sources(UNTIL_RELEASED)
    repository.push(wait=False)
    repository.sources("print('next')")
    with ThreadPoolExecutor() as pool:
        push = pool.submit(when_free.push)
        wait_until_it_waits(push, when_free)
        time.sleep(0.5)  # some attempts
        release(server)
        push.result()
    assert "is still" in when_free.events("waiting")[0]["text"]
    assert len(when_free.events("bundle")) == 1
    store.assert_none_overlap()
    assert repository.states()[1:] == ["complete"]


def test_what_stands_in_the_files_when_it_is_free_is_pushed(server, when_free, store, repository):
    with ThreadPoolExecutor() as pool:
        with when_free.without_hours():
            push = pool.submit(when_free.push, "files=1")
            wait_until_it_waits(push, when_free)
            (repository.package / "petals.py").write_text("F1 = 0.25\n")
        folder = push.result()
    assert json.loads((folder / "metrics.json").read_text())["macro_f1"] == 0.25
    assert len(store.sessions()) == 1


def test_a_mistake_is_found_before_it_waits(server, when_free, repository):
    for options, kind, told in (
        ({"parameters": ["flies=3"]}, errors.ParameterError, "did you mean files"),
        ({"submit": "one"}, errors.PreflightError, "competition_sources"),
        ({"chain": True}, errors.ParameterError, "--chain"),
        ({"dry_run": True}, errors.ParameterError, "--when-free"),
    ):
        parameters = options.pop("parameters", ())
        with when_free.without_hours(), pytest.raises(kind, match=told):
            when_free.push(*parameters, **options)
    assert repository.pushes() == []


def test_a_folder_that_is_taken_is_refused_before_it_waits(server, when_free, repository, tmp_path):
    repository.push("files=1", output=tmp_path / "out")
    with when_free.without_hours(), pytest.raises(errors.ParameterError, match="another folder"):
        when_free.push("files=2", output=tmp_path / "out")
    assert not when_free.events("waiting")


def test_a_cron_job_gets_13_while_something_is_left(server, when_free, repository, store):
    with when_free.without_hours():
        done = CliRunner().invoke(main, ["push", "--when-free", "--no-wait", "-p", "files=1"])
        assert done.exit_code == 13, done.output
        assert "of 0 TPU hours" in done.output
    assert store.sessions() == []


def test_without_waiting_it_does_what_can_be_done_now(server, when_free, store, repository):
    with pytest.raises(errors.StillRunningError, match="blossom-train/1 is still"):
        when_free.push("files=1", wait=False)
    while None in store.sessions()[-1]:
        time.sleep(0.05)
    folder = when_free.push("files=1", wait=False)
    repository.assert_whole(folder, 1)
    assert store.files() == [1]
    assert repository.states() == ["complete"]


def test_a_push_that_fails_ends_its_command_and_is_not_repeated_by_a_schedule(
    server, when_free, store, repository
):
    with pytest.raises(errors.RunFailedError, match="ended in error"):
        when_free.push("fail=true")
    with pytest.raises(errors.PreflightError, match=r"blossom-train/1 \(failed\): .*--force"):
        when_free.push("fail=true")
    assert repository.states() == ["failed"]
    assert len(store.sessions()) == 1


def test_what_failed_under_the_name_that_kaggle_made_of_its_title_is_not_repeated(
    server, when_free, store, repository
):
    repository.describe(id="tester/one-name", title="Another name here")
    with pytest.raises(errors.RunFailedError, match="ended in error"):
        when_free.push("fail=true")
    with pytest.raises(errors.PreflightError, match=r"another-name-here/1 \(failed\): .*--force"):
        when_free.push("fail=true")
    assert len(store.sessions()) == 1


def test_one_that_got_another_machine_is_not_sent_again_by_a_schedule(
    server, when_free, store, repository, monkeypatch
):
    stored = Kaggle.stored

    def on_a_gpu(self, *arguments, **options):
        shown = stored(self, *arguments, **options)
        return shown and replace(shown, machine_shape="NvidiaTeslaT4", accelerator="gpu")

    monkeypatch.setattr(Kaggle, "stored", on_a_gpu)
    with pytest.raises(errors.RefusedError, match="not on a TPU"):
        when_free.push("files=1", wait=False)
    while None in store.sessions()[-1]:
        time.sleep(0.05)
    with pytest.raises(errors.PreflightError, match=r"blossom-train/1 \(failed\): .*--force"):
        when_free.push("files=1", wait=False)
    assert len(store.sessions()) == 1


def test_a_run_that_was_stopped_is_not_begun_again_by_a_schedule(
    server, when_free, store, repository
):
    repository.sources("import time; time.sleep(600)")
    with pytest.raises(errors.StillRunningError, match="is still"):
        when_free.push(wait=False)
    repository.run(stop_push, confirm=bool)
    assert repository.states() == ["stopped"]
    with pytest.raises(errors.PreflightError, match=r"\(stopped\): .*--force"):
        when_free.push(wait=False)


def test_an_outage_ends_the_command_and_loses_nothing(
    server, when_free, store, repository, tmp_path
):
    home = tmp_path / "home"
    server.faults = FaultSchedule([Fault("Download", n, FaultKind.ERROR_500) for n in range(2, 99)])
    with pytest.raises(errors.OutputsError):
        when_free.push("files=1", output=home)
    assert repository.states() == ["not fetched"]
    assert (home / ".kernelkit").is_dir()
    server.faults = FaultSchedule([Fault("ListKernelSessionOutput", 0, FaultKind.ERROR_500)])
    with pytest.raises(errors.NetworkError):
        when_free.push("files=1", output=home)
    server.faults = FaultSchedule()
    assert when_free.push("files=1", output=home) == home
    assert repository.states() == ["complete"]
    with pytest.raises(errors.ParameterError, match="not empty"):
        when_free.push("files=2", output=home)
    assert store.files() == [1]


def test_two_commands_for_the_same_push_make_one(server, when_free, store):
    with ThreadPoolExecutor(2) as pool:
        pushes = [pool.submit(when_free.push, "files=1") for _ in range(2)]
        (folder,) = {push.result() for push in pushes}
    assert (folder / "metrics.json").is_file()
    assert store.files() == [1]


def test_commands_for_several_pushes_make_one_session_at_a_time(server, when_free, store):
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda files: when_free.push(f"files={files}"), range(3)))
    assert sorted(store.files()) == [0, 1, 2]
    store.assert_none_overlap()


def test_what_is_complete_already_is_not_pushed_again_unless_forced(
    server, when_free, store, repository
):
    folder = when_free.push("files=1")
    assert when_free.push("files=1") == folder
    assert when_free.events("skipped")
    assert repository.states() == ["complete"]
    when_free.push("files=1", force=True)
    assert store.files() == [1, 1]


def test_a_forced_push_whose_answer_is_lost_is_still_one_session(
    server, when_free, store, repository, monkeypatch
):
    when_free.push("files=1")
    server.faults = FaultSchedule([Fault("SaveKernel", 1, FaultKind.LOST_ANSWER)])
    silent = Failure(FailureKind.NETWORK, "GetKernel", "no answer")
    recovered = Sending._recovered
    answers = iter([silent])

    def once_silent(self, *arguments):
        for failure in answers:
            raise failure
        return recovered(self, *arguments)

    monkeypatch.setattr(Sending, "_recovered", once_silent)
    when_free.push("files=1", force=True)
    assert store.files() == [1, 1]
    assert repository.states() == ["complete", "complete"]


def test_the_list_has_a_push_that_was_refused_until_it_went_through_once(
    server, when_free, repository, monkeypatch
):
    save = Kernels.save_kernel
    left = [None] * 3

    def refuse(*arguments):
        if left:
            left.pop()
            raise Failure(FailureKind.CAPACITY, "SaveKernel", "Maximum batch TPU session count")
        return save(*arguments)

    monkeypatch.setattr(Kernels, "save_kernel", refuse)
    for refused in (1, 2):
        with pytest.raises(errors.StillRunningError):
            when_free.push("files=1", wait=False)
        assert repository.states() == ["refused"] * refused
        assert list_pushes(repository.runs).count("refused") == 1
    when_free.push("files=1")
    assert repository.states() == ["refused"] * 3 + ["complete"]
    assert "refused" not in list_pushes(repository.runs)
    assert list_pushes(repository.runs, as_json=True).count('"listed"') == 1
