"""A queue in the small repository, and a week that goes by as a test wants."""

import contextlib
import io
import json
import sqlite3

import pytest

from kernelkit.queue.items import add, listing
from kernelkit.queue.work import work_off
from local_kaggle.limits import ServerLimits
from local_kaggle.server import LocalKaggle


@pytest.fixture
def server(tmp_path, repository, monkeypatch, quick_sessions):
    monkeypatch.chdir(repository.root)
    limits = ServerLimits(lag_seconds=0.2)
    with LocalKaggle(tmp_path / "kaggle", limits=limits) as server, server.attach():
        yield server


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

    def used(self):
        return self.run("SELECT coalesce(sum(ended - started), 0) FROM sessions")[0][0] / 3600

    def next_week(self):
        self.run("UPDATE sessions SET started = ended")

    def sessions(self):
        """(begin, end) of each session, in the order in which they were pushed."""
        return self.run("SELECT queued, ended FROM sessions ORDER BY queued")

    def files(self):
        """The value of `files` that each version was pushed with, in order."""
        texts = [
            json.loads(row[0])["text"]
            for row in self.run("SELECT request FROM versions ORDER BY created")
        ]
        cells = [cell["source"] for text in texts for cell in json.loads(text)["cells"]]
        return [
            int(source.split("files = ")[1].split()[0])
            for source in cells
            if source.lstrip("# ").startswith("Parameters")
        ]


@pytest.fixture
def store(server):
    return Store(server)


@pytest.fixture
def meadow(server, store, repository, open_competition):
    """A competition in which the repository's submission is right."""
    opened = open_competition(server, "meadow", "accuracy")
    repository.describe(competition_sources=["meadow"])

    class Meadow:
        rules = opened

        def submissions(self):
            """The messages of what was entered, in order."""
            return [row[0] for row in store.run("SELECT description FROM submissions ORDER BY id")]

    return Meadow()


@pytest.fixture
def queue(repository, timing):
    """The commands of the queue as functions that return what came of them and the events."""

    class Commands:
        def add(self, *parameters, **options):
            return add(
                None, parameters, metadata=repository.metadata, stream=io.StringIO(), **options
            )

        def run(self, **options):
            self.stream = io.StringIO()
            work_off(
                as_json=True, stream=self.stream, timing=timing, runs=repository.runs, **options
            )

        def events(self, name):
            events = map(json.loads, self.stream.getvalue().splitlines())
            return [event for event in events if event["event"] == name]

        def states(self, **options):
            return [state for _, state in listing(stream=io.StringIO(), **options)]

    return Commands()
