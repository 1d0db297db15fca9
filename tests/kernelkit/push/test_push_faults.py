"""Whole pushes over a network that misbehaves by a seeded schedule.

    make fuzz        200 schedules (FUZZ_SCHEDULES) through the installed command (FUZZ_COMMAND),
                     6 of them in `make test` and 20 with `make test-long`, where one of them
                     goes through the command too

Whatever happens, the outputs arrive byte for byte or the command ends with the code that
tells what did not; no file is wrong under its right name, no second session was started,
nothing outlasts its deadline, and no secret is said.
"""

import contextlib
import json
import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kernelkit.errors import KernelkitError, NetworkError, OutputsError
from local_kaggle.faults.schedule import FaultSchedule
from local_kaggle.limits import ServerLimits
from local_kaggle.server import LocalKaggle

SCHEDULES = int(os.environ.get("FUZZ_SCHEDULES", "20"))
JOURNAL = os.environ.get("FUZZ_JOURNAL")
SHORT = 6  # schedules in `make test`
BY_COMMAND = bool(os.environ.get("FUZZ_COMMAND"))
COMMAND = Path(sys.executable).with_name("kernelkit")
ENDINGS = {0: None, NetworkError.exit_code: NetworkError, OutputsError.exit_code: OutputsError}
FILES = 9
LONGEST = 60.0  # seconds of the wall for one push, with every pause and hang in it
LONGEST_COMMAND = 200.0  # where pauses are those of a rehearsal, and not of a test
EAGER = (0, 5)  # seeds whose faults come early enough to meet every push

pytestmark = pytest.mark.usefixtures("quick_sessions")


def cases():
    """Each seed by a call, or by the command where that was asked for; one by both."""
    if BY_COMMAND:
        return [(seed, "command") for seed in range(SCHEDULES)]
    short = [(seed, "call") for seed in range(min(SHORT, SCHEDULES))]
    more = [(seed, "call") for seed in range(SHORT, SCHEDULES)] + [(5, "command")]
    return short + [pytest.param(*case, marks=pytest.mark.long) for case in more]


@pytest.mark.parametrize(("seed", "how"), cases())
def test_outputs_arrive_whole_or_the_command_says_why(repository, tmp_path, seed, how):
    faults = FaultSchedule.seeded(seed)
    limits = ServerLimits(page_size=4, max_page_size=4)
    began = time.monotonic()
    push = push_by_command if how == "command" else push_here
    server = LocalKaggle(tmp_path / "kaggle", limits=limits, faults=faults)
    with server:
        key = server.key()
        ended, message = push(server, repository)
    took = time.monotonic() - began
    note(seed, ended, faults, took)

    assert faults.fired or seed not in EAGER
    assert took < (LONGEST_COMMAND if how == "command" else LONGEST)
    assert ended in ENDINGS.values(), (faults, message)
    assert sessions_started(server.root) <= 1
    assert_no_wrong_file(repository, complete=ended is None)
    assert key not in message
    assert "ignature" not in message


def push_here(server, repository):
    """Push in this process; returns the kind of error that ended it, or None, and what it said."""
    with server.attach():
        try:
            repository.push(f"files={FILES}")
        except KernelkitError as error:
            return type(error), repository.message + str(error)
    return None, repository.message


def push_by_command(server, repository):
    """The same by the installed command, in a process of its own."""
    done = subprocess.run(
        [COMMAND, "push", "--metadata", repository.metadata, "-p", f"files={FILES}"],
        cwd=repository.root,
        env=server.client_environment() | {"PYTHONWARNINGS": "ignore"},
        capture_output=True,
        text=True,
        timeout=LONGEST_COMMAND,
    )
    message = done.stdout + done.stderr
    assert "Traceback (most recent call last)" not in message
    return ENDINGS.get(done.returncode, done.returncode), message


def assert_no_wrong_file(repository, *, complete):
    folder = repository.runs / "rehearsal-blossom-train-v1"
    assert not list(folder.rglob("*.part"))
    for path in folder.rglob("*.bin"):
        number = int(path.stem)
        assert path.read_bytes() == bytes([number]) * (500 * number + 1)
    if (folder / "metrics.json").is_file():
        assert json.loads((folder / "metrics.json").read_text())["macro_f1"] == 0.75
    if complete:
        repository.assert_whole(folder, FILES)
        for name in ("metrics.json", "submission.csv", ".kernelkit/log.txt"):
            assert (folder / name).is_file()


def sessions_started(root):
    with contextlib.closing(sqlite3.connect(root / "kaggle.sqlite")) as store:
        return store.execute("SELECT count(*) FROM sessions").fetchone()[0]


def note(seed, ended, faults, took):
    """One line a schedule, for the count in the README."""
    if JOURNAL:
        outcome = ended.__name__ if ended else "complete"
        with Path(JOURNAL).open("a") as journal:
            journal.write(f"{outcome}\t{seed}\t{took:.1f}\t{len(faults.fired)}\n")
