"""A queue that is killed at any moment doubles no push and loses none."""

import os
import random
import subprocess
import sys
import time

import pytest

from kernelkit.kaggle.client import Kaggle
from kernelkit.kaggle.connection import Connection
from kernelkit.kaggle.context import Ledger
from kernelkit.push.submit import Submission

# `kernelkit queue run` with the pace of the tests.
PROGRAM = """\
import sys
from pathlib import Path
from kernelkit.kaggle.retries import Clock, Retries
from kernelkit.kaggle.timing import Timing
from kernelkit.push.queue_work import work_off
clock = Clock(speed=50)
work_off(runs=Path(sys.argv[1]), timing=Timing(clock=clock, retries=Retries(clock=clock)))
"""


class Killed(BaseException):
    """The end of a process, as far as a test within it can tell."""


def assert_each_ran_once(store, repository, pushes):
    assert store.files() == list(range(pushes))
    store.assert_none_overlap()
    made = [p for p in repository.pushes() if p.version]
    assert [(p.version, p.state) for p in made] == [
        (version, "complete") for version in range(1, pushes + 1)
    ]
    for push in made:
        folder = repository.runs / f"rehearsal-blossom-train-v{push.version}"
        assert (folder / "metrics.json").is_file()


@pytest.fixture
def dying(monkeypatch):
    """Lets the process die at a request or a line of the ledger, before it or right after."""
    countdown = [None, "before"]

    def counted(real):
        def call(*arguments, **options):
            if countdown[0] is None:
                return real(*arguments, **options)
            countdown[0] -= 1
            if countdown[0] == 0 and countdown[1] == "before":
                raise Killed
            result = real(*arguments, **options)
            if countdown[0] == 0:
                raise Killed
            return result

        return call

    monkeypatch.setattr(Connection, "ask", counted(Connection.ask))
    monkeypatch.setattr(Ledger, "_write", counted(Ledger._write))

    def dying(after, when="before"):
        countdown[:] = [after, when]

    return dying


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(
    ("owner", "method", "state"),
    [(Kaggle, "save", "sending"), (Submission, "_create", "not submitted")],
    ids=["the push", "the submission"],
)
def test_killed_while_something_is_sent(
    server, queue, store, repository, meadow, monkeypatch, when, owner, method, state
):
    """Before the request is out, or once it has arrived and nobody knows."""
    send = getattr(owner, method)

    def killed(*arguments, **fields):
        if when == "after":
            send(*arguments, **fields)
        raise Killed

    monkeypatch.setattr(owner, method, killed)
    queue.add("files=0", submit="first try")
    with pytest.raises(Killed):
        queue.run()
    assert queue.states() == [state]
    monkeypatch.setattr(owner, method, send)
    queue.run()
    assert queue.states() == ["complete"]
    assert_each_ran_once(store, repository, 1)
    assert store.submissions() == ["first try"]
    assert bool(queue.events("found")) == ((when, method) == ("after", "save"))


@pytest.mark.parametrize(
    ("seed", "pushes"),
    [(0, 1), *(pytest.param(seed, 4, marks=pytest.mark.long) for seed in range(1, 5))],
)
def test_killed_at_random_steps_each_runs_and_is_submitted_once(
    server, queue, store, repository, meadow, dying, seed, pushes
):
    rng = random.Random(seed)
    for files in range(pushes):
        queue.add(f"files={files}", submit=f"try {files}")
    killed = 0
    while True:
        dying(rng.randint(1, 25), rng.choice(["before", "after"]))
        try:
            queue.run()
        except Killed:
            killed += 1
        else:
            break
    assert killed >= pushes
    assert_each_ran_once(store, repository, pushes)
    assert store.submissions() == [f"try {files}" for files in range(pushes)]
    assert {push.score for push in repository.pushes() if push.version} == {"1.00000"}


def written(repository):
    """The number of lines of the ledger: each step of a push writes one."""
    ledger = repository.runs / "pushes.jsonl"
    return ledger.read_text().count("\n") if ledger.is_file() else 0


@pytest.mark.long
def test_killed_with_minus_9(server, queue, store, repository):
    rng = random.Random(0)
    for files in range(5):
        queue.add(f"files={files}")
    environment = server.client_environment(os.environ)

    def run():
        command = [sys.executable, "-W", "ignore", "-c", PROGRAM, str(repository.runs)]
        return subprocess.Popen(
            command,
            cwd=repository.root,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )

    killed = 0
    for steps in (1, 2, 1, 2):
        until = written(repository) + steps
        with run() as process:
            while written(repository) < until and process.poll() is None:
                time.sleep(0.002)
            assert process.poll() in (None, 0), process.stderr.read().decode()
            time.sleep(rng.choice([0, 0.02, 0.1, 0.3]))
            killed += process.poll() is None
            process.kill()
    assert killed >= 2
    with run() as process:
        _, message = process.communicate(timeout=120)
    assert process.returncode == 0, message.decode()
    assert_each_ran_once(store, repository, 5)
