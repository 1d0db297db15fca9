"""Pushes that wait are made in order, one session at a time, within the week's hours."""

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from kernelkit import errors
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


def wait_until_it_waits(push, when_free, repository):
    """Until the second push, in another thread, has said what it waits for."""
    while repository.states()[1:] != ["waiting"] or not when_free.events("waiting"):
        assert not push.done(), push.exception()
        time.sleep(0.05)


def test_pushes_never_overlap_and_keep_to_the_weeks_hours(server, when_free, store, repository):
    store.count_each_run_as(hours=8)  # however short it is
    for files in range(2):
        when_free.enter(f"files={files}", timeout=300)
    before = []

    def a_week_goes_by():
        """Once the command waits for hours that are not there, for a while longer."""
        while len(store.sessions()) < 2 or not when_free.events("waiting"):
            time.sleep(0.05)
        time.sleep(0.5)  # of this time the command must make nothing
        before.append(len(store.sessions()))
        store.next_week()

    week = threading.Thread(target=a_week_goes_by)
    week.start()
    when_free.push("files=2", timeout=300)
    week.join()

    assert before == [2]
    (waiting,) = when_free.events("waiting")
    hours = "4.0 of 20 TPU hours are left this week and the run may take 5.0"
    assert hours in waiting["text"]
    assert store.files() == [0, 1, 2]
    store.assert_none_overlap()
    assert when_free.states() == ["complete"] * 3
    assert [push.version for push in repository.pushes()] == [1, 2, 3]
    repository.assert_whole(repository.runs / "rehearsal-blossom-train-v3", 2)


def test_what_waited_is_what_runs_also_after_one_that_fails(server, when_free, store, repository):
    when_free.enter("fail=true")
    when_free.enter("files=1")
    (repository.package / "petals.py").write_text("F1 = 0.25\n")
    repository.describe(title="Another title", id="INSERT_USERNAME/another-title")
    folder = when_free.push("files=2")
    (failure,) = [e for e in when_free.events("failure") if "waited before" in e["text"]]
    assert "ended in error" in failure["text"]
    assert when_free.states() == ["failed", "complete", "complete"]
    kernels = [push.kernel for push in repository.pushes()]
    assert kernels == [*["tester/blossom-train"] * 2, "tester/another-title"]
    frozen = repository.runs / "rehearsal-blossom-train-v2"
    scores = [json.loads((each / "metrics.json").read_text()) for each in (frozen, folder)]
    assert [score["macro_f1"] for score in scores] == [0.75, 0.25]


def test_a_push_that_fails_ends_its_own_command(server, when_free):
    with pytest.raises(errors.RunFailedError, match="ended in error"):
        when_free.push("fail=true")
    assert when_free.states() == ["failed"]
    assert [line["unfinished"] for line in when_free.listed()] == [False]


def test_a_run_that_failed_is_not_repeated_by_a_schedule(server, when_free, store):
    with pytest.raises(errors.RunFailedError):
        when_free.push("fail=true")
    with pytest.raises(errors.PreflightError, match=r"blossom-train/1 \(failed\): .*--force"):
        when_free.push("fail=true")
    assert len(store.sessions()) == 1


def test_a_run_that_was_stopped_is_not_begun_again_by_a_schedule(
    server, when_free, store, repository
):
    repository.sources("import time; time.sleep(600)")
    with pytest.raises(errors.StillRunningError, match="is still"):
        when_free.push(wait=False)
    repository.run(stop_push, confirm=bool)
    assert when_free.states() == ["stopped"]
    with pytest.raises(errors.PreflightError, match=r"\(stopped\): .*--force"):
        when_free.push(wait=False)


def test_another_session_is_waited_for(server, when_free, store, repository):
    repository.sources(UNTIL_RELEASED)
    repository.push(wait=False)
    repository.sources("print('next')")
    with ThreadPoolExecutor() as pool:
        push = pool.submit(when_free.push)
        wait_until_it_waits(push, when_free, repository)
        release(server)
        push.result()
    assert "is still" in when_free.events("waiting")[0]["text"]
    store.assert_none_overlap()
    assert repository.states()[1:] == ["complete"]


def test_one_that_was_stopped_is_not_pushed(server, when_free, store, repository):
    number = when_free.enter("files=1")
    repository.run(stop_push, number, confirm=pytest.fail)
    assert f"push {number} of tester/blossom-train no longer waits" in repository.message
    when_free.push("files=2")
    assert store.files() == [2]
    assert when_free.states() == ["stopped", "complete"]


def test_a_command_whose_push_is_stopped_ends(server, when_free, store, repository):
    repository.sources(UNTIL_RELEASED)
    repository.push(wait=False)
    repository.sources("print('next')")
    with ThreadPoolExecutor() as pool:
        push = pool.submit(when_free.push)
        wait_until_it_waits(push, when_free, repository)
        stop_push(confirm=pytest.fail)  # the last push
        release(server)
        assert push.result() is None
    assert "was cancelled" in when_free.events("waits")[-1]["text"]
    assert len(store.sessions()) == 1


def test_an_outage_ends_the_command_and_loses_nothing(server, when_free, store, tmp_path):
    home = tmp_path / "home"
    server.faults = FaultSchedule([Fault("Download", n, FaultKind.ERROR_500) for n in range(2, 99)])
    with pytest.raises(errors.OutputsError):
        when_free.push("files=1", output=home)
    assert when_free.states() == ["not fetched"]
    assert (home / ".kernelkit").is_dir()
    server.faults = FaultSchedule([Fault("ListKernelSessionOutput", 0, FaultKind.ERROR_500)])
    with pytest.raises(errors.NetworkError):
        when_free.push("files=1", output=home)
    server.faults = FaultSchedule()
    assert when_free.push("files=1", output=home) == home
    assert when_free.states() == ["complete"]
    with pytest.raises(errors.ParameterError, match="not empty"):
        when_free.push("files=2", output=home)
    assert store.files() == [1]


def test_without_waiting_it_does_what_can_be_done_now(server, when_free, store):
    when_free.enter("files=1")
    for reference in ("1", "2"):
        with pytest.raises(errors.StillRunningError, match=f"blossom-train/{reference} is still"):
            when_free.push("files=2", wait=False)
        while None in store.sessions()[-1]:
            time.sleep(0.05)
    when_free.push("files=2", wait=False)
    assert store.files() == [1, 2]
    assert when_free.states() == ["complete"] * 2


def test_two_commands_for_the_same_push_make_one(server, when_free, store):
    with ThreadPoolExecutor(2) as pool:
        pushes = [pool.submit(when_free.push, "files=1") for _ in range(2)]
        (folder,) = {push.result() for push in pushes}
    assert (folder / "metrics.json").is_file()
    assert store.files() == [1]


def test_commands_for_two_pushes_are_served_in_the_order_of_arrival(server, when_free, store):
    for files in range(3):
        when_free.enter(f"files={files}")
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda files: when_free.push(f"files={files}"), (2, 1, 0)))
    assert store.files() == [0, 1, 2]
    store.assert_none_overlap()


def test_what_is_complete_already_is_not_pushed_again_unless_forced(server, when_free, store):
    folder = when_free.push("files=1")
    assert when_free.push("files=1") == folder
    assert when_free.events("skipped")
    assert when_free.states() == ["complete"]
    when_free.push("files=1", force=True)
    assert store.files() == [1, 1]


def test_a_rehearsal_waits_for_nothing_of_kaggles(repository, quick_sessions):
    repository.push("files=1", when_free=True, local=True)
    (push,) = repository.pushes()
    assert (push.rehearsal, push.state) == (True, "complete")
