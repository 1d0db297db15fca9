"""Whole sweeps of a notebook that takes no time, over processes that do what they should not."""

import errno
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from kernelkit import files, image, project
from kernelkit.errors import NotebookError, ParameterError, RunFailedError
from kernelkit.shown import Shown
from kernelkit.sweep import sweep_folder
from kernelkit.sweep.sweep_folder import SweepFolder
from kernelkit.sweep.workers import launchers


def test_a_sweep_whose_runs_leave_no_metrics_says_where_they_belong(sweeps):
    sweeps.notebook.write_text('# %% tags=["parameters"]\na = 1  # >= 0: a number\noutput = ""\n')
    sweeps.run("grid: {a: [1]}")
    assert "1 of 1 runs done\nno run left a metrics.json in its folder" in sweeps.message


def test_packages_that_this_machine_lacks_are_named_before_the_first_run(
    sweeps, monkeypatch, capsys
):
    sweeps.notebook.write_text(f"{sweeps.notebook.read_text()}\nimport catboost\n")
    monkeypatch.setattr(image, "missing_here", lambda modules: [*{"catboost"} & {*modules}])
    sweeps.run("grid: {a: [1]}", dry_run=True)
    assert "warning: Kaggle's image has catboost, and this Python" in capsys.readouterr().err


WITHOUT_OUTPUT = """\
# %% tags=["parameters"]
a = 1  # [0, 2000]: what the score depends on

# %%
from pathlib import Path

import beside

Path("submission.csv").write_text(f"id,price\\n1,{a}\\n")
print("CV RMSE:", beside.halved(a))
"""


def test_no_run_begins_with_other_code_than_its_sweep(sweeps):
    source = sweeps.notebook.read_text()
    edit = "pathlib.Path(folder, '../../tiny.py').open('a').write('# edited')"
    sweeps.notebook.write_text(f"{source}{edit}\n")

    with pytest.raises(NotebookError, match="changed during the sweep: 1 of 2 runs have the code"):
        sweeps.run("grid: {a: [1, 2]}", workers=1)

    assert sweeps.states() == ["done", "pending"]


@pytest.mark.parametrize("cold", [pytest.param(True, marks=pytest.mark.long), False])
@pytest.mark.parametrize("runs", ["grid: {a: [1, 2]}", "search: {space: {a: [1, 2]}, trials: 2}"])
def test_a_run_of_a_notebook_without_output_works_in_its_own_folder(
    sweeps, monkeypatch, cold, runs
):
    if "search" in runs:
        pytest.importorskip("optuna", reason="the extra `sweep` is not installed")
    if cold:
        monkeypatch.setattr(launchers, "launcher", lambda *_: launchers.Fresh())
    sweeps.notebook.write_text(WITHOUT_OUTPUT)
    (sweeps.folder / "beside.py").write_text("def halved(a):\n    return a / 2\n")
    before = {path.name for path in Path.cwd().iterdir()}

    sweeps.run(f"score: CV RMSE\nminimize: true\n{runs}")

    assert "tiny.py has no parameter output: each run works in its own folder" in sweeps.message
    assert "best CV RMSE 0.5000  a=1" in sweeps.message
    rows = {row["a"]: row for row in sweeps.rows()}
    assert {a: row["CV RMSE"] for a, row in rows.items()} == {"1": "0.5", "2": "1.0"}
    for a, row in rows.items():
        assert (sweeps.runs / row["id"] / "submission.csv").read_text() == f"id,price\n1,{a}\n"
    assert {path.name for path in Path.cwd().iterdir()} == before


def test_a_file_that_a_run_reads_relative_to_the_notebook_is_told_of_before(sweeps):
    sweeps.notebook.write_text(f"{WITHOUT_OUTPUT}\nopen('data/x.csv')\n")
    files.write_text(sweeps.folder / "data" / "x.csv", "")
    files.write_text(sweeps.folder / "beside.py", "halved = float\n")
    told = "each run works in its own folder, so files that it reads need absolute paths\n"
    sweeps.run("grid: {a: [1]}", dry_run=True)
    assert told in sweeps.message
    with pytest.raises(RunFailedError, match=r"FileNotFoundError.*data/x\.csv"):
        sweeps.run("grid: {a: [1]}")
    assert told in sweeps.message


def test_a_notebook_with_output_stays_in_the_working_directory_of_the_command(sweeps):
    with sweeps.notebook.open("a") as notebook:
        notebook.write("\nprint('CV RMSE', len(os.getcwd()))\nos.remove(folder / 'metrics.json')\n")
    sweeps.run("score: CV RMSE\ngrid: {a: [1]}")
    assert "has no parameter output" not in sweeps.message
    assert [float(row["CV RMSE"]) for row in sweeps.rows()] == [len(str(Path.cwd()))]


def test_a_sweep_without_a_score_says_how_to_name_one(sweeps, monkeypatch):
    SweepFolder(sweeps.runs).claim("tiny")
    sweeps.finish("grid: {a: [1]}", left={"metrics.json": '{"f1\\u001b]0;title\\u0007": 1}'})
    monkeypatch.setenv(project.SHOWN, Shown().as_json())
    sweeps.run("grid: {a: [1]}")
    assert "no score: write `score: NAME`, a number of metrics.json or what" in sweeps.message
    assert "the measures are: f1\\x1b]0;title\\x07\n" in sweeps.message  # no control sequence


def test_a_sweep_is_refused_if_the_projects_rules_refuse_one_of_its_runs(sweeps):
    (sweeps.folder / "pyproject.toml").write_text('[tool.kernelkit]\ncheck = "own_rules:check"\n')
    rules = "def check(notebook, values, sources):\n    return ['no y'] * (values['kind'] == 'y')\n"
    files.write_text(sweeps.folder / "src" / "own_rules.py", rules)
    with pytest.raises(ParameterError, match=r"refuses these parameters of the sweep:\n  - no y$"):
        sweeps.run("grid: {kind: [x, y], a: [1, 2]}")
    assert not sweeps.runs.exists()


@pytest.mark.parametrize("workers", [0, -1])
def test_less_than_one_worker_is_refused(sweeps, workers):
    with pytest.raises(ParameterError, match=f"--workers {workers}: it takes 1 or more"):
        sweeps.run("grid: {a: [1]}", workers=workers)
    assert not sweeps.runs.exists()


def test_no_worker_on_kaggle_is_refused_like_two(sweeps):
    with pytest.raises(ParameterError, match="drop --workers"):
        sweeps.run("grid: {a: [1]}", kaggle=True, workers=0)


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_misspelt_warm_module_is_refused_before_a_run(sweeps, dry_run):
    with pytest.raises(ParameterError, match=r"^tiny.yaml: warm: there is no module maptlotlib"):
        sweeps.run("grid: {a: [1]}\nwarm: [json, maptlotlib.pyplot]", dry_run=dry_run)
    assert not sweeps.runs.exists()


def test_modules_of_the_project_and_beside_the_notebook_can_be_warm(sweeps):
    (sweeps.folder / "pyproject.toml").touch()
    files.write_text(sweeps.folder / "src" / "garden" / "__init__.py", "")
    files.write_text(sweeps.folder / "beside.py", "")
    sweeps.run("grid: {a: [1]}\nwarm: [garden, beside, sys, json]", dry_run=True)
    assert "1 run" in sweeps.message


@pytest.mark.long
def test_a_sweep_leaves_a_table_and_skips_what_is_done(sweeps):
    text = "grid: {a: [1, 2], kind: [x, y]}\nseeds: 2"
    sweeps.run(text, report=True)

    rows = sweeps.rows()
    assert list(rows[0])[:5] == ["id", "state", "a", "kind", "seed"]
    assert [float(row["macro_f1"]) for row in rows][-1] == pytest.approx(0.071)
    results = json.loads((sweeps.runs / "results.json").read_text())
    assert results["varying"] == ["a", "kind", "seed"]
    assert "best macro_f1 0.0705  a=2 kind=y" in sweeps.message
    assert all((sweeps.runs / run["report"]).is_file() for run in results["runs"])
    assert len(results["runs"][0]["curve"]) == 5
    assert "8 of 8 runs done" in sweeps.message

    before = {p: p.stat().st_mtime_ns for p in sweeps.runs.glob("*/run.ipynb")}
    assert len(before) == 8
    sweeps.run(text)
    assert {p: p.stat().st_mtime_ns for p in sweeps.runs.glob("*/run.ipynb")} == before


@pytest.mark.long
def test_runs_that_did_not_begin_are_counted_beside_those_that_failed(sweeps, monkeypatch):
    monkeypatch.setenv("KERNELKIT_SESSION_MINUTES", "0.001")  # the second run ends by that
    with pytest.raises(RunFailedError, match="again, and the 1 that did not begin:"):
        sweeps.run("runs: [{does: fail}, {does: late}, {a: 5}]", workers=1)
    assert sweeps.states() == ["failed", "stopped", "pending"]


@pytest.mark.long
def test_each_way_to_fail_has_its_state_and_stops_nothing(sweeps):
    text = "runs: [{does: fail}, {does: die}, {does: fill}, {does: garble}, {a: 5}]"

    with pytest.raises(RunFailedError) as caught:
        sweeps.run(text)

    assert sweeps.states() == ["failed", "failed", "failed", "failed", "done"]
    message = str(caught.value)
    assert message.startswith("4 of 5 runs failed; --retry-failed")
    assert "ValueError: withered" in message
    assert "the notebook's process died" in message
    assert "No space left on device" in message
    assert "its metrics.json cannot be read" in message
    with pytest.raises(RunFailedError):  # not run again, and not forgotten
        sweeps.run(text)
    assert "4/5" not in sweeps.message
    with pytest.raises(RunFailedError):
        sweeps.run(text, retry_failed=True)
    assert "4/5" in sweeps.message


@pytest.mark.long
def test_runs_that_hang_or_eat_memory_are_stopped_with_their_kernels(sweeps):
    with pytest.raises(RunFailedError):
        sweeps.run("memory: 0.5\nruns: [{does: hang}, {does: eat}, {a: 2}]", time_limit=6 / 60)

    assert sweeps.states() == ["timeout", "failed", "done"]
    errors = [row["error"] for row in sweeps.rows()]
    assert errors[0] == "stopped after 0.1 minutes, its time limit"
    assert "of memory, more than its limit of 0.5 GB" in errors[1]
    assert not strays(sweeps)


@pytest.mark.long
def test_a_full_disk_ends_the_sweep_and_loses_nothing(sweeps, monkeypatch):
    sweeps.run("grid: {a: [1]}")
    whole = files.write_bytes

    def full(path, data):
        if path.name == sweep_folder.STATE and b"running" not in data:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        return whole(path, data)

    monkeypatch.setattr(files, "write_bytes", full)
    with pytest.raises(OSError, match="No space left"):
        sweeps.run("grid: {a: [1, 2]}")
    monkeypatch.undo()

    assert not strays(sweeps)
    sweeps.run("grid: {a: [1, 2]}")
    assert sweeps.states() == ["done", "done"]


@pytest.mark.long
def test_killed_three_times_it_ends_with_the_table_of_one_left_alone(sweeps):
    text = "base: {does: slow}\ngrid: {a: [1, 2, 3, 4], kind: [x, y]}"
    file = sweeps.write(text)
    command = [
        sys.executable,
        "-c",
        "import sys; from pathlib import Path; from kernelkit.sweep.run_sweep import sweep; "
        "from kernelkit.sweep.sweep_options import SweepOptions; "
        "sweep(Path(sys.argv[1]), (), SweepOptions(2, Path(sys.argv[2]), report=False))",
        str(file),
        str(sweeps.runs),
    ]
    for number, pause in enumerate((0.2, 1.1, 0.7)):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        with process:
            process.stdout.readline()  # once a run has ended
            time.sleep(pause)
            if number == 1:  # the fork server first
                for child in psutil.Process(process.pid).children():
                    child.send_signal(signal.SIGKILL)
            process.kill()
    deadline = time.monotonic() + 10
    while strays(sweeps) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert not strays(sweeps)

    sweeps.run(text)  # none of them counts as failed

    rows = sweeps.rows()
    assert sweeps.states() == ["done"] * 8
    expected = [a / 100 + 0.05 * (kind == "y") for a in (1, 2, 3, 4) for kind in "xy"]
    assert [float(row["macro_f1"]) for row in rows] == pytest.approx(expected)


def strays(sweeps):
    """Processes that still have a run of this sweep open."""
    opened = [process.info["open_files"] or () for process in psutil.process_iter(["open_files"])]
    return [file for files in opened for file in files if str(sweeps.runs) in file.path]


@pytest.mark.parametrize("cold", [pytest.param(True, marks=pytest.mark.long), False])
def test_modules_of_another_repository_are_found(sweeps, monkeypatch, cold):
    if cold:
        monkeypatch.setattr(launchers, "launcher", lambda *_: launchers.Fresh())
    (sweeps.folder / "pyproject.toml").write_text("[tool.kernelkit]\n")
    files.write_text(sweeps.folder / "src" / "blossom_uninstalled.py", "F1 = 0.75\n")
    text = sweeps.notebook.read_text().replace("import json", "import blossom_uninstalled, json")
    sweeps.notebook.write_text(text)
    sweeps.run("grid: {a: [1, 2]}\nwarm: [blossom_uninstalled]")
    assert "2 of 2 runs done" in sweeps.message
