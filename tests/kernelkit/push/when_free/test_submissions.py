"""A push that waited may go on from the last run, and enter its result, once."""

import time

import pytest

from kernelkit import errors
from kernelkit.runs import submissions
from local_kaggle import ServerLimits

A_DAY = ServerLimits().submissions_a_day


def test_results_are_entered_in_turn_and_a_push_may_go_on_from_the_last(
    server, when_free, store, repository, meadow
):
    when_free.enter("files=1", submit="one")
    when_free.enter("files=2", continues=True)
    for _ in range(2):  # the second time, nothing is left to do
        when_free.push("files=3", submit="three")
        assert store.submissions() == ["one", "three"]
    assert [push.score for push in repository.pushes()] == ["1.00000", None, "1.00000"]
    attached = [request.get("kernelDataSources", []) for request in store.requests()]
    assert attached == [[], ["tester/blossom-train"], []]
    (kept,) = submissions.read(repository.runs / "rehearsal-blossom-train-v1")  # for its report
    assert (kept.place, kept.score) == ("meadow (rehearsal)", "1.00000")
    assert kept.parameters["files"] == 1


def test_a_day_without_submissions_left_is_waited_out(server, when_free, store, repository, meadow):
    now = time.time()
    for _ in range(A_DAY):
        store.run(
            "INSERT INTO submissions (competition, user, description, name, size, created, status,"
            " score) VALUES ('meadow', 'tester', 'earlier', 'a.csv', 1, ?, 'COMPLETE', '0.5')",
            now,
        )
    with pytest.raises(errors.CapacityError, match="no more submissions today"):
        when_free.push("files=1", submit="one")
    assert when_free.states() == ["not submitted"]
    store.run("UPDATE submissions SET created = created - 86400")
    when_free.push("files=1", submit="one")
    assert when_free.states() == ["complete"]
    assert store.submissions() == ["earlier"] * A_DAY + ["one"]
    assert store.files() == [1]


def test_a_result_that_cannot_be_scored_is_entered_once(
    server, when_free, store, repository, meadow
):
    meadow.unlink()
    with pytest.raises(errors.RefusedError, match="cannot score it"):
        when_free.push("files=1", submit="one")
    assert [push.score for push in repository.pushes()] == ["not scored"]
    when_free.push("files=2")
    assert store.submissions() == ["one"]
