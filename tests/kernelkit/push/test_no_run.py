"""`push --no-run`: a version on Kaggle without a session."""

from dataclasses import replace

import pytest

from kernelkit.errors import KernelBusyError, ParameterError, PreflightError, RefusedError
from kernelkit.kaggle.client import Kaggle
from kernelkit.push.known.ledger import State
from kernelkit.push.sending.save_once import Sending


def test_it_saves_a_version_and_starts_no_session(repository, serve):
    serve()
    repository.on_cpu()
    assert repository.push(no_run=True) is None
    (push,) = repository.pushes()
    assert push.state == State.SAVED
    assert push.version == 1
    assert "tester/blossom-train/1, without a session" in repository.message


def test_the_same_notebook_can_be_run_afterwards(repository, serve):
    serve()
    repository.on_cpu()
    repository.sources("print(1)")
    repository.push(no_run=True)
    repository.push()
    assert repository.states() == [State.SAVED, State.COMPLETE]


def test_the_same_notebook_is_saved_once(repository, serve):
    serve()
    repository.on_cpu()
    repository.push(no_run=True)
    words = r"identical to tester/blossom-train/1 \(saved\): repeat it with --force"
    with pytest.raises(PreflightError, match=words):
        repository.push(no_run=True)
    repository.push(no_run=True, once=True)
    assert repository.states() == [State.SAVED]


def test_beside_a_session_that_an_older_version_has_that_one_is_named(repository, busy_kaggle):
    repository.on_cpu()
    repository.push(wait=False)
    repository.push(no_run=True)
    with pytest.raises(KernelBusyError, match="kernelkit resume tester/blossom-train/1"):
        repository.push("files=9")


def test_one_that_was_killed_while_it_was_saved_is_not_taken_for_a_run(
    repository, serve, quick_sessions, monkeypatch
):
    serve()
    repository.on_cpu()
    once = Sending.once

    def killed(sending):
        once(sending)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Sending, "once", killed)
        repository.push(no_run=True)
    with pytest.raises(ParameterError, match="was saved without a session"):
        repository.resume()
    repository.push()
    assert repository.states() == [State.SAVED, State.COMPLETE]


WITHOUT_SEEDS = {"refused_sources": ("dataset me/seeds",)}
ON_A_GPU = {"machine_shape": "NvidiaTeslaT4", "accelerator": "gpu"}


@pytest.mark.parametrize(
    ("saved", "stored", "saved_words", "run_words"),
    [
        (
            WITHOUT_SEEDS,
            {},
            "and saved tester/blossom-train/1 without them",
            "end its session with `kernelkit stop tester/blossom-train/1`, and push again",
        ),
        (
            {},
            ON_A_GPU,
            "Kaggle saved tester/blossom-train/1 for NvidiaTeslaT4, not for a CPU",
            "not on a CPU: end its session with `kernelkit stop tester/blossom-train/1`",
        ),
    ],
)
def test_only_of_a_version_with_a_session_it_is_said_how_to_stop_it(
    repository, serve, monkeypatch, saved, stored, saved_words, run_words
):
    serve()
    repository.on_cpu()
    save, read_back = Kaggle.save, Kaggle.stored

    def stored_otherwise(kaggle, *version):
        found = read_back(kaggle, *version)
        return found and replace(found, **stored)

    monkeypatch.setattr(Kaggle, "save", lambda *sent: replace(save(*sent), **saved))
    monkeypatch.setattr(Kaggle, "stored", stored_otherwise)
    with pytest.raises(RefusedError) as without_session:
        repository.push(no_run=True)
    assert saved_words in str(without_session.value)
    assert "session" not in str(without_session.value)
    with pytest.raises(RefusedError) as with_session:
        repository.push()
    assert run_words.replace("/1", "/2") in str(with_session.value)


@pytest.mark.parametrize("wish", [{"submit": "first"}, {"when_free": True}, {"chain": True}])
def test_what_is_about_the_run_is_refused(repository, wish):
    with pytest.raises(ParameterError, match="--no-run saves a version without a session"):
        repository.push(no_run=True, **wish)


@pytest.mark.parametrize("reference", ["last", "tester/blossom-train/1"])
def test_there_is_no_run_to_resume_and_the_message_says_so(repository, serve, reference):
    serve()
    repository.on_cpu()
    repository.push(no_run=True)
    words = "tester/blossom-train/1 was saved without a session, so there is no run to return to"
    with pytest.raises(ParameterError, match=words):
        repository.resume(reference)
    with pytest.raises(ParameterError, match=words):
        repository.resume(reference, wait=False)
