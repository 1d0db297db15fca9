"""What a page that follows a sweep is told after each of its runs."""

import io
import json

import pytest
from pages import data_of

from kernelkit.run_folders import active
from kernelkit.sweep import records, specification
from kernelkit.sweep.options import SweepOptions
from kernelkit.sweep.progress import SweepProgress
from kernelkit.sweep.records import Record, SweepFolder


@pytest.fixture
def progress(sweeps):
    sweep = specification.read(sweeps.write(f"score: macro_f1\ngrid: {{a: {list(range(12))}}}"))
    options = SweepOptions(stream=io.StringIO())
    return SweepProgress(sweep, SweepFolder(sweeps.runs), options)


def tell(progress, run, state):
    record = progress.folder.write(run, Record(state, dict(run.overrides), seconds=9.0))
    if state == records.DONE:
        metrics = json.dumps({"macro_f1": run.values["a"] / 100})
        (progress.folder.run_folder(run) / "metrics.json").write_text(metrics)
    progress.tell(run, record)


def test_a_live_page_is_right_after_each_of_twelve_runs(progress):
    for ended, run in enumerate(progress.runs):
        tell(progress, run, records.RUNNING)
        cells = [{"outputs": [{"output_type": "stream", "text": f"epoch {ended}\n"}]}]
        started = {"papermill": {"start_time": "2026-11-01T12:00:00+00:00"}}
        part = progress.folder.run_folder(run) / active.PART
        part.write_text(json.dumps({"cells": cells, "metadata": started}))
        data = data_of(progress.live_page(False))
        assert data["live"]["text"] == f"{ended} of 12 runs ended"
        assert (data["live"]["until"] is None) == (ended == 0)
        assert [r["log"] for r in data["runs"] if r["state"] == "running"] == [f"epoch {ended}"]
        tell(progress, run, records.FAILED if ended == 5 else records.DONE)
        served, on_disk = (
            data_of(text)
            for text in (
                progress.live_page(False),
                (progress.folder.path / "index.html").read_text(),
            )
        )
        assert served["runs"] == on_disk["runs"]
        assert on_disk["live"] == {}
        states = ["done"] * 5 + ["failed"] + ["done"] * 6
        after = states[: ended + 1] + ["pending"] * (11 - ended)
        assert [run["state"] for run in served["runs"]] == after
    assert data_of(progress.live_page(True))["live"]["text"] == "The sweep is over."


def test_the_end_of_a_sweep_that_was_stopped_is_told_from_that_of_a_whole_one(progress):
    tell(progress, progress.runs[0], records.DONE)
    live = data_of(progress.live_page(True))["live"]
    assert (live["text"], live["over"]) == (
        "The sweep was stopped; the same command continues it.",
        True,
    )


def test_a_dry_run_expects_the_time_of_earlier_runs(sweeps, progress):
    for run in progress.runs[:5]:
        tell(progress, run, records.DONE)

    sweeps.run(f"score: macro_f1\ngrid: {{a: {list(range(12))}}}", dry_run=True)

    line = "12 runs, 5 done, 7 to run: about 36 s with 2 at a time"
    assert sweeps.message.splitlines()[-1] == line
