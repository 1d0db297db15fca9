"""`kernelkit stop` deletes the kernel of a push, after it has asked."""

import time
import types
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import Mock

import pytest
from click.testing import CliRunner

from kernelkit import errors
from kernelkit.cli.commands.stop import stop as stop_command
from kernelkit.kaggle.answers import Status
from kernelkit.kaggle.client import Kaggle
from kernelkit.kaggle.kernel import Kernel
from kernelkit.kaggle.kernels import Kernels
from kernelkit.kaggle.transport.failures import Failure, FailureKind
from kernelkit.push.known.ledger import State
from kernelkit.watching.stop import stop_push
from local_kaggle.faults.schedule import Fault, FaultKind, FaultSchedule

pytestmark = pytest.mark.usefixtures("quick_sessions")


@pytest.fixture
def outcome(repository, connect):
    """Whether the kernel still exists, and the states in the ledger."""

    def outcome():
        exists = connect().kaggle.stored(Kernel("tester", "blossom-train")) is not None
        return exists, repository.states()

    return outcome


def test_it_asks_before_it_deletes(busy_kaggle, repository, outcome):
    repository.push(wait=False)
    losses = []
    repository.run(stop_push, confirm=losses.append)
    assert outcome() == (True, [State.SENT])
    assert "cannot stop a session" in losses[0]
    refused = CliRunner().invoke(stop_command, [])  # not in a terminal
    assert refused.exit_code == 2
    assert "add --yes" in refused.output
    assert outcome() == (True, [State.SENT])
    done = CliRunner().invoke(stop_command, ["--yes"])
    assert done.exit_code == 0, done.output
    assert outcome() == (False, [State.STOPPED])


def test_only_a_deletion_that_kaggle_made_counts(busy_kaggle, repository, outcome):
    repository.push(wait=False)
    busy_kaggle.faults = FaultSchedule([Fault("DeleteKernel", 0, FaultKind.ERROR_500)])
    with pytest.raises(errors.NetworkError):
        repository.run(stop_push, confirm=bool)
    busy_kaggle.faults = FaultSchedule([Fault("DeleteKernel", 1, FaultKind.LOST_ANSWER)])
    assert outcome() == (True, [State.SENT])
    repository.run(stop_push, confirm=bool)
    assert busy_kaggle.faults.fired
    assert outcome() == (False, [State.STOPPED])


def test_kaggles_reason_against_a_deletion_is_told(busy_kaggle, repository, outcome, monkeypatch):
    repository.push(wait=False)

    def refuse(*_):
        raise Failure(FailureKind.REFUSED, "DeleteKernel", "a competition has submissions of it")

    with monkeypatch.context() as patch, pytest.raises(errors.RefusedError, match="submissions"):
        patch.setattr(Kernels, "delete_kernel", refuse)
        repository.run(stop_push, confirm=bool)
    answer = types.SimpleNamespace(error_message="it is locked")
    monkeypatch.setattr(Kernels, "delete_kernel", lambda *_: answer)
    with pytest.raises(errors.RefusedError, match=r"still has .* \(it is locked\): see on https"):
        repository.run(stop_push, confirm=bool)
    assert outcome() == (True, [State.SENT])


def test_a_command_that_waits_leaves_a_stopped_push_stopped(busy_kaggle, repository, outcome):
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(repository.push)
        while outcome() != (True, [State.SENT]):
            time.sleep(0.05)
        repository.run(stop_push, confirm=bool)
        with pytest.raises(errors.RefusedError, match="either it was deleted"):
            waiting.result()
    assert outcome() == (False, [State.STOPPED])


def test_a_run_that_is_over_and_anothers_kernel_stay(repository, serve, outcome, monkeypatch):
    serve()
    repository.push("files=0")
    repository.run(stop_push, confirm=pytest.fail)
    with monkeypatch.context() as patch:  # it ends while the question is open
        patch.setattr(Kaggle, "status", Mock(side_effect=[Status("running"), None]))
        repository.run(stop_push, confirm=bool)
    assert outcome() == (True, [State.COMPLETE])
    with pytest.raises(errors.ParameterError, match="only its owner"):
        repository.run(stop_push, "somebody/blossom-train/1", confirm=pytest.fail)


def test_a_version_that_kaggle_never_had_is_told_and_none_is_deleted(
    busy_kaggle, repository, outcome, monkeypatch
):
    """Kaggle's own client ignores a version, and would show the status of the one that runs."""
    repository.push(wait=False)
    monkeypatch.setattr(Kaggle, "status", Mock(return_value=Status("running")))
    for reference in ("tester/blossom-train/99", "tester/blossom-trian/1"):
        with pytest.raises(errors.ParameterError, match=f"Kaggle has no {reference}"):
            repository.run(stop_push, reference, confirm=pytest.fail)
    assert outcome() == (True, [State.SENT])


def test_a_push_is_stopped_twice_without_an_error(busy_kaggle, repository, outcome):
    repository.push(wait=False)
    repository.run(stop_push, confirm=bool)
    repository.run(stop_push, confirm=pytest.fail)
    assert "was stopped before" in repository.message
    assert outcome() == (False, [State.STOPPED])
