"""What a page that follows a sweep is told after each of its runs."""

import io
import json

import pytest
from click.testing import CliRunner
from pages import data_of

from kernelkit.cli.console import main
from kernelkit.sweep import sweep_folder as records
from kernelkit.sweep.progress import SweepProgress
from kernelkit.sweep.request import SweepOptions
from kernelkit.sweep.sweep_folder import Record, SweepFolder

TEXT = "score: macro_f1\ngrid: {a: [0, 1, 2, 3, 4]}\nkeep_best: {model.h5: 2}"


@pytest.fixture
def progress(sweeps):
    options = SweepOptions(stream=io.StringIO())
    return SweepProgress(sweeps.read(TEXT), SweepFolder(sweeps.runs), options)


def tell(progress, run, state):
    record = progress.folder.write(run, Record(state, dict(run.overrides), seconds=9.0))
    if state == records.DONE:
        place = progress.folder.run_folder(run)
        (place / "metrics.json").write_text(json.dumps({"macro_f1": run.values["a"] / 100}))
        (place / "model.h5").touch()
    progress.tell(run, record)


def test_a_live_page_is_right_after_each_run_and_the_best_keep_their_models(progress, printed):
    ends = ["done", "failed", "done", "done", "done"]
    for ended, run in enumerate(progress.runs):
        tell(progress, run, records.RUNNING)
        printed(progress.folder.run_folder(run), f"epoch {ended}\n")
        data = data_of(progress.live_page(False))
        assert data["live"]["text"] == f"{ended} of 5 runs ended"
        assert (data["live"]["until"] is None) == (ended == 0)
        assert [r["log"] for r in data["runs"] if r["state"] == "running"] == [f"epoch {ended}"]
        tell(progress, run, ends[ended])
        served = data_of(progress.live_page(False))
        on_disk = data_of((progress.folder.path / "index.html").read_text())
        assert (served["runs"], on_disk["live"]) == (on_disk["runs"], {})
        after = ends[: ended + 1] + ["pending"] * (4 - ended)
        assert [run["state"] for run in served["runs"]] == after
    assert data_of(progress.live_page(True))["live"]["text"] == "The sweep is over."
    kept = {path.parent.name for path in progress.folder.path.glob("*/model.h5")}
    assert kept == {run.id for run in progress.runs[3:]}


def test_the_address_of_the_live_page_is_shown_although_the_command_is_quiet(sweeps):
    SweepFolder(sweeps.runs).claim("tiny")
    sweeps.finish("grid: {a: [1, 2]}")
    words = ["sweep", str(sweeps.folder / "tiny.yaml"), "--output", str(sweeps.runs)]
    shown = CliRunner().invoke(main, [*words, "--open", "--quiet"]).output
    assert [line.split()[0] for line in shown.splitlines()] == ["live", "sweep"]
    assert "http://127.0.0.1:" in shown


def test_a_sweep_that_was_stopped_says_so_and_a_dry_run_expects_the_time_of_its_runs(
    sweeps, progress
):
    for run in progress.runs[:2]:
        tell(progress, run, records.DONE)
    live = data_of(progress.live_page(True))["live"]
    stopped = "The sweep was stopped; the same command continues it."
    assert (live["text"], live["over"]) == (stopped, True)

    sweeps.run(TEXT, dry_run=True)

    line = "5 runs, 2 done, 3 to run: about 18 s with 2 at a time"
    assert sweeps.message.splitlines()[-1] == line
