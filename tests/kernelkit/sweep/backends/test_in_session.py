"""What runs inside a session: its clock, what it takes over, what it leaves."""

import json
import shutil
import time

import pytest

from kernelkit.sweep import specification
from kernelkit.sweep.backends import on_kaggle
from kernelkit.sweep.backends.in_session import FOLDER, KEPT, run_in_session
from kernelkit.sweep.options import SweepOptions
from kernelkit.sweep.progress import SweepProgress
from kernelkit.sweep.records import SweepFolder


class Sessions:
    """Sessions of one sweep, each of which finds the output of the session before."""

    def __init__(self, sweeps, monkeypatch):
        self.sweeps, self.patch, self.number = sweeps, monkeypatch, 0
        for name in ("KERNELKIT_KEPT", "KERNELKIT_SESSION_BEGAN", "KERNELKIT_SESSION_MINUTES"):
            monkeypatch.setenv(name, "")  # what a session sets goes with the test
        self.working = sweeps.folder

    def run(self, text, *, late=False):
        """One session, of which not much is left if it is late; returns its folder."""
        sweep = specification.read(self.sweeps.write(text))
        options = SweepOptions(report=False)
        progress = SweepProgress(sweep, SweepFolder(self.sweeps.runs), options)
        carried = on_kaggle.carried(progress, sweep.runs)
        earlier, self.number = self.working, self.number + 1
        self.working = self.sweeps.folder / f"session-{self.number}" / "working"
        inputs = self.working.parent / "input"
        self.working.mkdir(parents=True)
        if self.number > 1:
            shutil.copytree(earlier, inputs / "notebooks" / "me" / "sweep-tiny")
        self.patch.setenv("KERNELKIT_INPUT_ROOT", str(inputs))
        self.patch.setenv("KERNELKIT_SESSION_BEGAN", str(time.monotonic() - 3000 * late))
        self.patch.setenv("KERNELKIT_SESSION_MINUTES", "60")
        self.patch.chdir(self.working)
        run_in_session(json.loads(json.dumps(carried)), 0.0, "auto")
        return self.working / FOLDER

    def metrics(self):
        """Of the last session's runs, in the order of their a."""
        files = (self.working / FOLDER).glob("*/metrics.json")
        return sorted((json.loads(f.read_text()) for f in files), key=lambda run: run["seconds"])

    def states(self):
        return sorted(rec.state for _, rec in SweepFolder(self.working / FOLDER).recorded())


@pytest.fixture
def sessions(sweeps, monkeypatch):
    return Sessions(sweeps, monkeypatch)


@pytest.mark.long
def test_a_run_that_the_clock_stops_is_gone_on_with_and_files_travel_until_then(sessions, capsys):
    text = "runs: [{a: 1}, {a: 2}, {does: late, a: 3}, {a: 4}]"
    folder = sessions.run(text, late=True)
    assert sessions.states() == ["done", "done", "stopped"]  # and the last was not begun at all
    assert [(run["macro_f1"], run["kept"]) for run in sessions.metrics()] == [
        (0.01, 0),
        (0.02, 1),
        (0.03, 2),
    ]
    names = sorted(path.name for path in (folder / KEPT).iterdir())
    assert names == ["feature-1", "feature-2", "feature-3"]
    assert "stopped" in capsys.readouterr().out

    folder = sessions.run(text)
    assert sessions.states() == ["done"] * 4
    assert sessions.metrics()[-1]["kept"] == 3
    assert not any("stopped" in run for run in sessions.metrics())
    assert not (folder / KEPT).exists()
