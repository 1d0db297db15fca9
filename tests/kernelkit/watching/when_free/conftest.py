"""A push that waits for a session and hours, in a week that goes by as a test wants."""

import contextlib
import itertools
import json
import re
import sqlite3
from dataclasses import replace

import pytest

from kernelkit.watching.when_free import push_when_free


@pytest.fixture
def server(serve, repository, quick_sessions):
    return serve(lag_seconds=0.2)


class Store:
    """What the local Kaggle keeps, looked at and moved from outside."""

    def __init__(self, server):
        self.path = server.root / "kaggle.sqlite"

    def run(self, statement, *values):
        with contextlib.closing(sqlite3.connect(self.path, timeout=20)) as store, store:
            return store.execute(statement, values).fetchall()

    def count_each_run_as(self, hours):
        self.run(
            "CREATE TRIGGER hours AFTER UPDATE OF ended ON sessions BEGIN UPDATE sessions "
            f"SET started = ended - {hours * 3600} WHERE version = new.version; END"
        )

    def next_week(self):
        self.run("UPDATE sessions SET started = ended")

    def sessions(self):
        """(begin, end) of each session, in the order in which they were pushed."""
        return self.run("SELECT queued, ended FROM sessions ORDER BY queued")

    def assert_none_overlap(self):
        """Assert that each session had ended before the next one was pushed."""
        for (_, ended), (queued, _) in itertools.pairwise(self.sessions()):
            assert ended <= queued

    def requests(self):
        """What each version was pushed with, in order."""
        rows = self.run("SELECT request FROM versions ORDER BY created")
        return [json.loads(row[0]) for row in rows]

    def submissions(self):
        """The messages of what was entered, in order."""
        return [row[0] for row in self.run("SELECT description FROM submissions ORDER BY id")]

    def files(self):
        """The value of `files` that each version was pushed with, in order."""
        texts = [request["text"] for request in self.requests()]
        return [int(re.search(r"# Parameters\\n.*?files = (\d+)", text)[1]) for text in texts]


@pytest.fixture
def store(server):
    return Store(server)


@pytest.fixture
def meadow(server, repository, open_competition):
    """A competition in which the repository's submission is right; the file with its rules."""
    repository.describe(competition_sources=["meadow"])
    return open_competition(server, "meadow", "accuracy")


@pytest.fixture
def when_free(server, repository):
    """`push --when-free` of the repository, and what came of it."""

    class WhenFree:
        events = repository.events

        def push(self, *parameters, **options):
            options = {"metadata": repository.metadata, "as_json": True} | options
            return repository.run(push_when_free, None, parameters, **options)

        @contextlib.contextmanager
        def without_hours(self):
            """A block in which this week's hours are used up."""
            limits = server.limits
            server.limits = replace(limits, weekly_seconds={"tpu": 0.0, "gpu": 0.0})
            try:
                yield
            finally:
                server.limits = limits

    return WhenFree()
