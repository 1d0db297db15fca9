"""No test sees real credentials or reaches anything but loopback."""

import gc
import itertools
import os
import socket
import sys

import pytest

OWN_TARGET = "make test-"  # in the reason of a test that another target runs
LONG = 1500  # seconds; a time limit is for a test that hangs, not for a machine that is slow
LOOPBACK = ("127.0.0.1", "::1", "localhost")


def pytest_collection_modifyitems(items):
    for item in items:
        if item.get_closest_marker("long") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(LONG))
    # They take minutes each: at the end, one worker would be left with them.
    items.sort(key=lambda item: not item.path.match("shipped/test_sweeps.py"))


def pytest_collection_finish():
    """What is imported by now stays: each full collection looked at all of it, for 0.4 s."""
    gc.collect()
    gc.freeze()


def _skipped(config):
    """The reports of skipped tests, by their reasons."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    by_reason = {}
    for report in reporter.stats.get("skipped", []) if reporter else []:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        by_reason.setdefault(reason.removeprefix("Skipped: "), []).append(report.nodeid)
    return by_reason


def pytest_sessionfinish(session):
    """In CI everything is installed, so a skipped test fails the run unless it has a target."""
    if hasattr(session.config, "workerinput"):
        return  # a worker of xdist, whose reports come to the process that started it
    missing = [reason for reason in _skipped(session.config) if OWN_TARGET not in reason]
    if os.environ.get("CI") and missing and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter, config):
    """Say what was skipped, and why: the reason names what would run it."""
    for reason, tests in sorted(_skipped(config).items()):
        number = "1 test" if len(tests) == 1 else f"{len(tests)} tests"
        verdict = "failed: skipped in CI" if os.environ.get("CI") else "skipped"
        if OWN_TARGET in reason:
            verdict = "skipped"
        terminalreporter.line(f"{number} {verdict}: {reason}")


@pytest.fixture(scope="session")
def homes(tmp_path_factory):
    """Paths of new homes. One folder holds them all: pytest lists its own for each `tmp_path`."""
    folder = tmp_path_factory.mktemp("homes")
    return (folder / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def away_from_home(monkeypatch, homes):
    """A home of its own, this environment's kernel for Jupyter, and none of Kaggle's variables."""
    home = next(homes)
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("JUPYTER_PATH", f"{sys.prefix}/share/jupyter")
    for name in [name for name in os.environ if name.startswith("KAGGLE_")]:
        monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def loopback_only(monkeypatch):
    """A connection to any other machine fails the test that asked for it."""
    connect = socket.socket.connect

    def guarded(self, address):
        if isinstance(address, tuple) and address[0] not in LOOPBACK:
            raise AssertionError(f"a test tried to reach {address[0]}")
        return connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture
def hearing_ctrl_c():
    """The start of a command line for a script that a SIGINT interrupts.

    What a shell starts in the background ignores it, and so do its children.
    """
    code = (
        "import runpy, signal, sys; from pathlib import Path; "
        "signal.signal(signal.SIGINT, signal.default_int_handler); del sys.argv[0]; "
        "sys.path.insert(0, str(Path(sys.argv[0]).parent)); "
        "runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    return [sys.executable, "-W", "ignore", "-c", code]


@pytest.fixture
def open_competition():
    """Lays out a competition in a local Kaggle's catalogue; returns the file with its rules.

    The answers are "0" for a and "1" for b.
    """

    def open_competition(server, name="garden", metric="f1_macro"):
        folder = server.catalogue / "competitions" / name
        folder.mkdir(parents=True)
        (folder / "sample_submission.csv").write_text("id,label\na,0\nb,0\n")
        solutions = server.catalogue / "solutions"
        solutions.mkdir()
        (solutions / f"{name}.csv").write_text("id,label\na,0\nb,1\n")
        rules = solutions / f"{name}.toml"
        rules.write_text(f'metric = "{metric}"\n')
        return rules

    return open_competition
