"""`push --no-run`: a version on Kaggle without a session."""

import pytest

from kernelkit.errors import ParameterError
from kernelkit.push.ledger import State


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


@pytest.mark.parametrize("wish", [{"submit": "first"}, {"unattended": True}, {"chain": True}])
def test_what_is_about_the_run_is_refused(repository, wish):
    with pytest.raises(ParameterError, match="--no-run saves a version without a session"):
        repository.push(no_run=True, **wish)
