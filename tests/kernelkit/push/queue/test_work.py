"""Queued pushes are made in order, one session at a time, within the week's hours."""

import json
import threading
import time

import pytest

from kernelkit import errors
from kernelkit.push import queue_work as work
from kernelkit.push.queue_items import remove
from local_kaggle.faults.schedule import Fault, FaultKind, FaultSchedule


def test_pushes_never_overlap_and_keep_to_the_weeks_hours(server, queue, store, repository):
    store.count_each_run_as(hours=8)  # however short it is
    for files in range(3):
        queue.add(f"files={files}", timeout=300)
    before = []

    def a_week_goes_by():
        """Once the queue waits for hours that are not there, for a while longer."""
        while len(store.sessions()) < 2 or not queue.events("waiting"):
            time.sleep(0.05)
        time.sleep(0.5)  # of this time the queue must make nothing
        before.append(len(store.sessions()))
        store.next_week()

    week = threading.Thread(target=a_week_goes_by)
    week.start()
    queue.run()
    week.join()

    assert before == [2]
    (waiting,) = queue.events("waiting")
    hours = "4.0 of 20 TPU hours are left this week and the run may take 5.0"
    assert hours in waiting["text"]
    assert store.files() == [0, 1, 2]
    store.assert_none_overlap()
    assert queue.states() == ["complete"] * 3
    assert [push.version for push in repository.pushes()] == [1, 2, 3]
    repository.assert_whole(repository.runs / "rehearsal-blossom-train-v3", 2)


def test_what_was_queued_is_what_runs_also_after_one_that_fails(server, queue, store, repository):
    queue.add("fail=true")
    queue.add("files=1")
    (repository.package / "petals.py").write_text("F1 = 0.25\n")
    repository.describe(title="Another title", id="INSERT_USERNAME/another-title")
    with pytest.raises(errors.RunFailedError, match="ended in error"):
        queue.run()
    assert queue.states() == ["failed", "complete"]
    queue.run()  # nothing is left to do
    assert len(store.sessions()) == 2
    assert repository.pushes()[1].kernel == "tester/blossom-train"
    metrics = repository.runs / "rehearsal-blossom-train-v2" / "metrics.json"
    assert json.loads(metrics.read_text())["macro_f1"] == 0.75


def test_another_session_is_waited_for(server, queue, store, repository):
    repository.sources("import time; time.sleep(1)")
    repository.push(wait=False)
    repository.sources("print('next')")
    queue.add()
    queue.run()
    assert "is still" in queue.events("waiting")[0]["text"]
    store.assert_none_overlap()
    assert queue.states() == ["complete"]


def test_an_item_that_is_removed_is_not_pushed_for_the_next_of_its_number(
    server, queue, store, repository, monkeypatch
):
    prepare = work.prepare

    def replaced(*arguments, **options):
        monkeypatch.setattr(work, "prepare", prepare)
        repository.run(remove, [1])
        queue.add("files=2")
        return prepare(*arguments, **options)

    monkeypatch.setattr(work, "prepare", replaced)
    queue.add("files=1")
    queue.run()
    assert store.files() == [2]


def test_an_outage_ends_the_command_and_loses_nothing(server, queue, store):
    server.faults = FaultSchedule([Fault("ListKernelSessionOutput", 0, FaultKind.ERROR_500)])
    queue.add("files=1")
    with pytest.raises(errors.NetworkError):
        queue.run()
    assert queue.states() == ["not fetched"]
    server.faults = FaultSchedule()
    queue.run()
    assert queue.states() == ["complete"]
    assert store.files() == [1]


def test_without_waiting_it_does_what_can_be_done_now(server, queue, store):
    queue.add("files=1")
    queue.add("files=2")
    for done in range(2):
        with pytest.raises(errors.StillRunningError, match=f"queued push {done + 1}, .* is still"):
            queue.run(wait=False)
        while None in store.sessions()[-1]:
            time.sleep(0.05)
    queue.run(wait=False)
    assert store.files() == [1, 2]
    assert queue.states() == ["complete"] * 2


def test_a_rehearsed_queue_is_as_it_was_for_kaggle(repository, queue, quick_sessions):
    queue.add("files=1")
    queue.run(local=True)
    assert queue.states() == ["waiting"]
    assert queue.states(local=True) == ["complete"]
