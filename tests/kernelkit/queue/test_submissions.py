"""A queued push may go on from the last run, and enter its result, once."""

import json
import time

import pytest
from click.testing import CliRunner

from kernelkit import errors
from kernelkit.commands.kaggle.queue import queue
from local_kaggle import ServerLimits

A_DAY = ServerLimits().submissions_a_day


def scores(repository):
    return [push.score for push in repository.pushes()]


def test_results_are_entered_in_turn(server, queue, repository, meadow):
    queue.add("files=1", submit="one")
    queue.add("files=2")
    queue.add("files=3", submit="three")
    queue.run()
    assert meadow.submissions() == ["one", "three"]
    assert scores(repository) == ["1.00000", None, "1.00000"]
    assert [event["score"] for event in queue.events("score")] == ["1.00000"] * 2
    queue.run()
    assert meadow.submissions() == ["one", "three"]


def test_a_day_without_submissions_left_is_waited_out(server, queue, store, repository, meadow):
    now = time.time()
    for _ in range(A_DAY):
        store.run(
            "INSERT INTO submissions (competition, user, description, name, size, created, status,"
            " score) VALUES ('meadow', 'tester', 'earlier', 'a.csv', 1, ?, 'COMPLETE', '0.5')",
            now,
        )
    queue.add("files=1", submit="one")
    with pytest.raises(errors.CapacityError, match="no more submissions today"):
        queue.run()
    assert queue.states() == ["not submitted"]
    store.run("UPDATE submissions SET created = created - 86400")
    queue.run()
    assert queue.states() == ["complete"]
    assert meadow.submissions() == ["earlier"] * A_DAY + ["one"]
    assert store.files() == [1]


def test_a_result_that_cannot_be_scored_is_entered_once(server, queue, repository, meadow):
    meadow.rules.unlink()
    queue.add("files=1", submit="one")
    with pytest.raises(errors.RefusedError, match="cannot score it"):
        queue.run()
    assert scores(repository) == ["not scored"]
    queue.run()
    assert meadow.submissions() == ["one"]


def test_it_goes_on_from_what_the_last_run_left(server, queue, store, repository):
    queue.add("files=1")
    queue.add("files=2", continues=True)
    queue.run()
    requests = [
        json.loads(row[0]) for row in store.run("SELECT request FROM versions ORDER BY created")
    ]
    attached = [request.get("kernelDataSources", []) for request in requests]
    assert attached == [[], ["tester/blossom-train"]]


def test_they_are_options_of_add_and_shown(repository, monkeypatch):
    monkeypatch.chdir(repository.root)
    refused = CliRunner().invoke(queue, ["add", "--submit", "one"])
    assert (refused.exit_code, "competition_sources" in refused.output) == (3, True)
    repository.describe(competition_sources=["meadow"])
    assert CliRunner().invoke(queue, ["add", "--submit", "one", "--continue"]).exit_code == 0
    shown = CliRunner().invoke(queue, ["list"]).output
    assert "continues the last run, to be submitted" in shown
