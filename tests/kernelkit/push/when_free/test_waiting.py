"""A push that waits is entered once, shown, and frozen."""

import contextlib
import json
import sqlite3

import pytest
from click.testing import CliRunner

from kernelkit import errors
from kernelkit.cli.console import main
from kernelkit.watching.stop import stop_push


def test_it_is_listed_with_what_stop_takes(server, when_free, repository):
    numbers = [when_free.enter(f"files={files}", timeout=60) for files in range(3)]
    table = CliRunner().invoke(main, ["status", "--all"]).output
    assert [number in table for number in numbers] == [True] * 3
    done = CliRunner().invoke(main, ["stop", numbers[1]])
    assert done.exit_code == 0, done.output
    assert when_free.states() == ["waiting", "stopped", "waiting"]
    unknown = CliRunner().invoke(main, ["stop", "0" * 16])
    assert (unknown.exit_code, "kernelkit status --all" in unknown.output) == (2, True)


def test_a_mistake_is_found_before_it_waits(server, repository):
    for options, kind, told in (
        ({"parameters": ["flies=3"]}, errors.ParameterError, "did you mean files"),
        ({"submit": "one"}, errors.PreflightError, "competition_sources"),
        ({"chain": True}, errors.ParameterError, "--chain"),
    ):
        parameters = options.pop("parameters", ())
        with pytest.raises(kind, match=told):
            repository.push(*parameters, when_free=True, **options)
    assert repository.pushes() == []


def test_the_same_push_is_entered_once(server, when_free, repository):
    number = when_free.enter("files=1")
    assert when_free.enter("files=1") == number
    assert when_free.enter("files=1", force=True) == number  # whose command is gone
    assert when_free.enter("files=2") != number
    assert len(repository.pushes()) == 2


def test_resume_says_how_to_go_on_with_it(server, when_free, repository):
    number = when_free.enter("files=1")
    for reference in ("last", number):
        with pytest.raises(errors.ParameterError, match="kernelkit push --when-free continues"):
            repository.resume(reference)


def test_a_plan_of_another_version_of_the_kit_is_refused_and_can_be_stopped(
    server, when_free, store, repository
):
    number = when_free.enter("files=1")
    with contextlib.closing(sqlite3.connect(repository.runs / "pushes.sqlite")) as ledger, ledger:
        (text,) = ledger.execute("SELECT plan FROM frozen").fetchone()
        other = json.dumps(json.loads(text) | {"format": 99})
        ledger.execute("UPDATE frozen SET plan = ?", (other,))
    with pytest.raises(errors.ParameterError, match=f"kernelkit stop {number}"):
        when_free.push("files=2")
    assert store.sessions() == []
    repository.run(stop_push, number, confirm=pytest.fail)
    when_free.push("files=2")
    assert store.files() == [2]


def test_a_cron_job_gets_13_while_something_is_left(server, when_free, repository):
    when_free.enter("files=1")
    done = CliRunner().invoke(main, ["push", "--when-free", "--no-wait", "-p", "files=1"])
    assert done.exit_code == 13, done.output
