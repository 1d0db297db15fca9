"""What runs inside a session: its clock, what it takes over, what it leaves."""

import json
import time

import pytest

from kernelkit.sweep.backends import in_session, kaggle_sessions
from kernelkit.sweep.backends.in_session import FOLDER, KEPT, run_in_session
from kernelkit.sweep.progress import SweepProgress
from kernelkit.sweep.results import table
from kernelkit.sweep.sweep_folder import DONE, Record, SweepFolder
from kernelkit.sweep.sweep_options import SweepOptions


@pytest.fixture
def session(sweeps, monkeypatch):
    """A session of a sweep, of which not much is left if it is `late`; it finds the first's output.

    Returns its folder, the states of its runs, and their metrics, sorted.
    """
    monkeypatch.setenv("KERNELKIT_KEPT", "")  # what a session sets goes with the test
    monkeypatch.setenv("KERNELKIT_INPUT_ROOT", str(sweeps.folder / "first"))
    monkeypatch.setenv("KERNELKIT_SESSION_MINUTES", "60")

    def session(text, name, late=False):
        sweep = sweeps.read(text)
        progress = SweepProgress(sweep, SweepFolder(sweeps.runs), SweepOptions(report=False))
        carried = kaggle_sessions.carried(progress, sweep.runs)
        working = sweeps.folder / name
        working.mkdir()
        monkeypatch.setenv("KERNELKIT_SESSION_BEGAN", str(time.monotonic() - 3000 * late))
        monkeypatch.chdir(working)
        run_in_session(json.loads(json.dumps(carried)), 0.0, "auto")
        folder = working / FOLDER
        metrics = [json.loads(path.read_text()) for path in folder.glob("*/metrics.json")]
        states = sorted(record.state for _, record in SweepFolder(folder).recorded())
        return folder, states, sorted(metrics, key=lambda run: run["seconds"])

    return session


@pytest.mark.long
def test_a_run_that_the_clock_stops_is_gone_on_with_and_files_travel_until_then(session, capsys):
    text = "runs: [{a: 1}, {a: 2}, {does: late, a: 3}, {a: 4}]"
    folder, states, metrics = session(text, "first", late=True)
    assert states == ["done", "done", "stopped"]  # and the last was not begun at all
    assert [(run["macro_f1"], run["kept"]) for run in metrics] == [(0.01, 0), (0.02, 1), (0.03, 2)]
    names = sorted(path.name for path in (folder / KEPT).iterdir())
    assert names == ["feature-1", "feature-2", "feature-3"]
    assert "stopped" in capsys.readouterr().out

    folder, states, metrics = session(text, "second")
    assert states == ["done"] * 4
    assert metrics[-1]["kept"] == 3
    assert not any("stopped" in run for run in metrics)
    assert not (folder / KEPT).exists()


@pytest.mark.parametrize("most", [0, 1])
def test_runs_are_ranked_only_if_the_best_keep_files(sweeps, monkeypatch, most):
    kept = f"keep_best: {{model.h5: {most}}}" if most else ""
    text = f"grid: {{a: [1, 2]}}\n{kept}"
    sweeps.finish(text, left={"model.h5": ""}.items())
    sweep, folder = sweeps.read(f"score: macro_f1\n{text}"), SweepFolder(sweeps.runs)
    ranked = []
    gather = table.gather
    monkeypatch.setattr(table, "gather", lambda *of: ranked.append(of[2]) or gather(*of))
    monkeypatch.chdir(sweeps.folder)
    in_session._tell(sweep, folder, sweep.runs, sweep.runs[0], Record(DONE))
    assert len(ranked) == most
    left = {path.parent.name for path in sweeps.runs.glob("*/model.h5")}
    assert left == {run.id for run in sweep.runs[most:]}
