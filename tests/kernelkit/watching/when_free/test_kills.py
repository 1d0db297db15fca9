"""`push --when-free` that is killed at any moment doubles no push and loses none."""

import gc
import os
import random
import subprocess
import sys
import time

import pytest

from kernelkit.kaggle.client import Kaggle
from kernelkit.kaggle.transport.connection import Connection
from kernelkit.push.known.ledger import Ledger
from kernelkit.submissions.submission import Submission

# `kernelkit push --when-free` with the pace of the tests.
PROGRAM = """\
import sys
from kernelkit.kaggle.retries import Clock, Retries
from kernelkit.kaggle.context.timing import Timing
from kernelkit.watching.when_free import push_when_free
clock = Clock(speed=50)
timing = Timing(clock=clock, retries=Retries(clock=clock))
push_when_free(parameters=sys.argv[1:], timing=timing)
"""


# The system closes the sockets of a process that dies; nobody closes those of one that seems to.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")


class Killed(BaseException):
    """The end of a process, as far as a test within it can tell."""


def assert_it_ran_once(store, repository):
    assert len(store.sessions()) == 1
    (made,) = [push for push in repository.pushes() if push.version]
    assert (made.version, made.state) == (1, "complete")
    assert (repository.runs / "rehearsal-blossom-train-v1" / "metrics.json").is_file()


@pytest.fixture
def dying(monkeypatch):
    """Lets the process die at a request or a change of the ledger, before it or right after."""
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
    for change in ("begin", "update"):
        monkeypatch.setattr(Ledger, change, counted(getattr(Ledger, change)))

    def dying(after, when="before"):
        countdown[:] = [after, when]

    yield dying
    gc.collect()  # while the sockets of this test may stay open


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(
    ("owner", "method", "state"),
    [(Kaggle, "save", "sending"), (Submission, "_create", "complete")],
    ids=["the push", "the submission"],
)
def test_killed_while_something_is_sent(
    server, when_free, store, repository, meadow, monkeypatch, when, owner, method, state
):
    """Before the request is out, or once it has arrived and nobody knows."""
    send = getattr(owner, method)

    def killed(*arguments, **fields):
        if when == "after":
            send(*arguments, **fields)
        raise Killed

    monkeypatch.setattr(owner, method, killed)
    with pytest.raises(Killed):
        when_free.push("files=0", submit="first try")
    assert repository.states() == [state]
    monkeypatch.setattr(owner, method, send)
    when_free.push("files=0", submit="first try")
    assert_it_ran_once(store, repository)
    assert store.submissions() == ["first try"]
    assert bool(when_free.events("found")) == ((when, method) == ("after", "save"))


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(n, marks=pytest.mark.long) for n in range(1, 9))]
)
def test_killed_at_random_steps_it_runs_and_is_submitted_once(
    server, when_free, store, repository, meadow, dying, seed
):
    rng = random.Random(seed)
    killed = 0
    while True:
        most = 40 if killed else 10  # a push has more steps than that
        dying(rng.randint(1, most), rng.choice(["before", "after"]))
        try:
            when_free.push("files=1", submit="a try")
        except Killed:
            killed += 1
        else:
            break
    assert killed >= 1
    assert_it_ran_once(store, repository)
    assert store.submissions() == ["a try"]
    assert [push.score for push in repository.pushes() if push.version] == ["1.00000"]


def changes(repository):
    """The number of changes of the ledger: each step of a push makes one."""
    ledger = repository.runs / "pushes.sqlite"
    counter = ledger.read_bytes()[24:28] if ledger.is_file() else b""  # of SQLite's file format
    return int.from_bytes(counter)


@pytest.mark.long
def test_killed_with_minus_9(server, when_free, store, repository):
    rng = random.Random(0)
    environment = server.client_environment(os.environ)

    def run():
        return subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", PROGRAM, "files=1"],
            cwd=repository.root,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )

    killed = 0
    for steps in (1, 1, 1, 1):
        until = changes(repository) + steps
        with run() as process:
            while changes(repository) < until and process.poll() is None:
                time.sleep(0.002)
            assert process.poll() in (None, 0), process.stderr.read().decode()
            time.sleep(rng.choice([0, 0.02, 0.1, 0.3]))
            killed += process.poll() is None
            process.kill()
    assert killed >= 2
    with run() as process:
        _, message = process.communicate(timeout=120)
    assert process.returncode == 0, message.decode()
    assert_it_ran_once(store, repository)
