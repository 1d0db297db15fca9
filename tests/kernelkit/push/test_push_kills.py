"""The same push, killed again and again at drawn requests, then left alone; a submission likewise.

    make fuzz        60 series of kills (FUZZ_KILLS); 6 of them with `make test-long`

Whatever signal comes at whatever request, there is one version with one session, one submission
and one upload in the end; the command ends as the signal says, in a line, and leaves no temporary
file behind.
"""

import contextlib
import os
import random
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from foreground import in_foreground

from kernelkit.runs import submitted
from local_kaggle.faults.schedule import A_PUSH, Fault, FaultKind, FaultSchedule
from local_kaggle.limits import ServerLimits
from local_kaggle.server import LocalKaggle

SERIES = int(os.environ.get("FUZZ_KILLS", "6"))
JOURNAL = os.environ.get("FUZZ_JOURNAL")
COMMAND = Path(sys.executable).with_name("kernelkit")
LONGEST = 200.0  # seconds of the wall for one command
FILES = 3
MOST_KILLS = 6
OF_UPLOADS = ("Upload", "StartBlobUpload", "CreateDataset", "GetDataset", "GetDatasetStatus")
OF_SUBMISSIONS = ("StartSubmissionUpload", "CreateSubmission", "GetSubmission", "ListSubmissions")
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)
LAST_LINES = {signal.SIGINT: "interrupted"} | {
    number: f"ended by {number.name}" for number in (signal.SIGTERM, signal.SIGHUP)
}

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(MOST_KILLS * LONGEST),
    pytest.mark.usefixtures("quick_sessions"),
]


class KillingSchedule(FaultSchedule):
    """Sends a process a signal at the nth call of a method: before it, or once it is done."""

    def __init__(self, method, call, number, *, once_done):
        super().__init__()
        self.at = (method, call)
        self.number = number
        self.once_done = once_done
        self.process = None
        self.killed = False

    def next(self, method):
        """The signal is sent from here, since the server asks here for what goes wrong."""
        super().next(method)
        if self.killed or (method, self.calls[method]) != self.at:
            return None
        self.killed = True
        self.process.send_signal(self.number)
        lost = FaultKind.LOST_ANSWER if self.once_done else FaultKind.RESET
        return Fault(*self.at, lost)


def start(server, repository, *arguments):
    """The installed command with these arguments, in a process of its own."""
    return subprocess.Popen(
        in_foreground(COMMAND, *arguments),
        cwd=repository.root,
        env=server.client_environment() | {"PYTHONWARNINGS": "ignore"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def push(server, repository):
    arguments = ["push", "--metadata", repository.metadata, "-p", f"files={FILES}"]
    return start(server, repository, *arguments, "--submit", "first")


def count(root, table):
    with contextlib.closing(sqlite3.connect(root / "kaggle.sqlite")) as store:
        return store.execute(f"SELECT count(*) FROM {table}").fetchone()[0]


@pytest.mark.parametrize("seed", range(SERIES))
def test_a_push_that_is_killed_and_repeated_is_one_push(
    repository, open_competition, tmp_path, seed
):
    draw = random.Random(seed)
    weights = repository.root / "weights"
    weights.mkdir()
    (weights / "w.bin").write_bytes(bytes(100_000))
    repository.configure('attach = ["weights"]\n')
    repository.describe(competition_sources=["garden"])
    kills = 0
    server = LocalKaggle(tmp_path / "kaggle", limits=ServerLimits(score_seconds=0.2))
    with server:
        open_competition(server, metric="accuracy")
        for _ in range(MOST_KILLS):
            method = draw.choice(A_PUSH + OF_UPLOADS + OF_SUBMISSIONS)
            number = draw.choice(SIGNALS)
            schedule = KillingSchedule(
                method, draw.choice((1, 1, 2, 3)), number, once_done=draw.random() < 0.5
            )
            server.faults = schedule
            schedule.process = push(server, repository)
            out, err = schedule.process.communicate(timeout=LONGEST)
            assert "Traceback" not in out + err
            if not schedule.killed:
                break
            kills += 1
            at = f"{method} {schedule.at[1]}"
            if number == signal.SIGKILL:
                assert schedule.process.returncode == -number, at
            else:
                assert schedule.process.returncode == 128 + number, (at, out, err)
                assert err.splitlines() == [LAST_LINES[number]], at
        server.faults = FaultSchedule()
        last = push(server, repository)
        out, err = last.communicate(timeout=LONGEST)
        assert last.returncode == 0 or "identical to" in err, out + err
    for table in ("sessions", "submissions", "page_versions"):
        assert count(server.root, table) == 1, table
    (pushed,) = [each for each in repository.pushes() if each.version]
    assert (pushed.version, pushed.state, bool(pushed.score)) == (1, "complete", True)
    folder = Path(pushed.folder)
    repository.assert_whole(folder, FILES)
    assert (folder / "report.html").is_file()
    assert (folder / ".kernelkit" / "submissions.json").is_file()
    assert not list(repository.root.rglob("*.part"))
    if JOURNAL:
        with Path(JOURNAL).open("a") as journal:
            journal.write(f"killed {kills} times\t{seed}\n")


@pytest.mark.parametrize(
    ("method", "once_done"),
    [
        ("StartSubmissionUpload", False),
        ("Upload", True),
        ("CreateSubmission", False),
        ("CreateSubmission", True),
        ("GetSubmission", True),
    ],
)
def test_a_file_whose_submission_is_killed_and_repeated_is_submitted_once(
    repository, open_competition, tmp_path, method, once_done
):
    run = tmp_path / "run"
    run.mkdir()
    file = run / "submission.csv"
    file.write_text("id,label\na,0\nb,1\n")
    arguments = ["submit", file, "--competition", "garden", "-m", "first"]
    schedule = KillingSchedule(method, 1, signal.SIGKILL, once_done=once_done)
    limits = ServerLimits(score_seconds=0.2)
    with LocalKaggle(tmp_path / "kaggle", limits=limits, faults=schedule) as server:
        open_competition(server, metric="accuracy")
        schedule.process = start(server, repository, *arguments)
        schedule.process.communicate(timeout=LONGEST)
        assert schedule.process.returncode == -signal.SIGKILL
        for _ in range(2):
            again = start(server, repository, *arguments)
            out, err = again.communicate(timeout=LONGEST)
            assert again.returncode == 0, out + err
    assert count(server.root, "submissions") == 1
    (kept,) = submitted.read(run)
    assert (kept.reference, kept.message, kept.score) == (1, "first", "1.00000")
