"""A sweep over two sessions of a local Kaggle, the first cut by its time."""

import json
import shutil
import subprocess
import sys
import threading

import pytest
from pages import data_of

from kernelkit import files
from kernelkit.errors import CapacityError, ParameterError, PreflightError, RunFailedError
from kernelkit.notebook.code.reading import Program
from kernelkit.notebook.files.own_files import own_files
from kernelkit.runs import claims, run_state
from kernelkit.session_records import session_manifest
from kernelkit.sweep.backends import kaggle_sessions
from kernelkit.sweep.results import ranking
from kernelkit.sweep.sweep_folder import SweepFolder

NEEDED = (
    "sweep/backends/in_session.py",
    "pages/style.css",
    "pages/scripts/report/report.js",
    "pages/scripts/elements.js",
)
METADATA = {
    "id": "INSERT_USERNAME/tiny-notebook",
    "title": "Tiny notebook",
    "code_file": "tiny.ipynb",
    "language": "python",
    "kernel_type": "notebook",
    "enable_internet": False,
    "enable_gpu": False,
}


@pytest.fixture(autouse=True)
def describe(sweeps):
    """The folder is a project whose notebook is a kernel; call it with more of its settings."""

    def describe(settings=""):
        text = f"[tool.kernelkit]\npackages = []\n{settings}"
        (sweeps.folder / "pyproject.toml").write_text(text)

    (sweeps.folder / "kernel-metadata.json").write_text(json.dumps(METADATA))
    describe()
    return describe


@pytest.mark.long
def test_the_next_session_goes_on_with_the_last_ones_output(sweeps, monkeypatch):
    slower = sweeps.notebook.read_text().replace("time.sleep(0.6)", "time.sleep(8)")
    sweeps.notebook.write_text(slower)
    text = "base: {does: slow}\ngrid: {a: [1, 2, 3, 4]}"
    monkeypatch.setattr(kaggle_sessions, "SPARE_SHARE", 0.75)  # 30 seconds of two minutes

    sweeps.rehearse(text, timeout=2)

    states = sweeps.states()
    assert states[0] == "done"
    assert states[-1] == "pending"
    assert "left: the same command continues" in sweeps.message
    shutil.rmtree(sweeps.runs / sweeps.rows()[0]["id"])  # as if it had never come home
    monkeypatch.setattr(kaggle_sessions, "SPARE_SHARE", 0.1)
    sweeps.rehearse(text, timeout=2)

    assert "are from an earlier session" in sweeps.message
    assert sweeps.states() == ["done"] * 4
    assert [row["macro_f1"] for row in sweeps.rows()] == ["0.01", "0.02", "0.03", "0.04"]


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"enable_tpus": True}, "did you mean enable_tpu"),
        ({"dataset_sources": "me/data"}, "dataset_sources must be a JSON list"),
        ({"language": None}, "language is None"),
    ],
)
def test_what_is_wrong_in_the_metadata_is_told_of_its_sweeps_session(sweeps, settings, problem):
    (sweeps.folder / "kernel-metadata.json").write_text(json.dumps(METADATA | settings))
    with pytest.raises(PreflightError, match=problem):
        sweeps.rehearse("grid: {a: [1, 2]}", dry_run=True)


def test_the_sweep_of_a_script_is_a_notebook(sweeps):
    script = METADATA | {"code_file": "tiny.py", "kernel_type": "script"}
    (sweeps.folder / "kernel-metadata.json").write_text(json.dumps(script))
    sweeps.rehearse("grid: {a: [1, 2]}", dry_run=True)
    assert "nothing was sent" in sweeps.message


def test_a_session_that_made_no_run_is_a_failure(sweeps, monkeypatch):
    monkeypatch.setattr(kaggle_sessions, "push", lambda *_, **told: None)
    with pytest.raises(RunFailedError, match="the session did not finish a run"):
        sweeps.rehearse("grid: {a: [1, 2]}")


def test_figures_that_no_manifest_proves_are_marked_wherever_they_stand(sweeps, monkeypatch):
    ids = [run.id for run in sweeps.read("score: macro_f1\ngrid: {a: [1, 2]}").runs]

    def push(request, **_):
        """A session whose manifest has the hash of the first run's measures alone."""
        home, listed = request.output, []
        for number, id in enumerate(ids, 1):
            files.write_text(home / f"sweep/{id}/metrics.json", f'{{"macro_f1": 0.{number}}}')
            files.write_text(home / f"sweep/{id}/state.json", '{"state": "done"}')
            name = f"sweep/{id}/metrics.json"
            digest = files.sha256_of(home / name) if number == 1 else None
            listed.append({"name": name, "size": 1, "sha256": digest})
        session_manifest.keep(home, json.dumps({"push": "a", "files": listed}))

    monkeypatch.setattr(kaggle_sessions, "push", push)
    sweeps.rehearse("score: macro_f1\ngrid: {a: [1, 2]}")

    lines = [line for line in sweeps.message.splitlines() if "macro_f1 0." in line]
    why = "(not verified: the manifest of its session does not name or hash metrics.json)"
    assert [why in line for line in lines[:2]] == [False, True]
    assert " left)" not in sweeps.message  # they all came home at once
    assert "best macro_f1 0.2000 (not verified)  a=2" in sweeps.message
    assert [row["unverified"] != "" for row in sweeps.rows()] == [False, True]
    page = (sweeps.runs / "index.html").read_text()
    assert [run["unverified"] != "" for run in data_of(page)["runs"]] == [False, True]


def test_a_model_that_comes_home_is_not_removed_for_the_score_before_it(sweeps, monkeypatch):
    text = "grid: {a: [1, 2]}\nkeep_best: {model.h5: 1}"
    SweepFolder(sweeps.runs).claim("rehearsal-tiny")
    sweeps.finish(text)
    text = f"score: macro_f1\n{text}"
    worse = sweeps.read(text).runs[0]
    ranked, moved = threading.Event(), threading.Event()
    keep_best, bring = ranking.keep_best, SweepFolder.take_over

    def keep_slowly(page, counts):
        ranked.set()
        moved.wait(0.5)
        keep_best(page, counts)

    def push(request, **_):
        home = request.output / "sweep" / worse.id
        files.write_text(home / "metrics.json", '{"macro_f1": 0.9}')
        files.write_text(home / "model.h5", "better")
        files.write_text(home / "state.json", '{"state": "done"}')
        assert ranked.wait(10)

    def take_over(*of, **how):
        ids = bring(*of, **how)
        moved.set()
        return ids

    monkeypatch.setattr(ranking, "keep_best", keep_slowly)
    monkeypatch.setattr(kaggle_sessions, "push", push)
    monkeypatch.setattr(SweepFolder, "take_over", take_over)
    sweeps.rehearse(text, force=True)
    assert (sweeps.runs / worse.id / "model.h5").read_text() == "better"


def test_each_session_has_a_new_folder_although_an_earlier_one_was_deleted(sweeps, monkeypatch):
    names = ["session-2"]  # the first one's folder was deleted
    monkeypatch.setattr(
        kaggle_sessions, "push", lambda request, **_: names.append(request.output.name)
    )
    for _ in range(2):
        (sweeps.runs / "rehearsal" / names[-1]).mkdir(parents=True)
        with pytest.raises(RunFailedError, match="the session did not finish a run"):
            sweeps.rehearse("grid: {a: [1, 2]}")
    assert names[1:] == ["session-1", "session-3"]


def test_a_session_that_reached_no_end_is_followed_by_one_without_its_output(sweeps, monkeypatch):
    continues = []
    ends = iter([None, False, True, None])

    def push(request, **_):
        continues.append(request.continues)
        claims.claim(request.output, claims.Claim("me/sweep-tiny", len(continues)), chosen=True)
        over = next(ends)
        if over is not None:
            run_state.note(request.output, run_state.RunState(over=over))
        raise RunFailedError("the session was stopped")

    monkeypatch.setattr(kaggle_sessions, "push", push)
    for _ in range(4):
        with pytest.raises(RunFailedError, match="was stopped"):
            sweeps.rehearse("grid: {a: [1, 2]}")

    assert continues == [False, False, False, True]


def test_a_dry_run_checks_what_each_run_needs_and_sends_nothing(sweeps, describe):
    describe('[tool.kernelkit.needs]\ninternet = ["kind=y"]\n')

    sweeps.rehearse("grid: {a: [1, 2]}", dry_run=True)
    assert "nothing was sent" in sweeps.message
    with pytest.raises(PreflightError, match="kind=y needs the internet"):
        sweeps.rehearse("grid: {kind: [x, y]}", dry_run=True)
    assert not list(sweeps.runs.glob("rehearsal*"))


def test_rehearsed_runs_do_not_count_as_done_on_kaggle_from_any_folder(sweeps, monkeypatch):
    monkeypatch.setattr(kaggle_sessions, "run_on_kaggle", lambda progress: None)
    (sweeps.folder / "deep").mkdir()
    monkeypatch.chdir(sweeps.folder / "deep")

    def folder(**options):
        return sweeps.run("grid: {a: [1]}", kaggle=True, output=None, **options).resolve()

    assert folder(local=True) == sweeps.runs / "rehearsal-tiny"
    assert folder() == sweeps.runs / "kaggle-tiny"
    monkeypatch.setenv("KAGGLE_API_ENVIRONMENT", "LOCALHOST")
    assert folder() == sweeps.runs / "rehearsal-tiny"


def test_the_bundle_of_a_sweep_holds_what_its_reports_need_and_not_the_desks_page(sweeps):
    project = kaggle_sessions.with_the_kit(sweeps.notebook)
    program = Program.of([("run", kaggle_sessions.RUN)], cells=True)
    files = own_files(sweeps.notebook, project, program).files
    carried = {file.path for file in files}

    assert {f"kernelkit/{name}" for name in NEEDED} <= carried
    assert [name for name in carried if "scripts/runs" in name] == []


def test_what_a_sweeps_bundle_holds_of_the_kit_can_be_imported_by_itself(sweeps, tmp_path):
    project = kaggle_sessions.with_the_kit(sweeps.notebook)
    program = Program.of([("run", kaggle_sessions.RUN)], cells=True)
    for file in own_files(sweeps.notebook, project, program).files:
        path = tmp_path / "carried" / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file.text)
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path / 'carried')!r})\n"
        "import kernelkit.sweep.backends.in_session, kernelkit.running.run_notebook\n"
        "print(kernelkit.__file__)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ran.stdout.startswith(str(tmp_path)), ran.stderr


def test_a_notebook_that_is_not_python_is_not_pushed(sweeps):
    sweeps.notebook.write_text(sweeps.notebook.read_text() + "\n# %%\nx = = 1\n")
    with pytest.raises(PreflightError, match=r"\[cell \d+\], line 1: invalid syntax"):
        sweeps.rehearse("grid: {a: [1]}")


SEARCH = "search: {trials: 4, seed: 1, space: {a: {low: 0, high: 999}}}"


@pytest.fixture
def installed(monkeypatch):
    """Optuna in this version on this machine, or missing."""

    def installed(version):
        monkeypatch.setattr(kaggle_sessions, "_optuna_here", lambda: version)

    return installed


def test_a_search_is_refused_where_there_is_no_optuna(sweeps, installed):
    installed("")
    with pytest.raises(PreflightError, match="image of TPU sessions does not have") as caught:
        sweeps.rehearse(SEARCH, dry_run=True, accelerator="tpu")
    assert "\n" not in str(caught.value)
    assert 'add "optuna==VERSION" to wheels' in str(caught.value)
    for kind in ("cpu", "gpu"):
        sweeps.rehearse(SEARCH, dry_run=True, accelerator=kind)
        assert "a search over a: 4 runs" in sweeps.message
    assert "optuna" not in sweeps.message


def test_a_search_on_a_tpu_attaches_the_optuna_of_this_machine(sweeps, index, installed):
    installed("99.1")
    index.add("optuna", "99.1")
    sweeps.rehearse(SEARCH, dry_run=True, accelerator="tpu")
    assert "optuna 99.1 for this machine's Python" in sweeps.message
    sweeps.rehearse("grid: {a: [1, 2]}", dry_run=True, accelerator="tpu")
    assert "optuna" not in sweeps.message


RULES = """\
def check(notebook, values, sources):
    return [f"a={values['a']} is too low"] if values["a"] < LEAST else []
"""


@pytest.mark.parametrize("least", [1, 999])
def test_a_search_is_sent_where_the_projects_rules_allow_some_point(sweeps, describe, least):
    describe('check = "own_rules:check"\n')
    files.write_text(sweeps.folder / "src/own_rules.py", f"LEAST = {least}\n{RULES}")
    sweeps.rehearse(SEARCH, dry_run=True, accelerator="cpu")
    assert "nothing was sent" in sweeps.message


def test_a_search_is_refused_where_the_projects_rules_allow_no_point(sweeps, describe):
    describe('check = "own_rules:check"\n')
    files.write_text(sweeps.folder / "src/own_rules.py", f"LEAST = 1000\n{RULES}")
    with pytest.raises(PreflightError, match="a=999 is too low"):
        sweeps.rehearse(SEARCH, dry_run=True, accelerator="cpu")


def test_what_any_choice_of_a_search_needs_is_checked(sweeps, describe):
    describe('[tool.kernelkit.needs]\ninternet = ["kind=y"]\n')
    text = "search: {trials: 2, space: {a: {low: 0, high: 9}, kind: [x, y]}}"
    with pytest.raises(PreflightError, match="kind=y needs the internet"):
        sweeps.rehearse(text, dry_run=True, accelerator="cpu")


def test_a_search_takes_optuna_from_the_projects_wheels(sweeps, index, describe):
    describe('wheels = ["optuna==99.0"]\n')
    index.add("optuna", "99.0")
    sweeps.rehearse(SEARCH, dry_run=True, accelerator="tpu")
    assert "optuna 99.0 for this machine's Python" in sweeps.message


@pytest.mark.long
def test_the_projects_wheels_are_there_in_each_run(sweeps, index, describe):
    describe('wheels = ["bloom-of-a-wheel==1.0"]\n')
    index.add("bloom-of-a-wheel")
    source = sweeps.notebook.read_text().replace("import json", "import bloom_of_a_wheel, json")
    sweeps.notebook.write_text(source)
    sweeps.rehearse("grid: {a: [1, 2]}")
    assert sweeps.states() == ["done", "done"]


@pytest.mark.long
def test_a_search_takes_two_sessions_and_one_study(sweeps):
    pytest.importorskip("optuna", reason="the extra `sweep` is not installed")
    sweeps.rehearse(SEARCH.replace("4", "3"))
    first = {row["a"] for row in sweeps.rows()}
    assert sweeps.states() == ["done"] * 3

    sweeps.rehearse(SEARCH)
    assert first < {row["a"] for row in sweeps.rows()}
    assert "3 runs are from an earlier session" in sweeps.message
    assert "4 of 4 runs done" in sweeps.message


MACHINES = "grid: {accelerator: [cpu, gpu], a: [1, 2]}"


@pytest.fixture
def choosing(sweeps):
    """The notebook takes the machine as a parameter."""
    device = '{"kind": accelerator, "rehearsal": accelerator != "cpu"}'
    source = sweeps.notebook.read_text().replace('{"kind": "cpu"}', device)
    line = 'accelerator = "auto"  # auto | tpu | gpu | cpu: what must be there\nseed = 0'
    sweeps.notebook.write_text(source.replace("seed = 0", line, 1))
    return sweeps


@pytest.mark.long
def test_the_machine_is_an_axis_whose_sessions_end_in_one_table_and_are_forced_again(choosing):
    choosing.rehearse(MACHINES)

    runs = [(row["accelerator"], row["a"], row["state"]) for row in choosing.rows()]
    assert runs == [(kind, a, "done") for kind in ("cpu", "gpu") for a in "12"]
    pushed = [line for line in choosing.message.splitlines() if " pushed " in line]
    assert ["on-cpu" in line for line in pushed] == [True, False]
    assert "kernelkit push" not in choosing.message  # what to do next is for the sweep to say

    choosing.rehearse(MACHINES, force=True)
    assert "version 2" in choosing.message


@pytest.fixture
def pushed(monkeypatch):
    """The metadata of sessions that a test makes up; the first fails."""
    pushed = []

    def push(request, **_):
        metadata = request.metadata.path
        pushed.append((metadata.parent.name, json.loads(metadata.read_text())))
        if len(pushed) == 1:
            raise CapacityError("no hours are left this week")

    monkeypatch.setattr(kaggle_sessions, "push", push)
    return pushed


def test_a_session_that_fails_keeps_no_other_from_its_own(choosing, pushed):
    with pytest.raises(CapacityError, match="no hours"):
        choosing.rehearse(MACHINES)

    assert [(name, values["id"], values["enable_gpu"]) for name, values in pushed] == [
        ("cpu", "INSERT_USERNAME/sweep-tiny-on-cpu", False),
        ("gpu", "INSERT_USERNAME/sweep-tiny-on-gpu", True),
    ]
    assert "on CPU failed, and the next one begins: no hours" in choosing.message


def test_an_accelerator_that_no_run_asks_for_is_refused_and_not_ignored(choosing, pushed):
    message = "the runs ask for CPU by their parameter accelerator: add -p accelerator=gpu, or"
    text = "base: {accelerator: cpu}\ngrid: {a: [1, 2]}"
    for dry_run in (True, False):
        with pytest.raises(ParameterError, match=message):
            choosing.rehearse(text, accelerator="gpu", dry_run=dry_run)
    assert not pushed
    with pytest.raises(CapacityError):
        choosing.rehearse(text, "accelerator=gpu", accelerator="gpu")
    assert pushed[0][1]["enable_gpu"]


def test_a_search_whose_space_is_used_up_is_over_and_pushes_nothing(choosing, pushed):
    SweepFolder(choosing.runs).claim("rehearsal-tiny")
    choosing.finish("grid: {kind: [x, y]}")

    choosing.rehearse("search: {trials: 20, space: {kind: [x, y]}}")

    assert not pushed
    assert "2 of 2 runs done" in choosing.message

    with pytest.raises(CapacityError):
        choosing.rehearse("search: {trials: 20, space: {kind: [x, y]}}", force=True)
    assert "tiny.py: 1 at a time in one Kaggle session" in choosing.message


WITHOUT_OUTPUT = """\
# %% tags=["parameters"]
a = 1  # [0, 2000]: what the score depends on

# %%
from pathlib import Path

import beside

prices = Path("../input/house-prices/train.csv").read_text().split()
Path("submission.csv").write_text(f"id,price\\n1,{a}\\n")
print("CV RMSE:", beside.halved(a) + len(prices))
"""


@pytest.mark.long
@pytest.mark.parametrize("runs", ["grid: {a: [1, 2]}", "search: {space: {a: [1, 2]}, trials: 2}"])
def test_without_output_a_run_works_in_its_own_folder_beside_the_inputs(sweeps, runs):
    sweeps.notebook.write_text(WITHOUT_OUTPUT)
    files.write_text(sweeps.folder / "beside.py", "def halved(a):\n    return a / 2\n")
    files.write_text(sweeps.folder / "input" / "house-prices" / "train.csv", "price\n1\n")
    metadata = METADATA | {"dataset_sources": ["somebody/house-prices"]}
    (sweeps.folder / "kernel-metadata.json").write_text(json.dumps(metadata))

    sweeps.rehearse(f"score: CV RMSE\nminimize: true\n{runs}")

    assert "best CV RMSE 2.5000  a=1" in sweeps.message
    rows = {row["a"]: row for row in sweeps.rows()}
    assert {a: row["CV RMSE"] for a, row in rows.items()} == {"1": "2.5", "2": "3.0"}
    for a, row in rows.items():
        assert (sweeps.runs / row["id"] / "submission.csv").read_text() == f"id,price\n1,{a}\n"
    assert not list(sweeps.runs.rglob("input"))  # it was for the session
