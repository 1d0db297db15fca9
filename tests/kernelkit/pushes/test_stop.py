"""Stopping a run deletes its kernel, which is asked for first and told plainly."""

import io
import json

import pytest
from click.testing import CliRunner

from kernelkit import errors
from kernelkit.commands.kaggle.pushed import stop as stop_command
from kernelkit.kaggle_api.client import Kaggle, Kernel
from kernelkit.kaggle_api.connection import open_connection
from kernelkit.pushes.status import stop
from kernelkit.workspace import ledger as ledgers
from kernelkit.workspace.ledger import Ledger
from local_kaggle.faults.schedule import Fault, FaultKind, FaultSchedule
from local_kaggle.limits import ServerLimits
from local_kaggle.server import LocalKaggle

KERNEL = Kernel("tester", "blossom-train")
pytestmark = pytest.mark.usefixtures("quick_sessions")


@pytest.fixture
def server(tmp_path, repository, monkeypatch):
    monkeypatch.chdir(repository.root)
    limits = ServerLimits(queue_seconds=60)
    with LocalKaggle(tmp_path / "kaggle", limits=limits) as server, server.attach():
        yield server


@pytest.fixture
def stopping(timing):
    """Stops the last push, answering yes; returns whether it did and its events."""

    def stopping(answer=True, **options):
        stream, asked = io.StringIO(), []

        def confirm(warning):
            asked.append(warning)
            return answer

        done = stop(confirm=confirm, as_json=True, stream=stream, timing=timing, **options)
        return done, asked, [json.loads(line) for line in stream.getvalue().splitlines()]

    return stopping


def kernel_there(timing):
    return Kaggle(open_connection(timing.timeouts), timing.retries).stored(KERNEL) is not None


def states(repository):
    return [push.state for push in Ledger(repository.runs / "pushes.jsonl").pushes()]


def test_the_kernel_goes_and_the_ledger_knows(server, repository, stopping, timing):
    repository.push(wait=False)
    done, (warning,), events = stopping()
    assert done
    assert "cannot stop a session" in warning
    assert "its only version" in warning
    assert events[-1]["event"] == "stopped"
    assert not kernel_there(timing)
    assert states(repository) == [ledgers.STOPPED]


def test_a_no_leaves_everything(server, repository, stopping, timing):
    repository.push(wait=False)
    done, asked, events = stopping(answer=False)
    assert not done
    assert len(asked) == 1
    assert [event["event"] for event in events] == ["left"]
    assert kernel_there(timing)
    assert states(repository) == [ledgers.QUEUED]


@pytest.mark.parametrize(
    "kind",
    [
        FaultKind.LOST_ANSWER,
        FaultKind.RESET,
        FaultKind.HTML,
        FaultKind.ERROR_503,
        FaultKind.THROTTLED,
    ],
)
def test_a_fault_on_the_way_is_asked_past(server, repository, stopping, timing, kind):
    repository.push(wait=False)
    server.faults = FaultSchedule([Fault("DeleteKernel", 1, kind)])
    assert stopping()[0]
    assert server.faults.fired
    assert not kernel_there(timing)
    assert states(repository) == [ledgers.STOPPED]


def test_an_outage_is_not_a_deletion(server, repository, stopping, timing):
    repository.push(wait=False)
    server.faults = FaultSchedule([Fault("DeleteKernel", 0, FaultKind.ERROR_500)])
    with pytest.raises(errors.NetworkError):
        stopping()
    server.faults = FaultSchedule()
    assert kernel_there(timing)
    assert states(repository) == [ledgers.QUEUED]


def test_a_run_that_is_over_is_not_deleted(tmp_path, repository, monkeypatch, stopping, timing):
    monkeypatch.chdir(repository.root)
    with LocalKaggle(tmp_path / "kaggle") as server, server.attach():
        repository.push("files=0")
        done, asked, events = stopping()
        assert kernel_there(timing)
    assert (done, asked) == (False, [])
    assert "nothing was deleted" in events[-1]["text"]
    assert states(repository) == [ledgers.COMPLETE]


def test_anothers_kernel_is_not_touched(server, stopping):
    with pytest.raises(errors.ParameterError, match="only its owner can stop it"):
        stopping(reference="somebody/blossom-train/1")


def test_without_a_terminal_it_takes_a_yes(server, repository, timing):
    repository.push(wait=False)
    refused = CliRunner().invoke(stop_command, ["--json"])
    assert refused.exit_code == 2
    assert "add --yes" in json.loads(refused.output.splitlines()[-1])["text"]
    assert kernel_there(timing)
    done = CliRunner().invoke(stop_command, ["--yes"])
    assert done.exit_code == 0, done.output
    assert not kernel_there(timing)
