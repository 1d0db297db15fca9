"""The result of a push that waited is submitted once."""

import time

import pytest

from kernelkit import errors
from kernelkit.runs import submitted
from local_kaggle import ServerLimits

A_DAY = ServerLimits().submissions_a_day


def test_a_result_is_submitted_once_and_kept_for_its_report(
    server, when_free, store, repository, meadow
):
    for _ in range(2):  # the second time, nothing is left to do
        when_free.push("files=1", submit="one")
        assert store.submissions() == ["one"]
    assert [push.score for push in repository.pushes()] == ["1.00000"]
    (kept,) = submitted.read(repository.runs / "rehearsal-blossom-train-v1")
    assert (kept.shown_competition, kept.score) == ("meadow (rehearsal)", "1.00000")
    assert kept.parameters["files"] == 1


def test_a_day_without_submissions_left_is_made_up_for_by_the_same_command(
    server, when_free, store, repository, meadow
):
    now = time.time()
    for _ in range(A_DAY):
        store.run(
            "INSERT INTO submissions (competition, user, description, name, size, created, status,"
            " score) VALUES ('meadow', 'tester', 'earlier', 'a.csv', 1, ?, 'COMPLETE', '0.5')",
            now,
        )
    with pytest.raises(errors.CapacityError, match="no more submissions before 00:00 UTC"):
        when_free.push("files=1", submit="one")
    assert repository.states() == ["complete"]
    store.run("UPDATE submissions SET created = created - 86400")
    when_free.push("files=1", submit="one")
    assert repository.states() == ["complete"]
    assert store.submissions() == ["earlier"] * A_DAY + ["one"]
    assert store.files() == [1]


def test_a_result_that_cannot_be_scored_is_entered_once(
    server, when_free, store, repository, meadow
):
    meadow.unlink()
    with pytest.raises(errors.RefusedError, match="cannot score it"):
        when_free.push("files=1", submit="one")
    assert [push.score for push in repository.pushes()] == ["not scored"]
    with pytest.raises(errors.RefusedError, match="cannot score it"):
        when_free.push("files=1", submit="one")
    assert store.submissions() == ["one"]
