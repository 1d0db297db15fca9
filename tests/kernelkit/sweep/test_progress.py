"""What a page that follows a sweep is told after each of its runs."""

import io
import json
import threading

import pytest
from click.testing import CliRunner
from pages import data_of

from kernelkit.cli.console import main
from kernelkit.pages import live
from kernelkit.runs import run_state
from kernelkit.sweep import sweep_folder
from kernelkit.sweep.progress import SweepProgress
from kernelkit.sweep.results import table
from kernelkit.sweep.sweep_folder import Record, SweepFolder
from kernelkit.sweep.sweep_options import SweepOptions
from kernelkit.sweep.workers.engine import Engine

TEXT = "score: macro_f1\ngrid: {a: [0, 1, 2, 3, 4]}\nkeep_best: {model.h5: 2}"


@pytest.fixture
def progress(sweeps):
    options = SweepOptions(stream=io.StringIO())
    return SweepProgress(sweeps.read(TEXT), SweepFolder(sweeps.runs), options)


def tell(progress, run, state):
    record = progress.folder.write(run.id, Record(state, dict(run.overrides), seconds=9.0))
    if state == sweep_folder.DONE:
        place = progress.folder.run_folder(run.id)
        (place / "metrics.json").write_text(json.dumps({"macro_f1": run.values["a"] / 100}))
        (place / "model.h5").touch()
    progress.tell(run, record)


def page_of(progress):
    return data_of((progress.folder.path / "index.html").read_text())


def test_a_page_is_right_whenever_it_is_written_and_the_best_keep_their_models(progress, printed):
    ends = ["done", "failed", "done", "done", "done"]
    for ended, run in enumerate(progress.runs):
        tell(progress, run, sweep_folder.RUNNING)
        printed(progress.folder.run_folder(run.id), f"epoch {ended}\n")
        progress.write(3.0)
        data = page_of(progress)
        assert (data["live"]["again"], data["live"]["text"]) == (3.0, f"{ended} of 5 runs ended")
        assert (data["live"]["until"] is None) == (ended == 0)
        assert [r["log"] for r in data["runs"] if r["state"] == "running"] == [f"epoch {ended}"]
        tell(progress, run, ends[ended])
        progress.write(3.0)
        on_disk = page_of(progress)
        assert on_disk["live"]["text"] == f"{ended + 1} of 5 runs ended"
        after = ends[: ended + 1] + ["pending"] * (4 - ended)
        assert [run["state"] for run in on_disk["runs"]] == after
    progress.write(0.0)
    assert page_of(progress)["live"] == {}
    kept = {path.parent.name for path in progress.folder.path.glob("*/model.h5")}
    assert kept == {run.id for run in progress.runs[3:]}


def test_a_run_that_ends_is_shown_without_reading_all_the_others(progress, monkeypatch):
    read = []
    shown_run = table.shown_run
    monkeypatch.setattr(table, "shown_run", lambda *of: read.append(of[2]) or shown_run(*of))
    for run in progress.runs:
        tell(progress, run, sweep_folder.DONE)
    assert read == progress.runs
    lines = progress.options.stream.getvalue().splitlines()
    assert lines[1].startswith("2/5  done  9.0 s  macro_f1 0.0100  a=1")


def test_a_run_that_its_sessions_clock_stopped_has_not_ended(progress):
    tell(progress, progress.runs[0], sweep_folder.STOPPED)
    tell(progress, progress.runs[1], sweep_folder.DONE)
    shown = [line.split() for line in progress.options.stream.getvalue().splitlines()]
    assert [line[:2] for line in shown] == [["0/5", "stopped"], ["1/5", "done"]]


def test_the_table_is_written_while_runs_go_on_and_when_they_are_interrupted(sweeps, monkeypatch):
    monkeypatch.setattr(live, "SHORTEST_PAUSE", 0.01)
    monkeypatch.setattr(live, "PAUSE", 0)
    during, written = [], threading.Event()
    write = table.write

    def write_and_tell(page):
        write(page)
        written.set()

    def work(engine, runs, may_begin):
        first, second = runs
        for run in (first, second):
            engine.folder.write(run.id, Record(sweep_folder.DONE, run.overrides, 9.0))
            engine.tell(run, engine.folder.record(run.id))
            if run == first:
                written.clear()
                assert written.wait(10)  # which may have begun before
                written.clear()
                assert written.wait(10)
                during.extend(sweeps.states())
        raise KeyboardInterrupt

    monkeypatch.setattr(table, "write", write_and_tell)
    monkeypatch.setattr(Engine, "work", work)
    with pytest.raises(KeyboardInterrupt):
        sweeps.run("grid: {a: [0, 1]}")
    assert during == ["done", "pending"]
    assert sweeps.states() == ["done", "done"]


def test_the_page_of_a_sweep_opens_on_request(sweeps, monkeypatch):
    opened = []
    monkeypatch.setattr(live, "show", opened.append)
    SweepFolder(sweeps.runs).claim("tiny")
    sweeps.finish("grid: {a: [1, 2]}")
    words = ["sweep", str(sweeps.folder / "tiny.yaml"), "--output", str(sweeps.runs)]
    shown = CliRunner().invoke(main, [*words, "--open", "--quiet"]).output
    assert [line.split()[0] for line in shown.splitlines()] == ["sweep"]
    assert opened == [sweeps.runs / "index.html"]


@pytest.mark.parametrize("output", ["--json", "--quiet"])
def test_a_program_gets_the_table_of_a_sweep_whose_runs_failed(sweeps, output):
    SweepFolder(sweeps.runs).claim("tiny")
    sweeps.finish("grid: {a: [1, 2]}", lambda run: None if run["a"] == 2 else 0.5)
    words = ["sweep", str(sweeps.folder / "tiny.yaml"), "--output", str(sweeps.runs), output]

    done = CliRunner().invoke(main, words)

    assert done.exit_code == 6
    first = done.stdout.splitlines()[0]
    if output == "--quiet":
        assert first.startswith("sweep ")
        return
    states = {run["state"] for run in json.loads(first)["runs"]}
    assert states == {sweep_folder.DONE, sweep_folder.FAILED}


def test_a_full_disk_is_the_error_where_a_program_expects_the_table(sweeps, monkeypatch):
    def full(page):
        raise OSError(28, "No space left on device", "results.csv")

    SweepFolder(sweeps.runs).claim("tiny")
    sweeps.finish("grid: {a: [1, 2]}")
    (sweeps.runs / "results.json").unlink()
    monkeypatch.setattr(table, "write", full)
    words = ["sweep", str(sweeps.folder / "tiny.yaml"), "--output", str(sweeps.runs), "--json"]

    done = CliRunner().invoke(main, words)

    assert (done.exit_code, "No space left" in done.output) == (12, True)


def test_the_live_line_shows_what_a_run_says_and_not_a_warnings_line_of_code(progress, monkeypatch):
    said = "epoch 3\n/x.py:1: UserWarning: an old file\n  warnings.warn(text)"
    monkeypatch.setattr(run_state, "activity", lambda _: (0.0, said))
    tell(progress, progress.runs[0], sweep_folder.RUNNING)
    assert progress._state().endswith("/x.py:1: UserWarning: an old file")


def test_a_dry_run_expects_the_time_of_the_runs_that_are_left(sweeps, progress):
    for run in progress.runs[:2]:
        tell(progress, run, sweep_folder.DONE)

    sweeps.run(TEXT, dry_run=True)

    line = "5 runs, 2 done, 3 to run: about 18 s with 2 at a time"
    assert sweeps.message.splitlines()[-1] == line


def test_a_dry_run_for_dask_expects_no_time_as_the_number_of_its_workers_is_not_known(
    sweeps, progress
):
    for run in progress.runs[:2]:
        tell(progress, run, sweep_folder.DONE)

    sweeps.run(TEXT, dry_run=True, dask="tcp://127.0.0.1:8786")

    assert sweeps.message.splitlines()[-1] == "5 runs, 2 done, 3 to run"


@pytest.mark.long
def test_a_sweep_says_at_once_what_it_will_do(sweeps, progress):
    sweeps.run("grid: {a: [0, 1]}")
    first = sweeps.message.splitlines()[0]
    assert first.startswith("2 runs of ")
    assert "tiny.py: 2 at a time on this machine; into " in first

    sweeps.run("grid: {a: [0, 1, 2, 3, 4]}")
    first = sweeps.message.splitlines()[0]
    assert ", 2 of them ended already: 2 at a time on this machine: about " in first

    sweeps.run("grid: {a: [0, 1, 2, 3, 4]}")
    first, *_, last = sweeps.message.splitlines()
    assert ", 5 of them ended already; into " in first
    assert last == (sweeps.runs / "index.html").as_uri()


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_live_line_follows_the_runs(sweeps, monkeypatch):
    monkeypatch.setattr("kernelkit.terminal.live_line.TICK_SECONDS", 0.05)
    stream = Terminal()

    sweeps.run("grid: {a: [0, 1], does: [slow]}", stream=stream, workers=1)

    shown = stream.getvalue().replace("\n", "\r\x1b[K").split("\r\x1b[K")
    states = [text for text in shown if "ended  1 running" in text]
    assert states[0].startswith("0/2 ended  1 running  ")
    assert any(" left" in state for state in states if state.startswith("1/2 ended"))
    assert " left" not in states[0]


@pytest.mark.parametrize(("force", "words"), [(False, ""), (True, " without --force")])
def test_an_interrupted_sweep_says_what_is_kept(sweeps, monkeypatch, force, words):
    tells = SweepProgress.tell

    def interrupt(self, run, record):
        tells(self, run, record)
        if record.state == sweep_folder.DONE:
            raise KeyboardInterrupt

    monkeypatch.setattr(SweepProgress, "tell", interrupt)
    stream = io.StringIO()
    with pytest.raises(KeyboardInterrupt):
        sweeps.run("grid: {a: [0, 1, 2]}", stream=stream, workers=1, force=force)

    last = stream.getvalue().splitlines()[-1]
    assert last.startswith("interrupted: 1 of 3 runs done, kept in ")
    assert last.endswith(f"; the same command{words} continues with the other 2")
    assert page_of_sweep(sweeps) == ["done", "pending", "pending"]


def page_of_sweep(sweeps):
    data = data_of((sweeps.runs / "index.html").read_text())
    return [run["state"] for run in data["runs"]]
