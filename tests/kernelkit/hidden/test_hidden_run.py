"""The second run of a code competition finds what the first one cannot."""

import math
import shutil
from dataclasses import replace
from types import SimpleNamespace

import nbformat
import pytest

from kernelkit import errors
from kernelkit.hidden import hidden_run
from kernelkit.hidden.hidden_run import rehearse_hidden_run
from kernelkit.push.checked.online import with_internet
from kernelkit.push.planned.plan import plan_push
from kernelkit.push.planned.request import PushRequest
from kernelkit.rehearsal.stand_in import rerun_of
from local_kaggle import ServerLimits, state
from local_kaggle.execution import walls

PUBLIC, HIDDEN = range(20), range(100, 500)
PREDICT = """\
import csv, os, pathlib
root = pathlib.Path(os.environ.get("KERNELKIT_INPUT_ROOT", "/kaggle/input"))
test = list(csv.DictReader((root / "competitions/garden/test.csv").open()))
"""
SUBMIT = """\
with open("submission.csv", "w") as file:
    file.write("id,label\\n" + "".join(f"{row['id']},{len(row['kind']) % 2}\\n" for row in test))
"""


def write_folder(folder, ids, kind="rose"):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "test.csv").write_text("id,kind\n" + "".join(f"{i},{kind}\n" for i in ids))
    (folder / "sample_submission.csv").write_text("id,label\n" + "".join(f"{i},0\n" for i in ids))


@pytest.fixture
def code_competition(repository, quick_sessions):
    catalogue = repository.runs / "local_kaggle" / "catalogue"
    write_folder(catalogue / "competitions" / "garden", PUBLIC)
    write_folder(catalogue / "hidden" / "garden", HIDDEN)
    solutions = catalogue / "solutions"
    solutions.mkdir()
    (solutions / "garden.toml").write_text('metric = "accuracy"\n')
    for name, ids in (("garden.csv", PUBLIC), ("garden.hidden.csv", HIDDEN)):
        (solutions / name).write_text("id,label\n" + "".join(f"{i},0\n" for i in ids))
    repository.describe(competition_sources=["garden"], enable_tpu=False, machine_shape=None)
    return catalogue


@pytest.fixture
def run_again(repository, code_competition, monkeypatch):
    def run_again(code, limits=(), ignore=(), **options):
        changed = ServerLimits(score_seconds=0, **dict(limits))
        monkeypatch.setattr(state, "ServerLimits", lambda: changed)
        repository.sources(PREDICT, code, SUBMIT)
        request = PushRequest.of(metadata=repository.metadata, ignore=ignore)
        return repository.run(rehearse_hidden_run, request, **options)

    return run_again


def test_a_notebook_that_serves_is_scored_on_the_hidden_answers(repository, run_again):
    result = run_again(
        "import os\nassert len(test) == 20 or os.environ['KAGGLE_IS_COMPETITION_RERUN']"
    )
    assert float(result.score) == 1.0
    assert not result.message
    assert "400 rows (public: 20)" in repository.message
    with pytest.raises(errors.CapacityError):  # with no earlier rerun in its place
        run_again("", {"sessions": {"cpu": 0}})


KINDS = "seen = {'rose': 0}\n[seen['tulip' if len(test) > 20 else row['kind']] for row in test]"
DOWNLOAD = """\
import urllib.request
if len(test) > 20:
    urllib.request.urlopen("http://example.com", timeout=3)
"""


MEMORY = "import time; held = b'x' * (len(test) * 2_000_000)\nif len(test) > 20: time.sleep(20)"
MOVED = "import os\nif len(test) > 20: os.makedirs('out'); os.chdir('out')"
PAPERMILL = """\
import sys
if len(test) > 20:
    sys.exit("PapermillExecutionError:\\n" + 70 * "-" + '\\nException encountered at "In [7]":')
"""
SHORT = "test = test[:-1] if len(test) > 20 else test"


@pytest.mark.parametrize(
    ("code", "limits", "shown", "truth"),
    [
        (KINDS, {}, "Notebook Threw Exception", "KeyError: 'tulip'"),
        (PAPERMILL, {}, "Notebook Threw Exception", "code cell 2 failed:"),
        (DOWNLOAD, {}, "Notebook Threw Exception", "URLError"),
        (MEMORY, {"memory_bytes": {"cpu": 3e8}}, "Notebook Out of Memory", "of memory, past its"),
        (MOVED, {}, "Submission File Not Found", "left no submission.csv"),
        (SHORT, {}, "Submission Scoring Error", "Kaggle cannot score it"),
    ],
)
def test_what_only_the_hidden_data_shows(repository, run_again, code, limits, shown, truth):
    with pytest.raises(errors.RefusedError, match=f"Kaggle would only show: .*{shown}"):
        run_again(code, limits)
    assert truth in repository.message


def test_a_run_that_only_the_hidden_data_makes_too_long(repository, run_again):
    idle = run_again("pass").seconds  # on this machine under its load, which may be heavy
    limit = max(4, math.ceil(10 * idle))
    code = f"import time; time.sleep(len(test) * {limit} / 200)"
    with pytest.raises(errors.RefusedError, match=r"Kaggle would only show: .*Notebook Timeout"):
        run_again(code, {"session_seconds": {"cpu": limit}})
    assert f"ran {limit} seconds, past its" in repository.message


def test_a_small_machine_can_rehearse_the_limit_of_memory(repository, code_competition):
    repository.sources(PREDICT, MEMORY, SUBMIT)
    request = PushRequest.of(metadata=repository.metadata, memory=0.3)
    with pytest.raises(errors.RefusedError, match=r"only show: .*Notebook Out of Memory"):
        repository.run(rehearse_hidden_run, request)
    assert "GB of memory, past its limit of 0.3 GB" in repository.message


def test_a_gateway_is_refused_at_once_where_sessions_cannot_be_isolated(
    run_again, code_competition, monkeypatch
):
    gateway = code_competition / "competitions/garden/kaggle_evaluation/garden_gateway.py"
    gateway.parent.mkdir()
    gateway.write_text("")
    monkeypatch.setattr(walls, "builder", lambda: "")
    with pytest.raises(errors.PreflightError, match="install bubblewrap, and allow user names"):
        run_again("raise AssertionError('this ran')")


def test_a_notebook_that_would_wait_for_no_gateway_is_refused_before_it_runs(run_again):
    code = "if len(test) > 20:\n    import kaggle_evaluation.garden_inference_server\nassert 0"
    with pytest.raises(
        errors.PreflightError, match=r"imports kaggle_evaluation, .* Put the host's"
    ):
        run_again(code)


def test_the_memory_of_kaggles_own_session_cannot_be_set(repository):
    with pytest.raises(errors.ParameterError, match="can be set in a rehearsal only"):
        repository.push(memory=4)


@pytest.fixture
def measured(monkeypatch):
    """`measured(seconds=10.0)`: what the local Kaggle measured of the runs, in place of its own."""

    def measured(**figures):
        changed = lambda *names: replace(rerun_of(*names), **figures)  # noqa: E731
        monkeypatch.setattr(hidden_run, "rerun_of", changed)

    return measured


def test_the_hours_for_more_rows_are_projected(repository, run_again, measured):
    measured(first_seconds=2.4, seconds=10.0)  # 2 s for any number, and 0.02 s for a row
    assert run_again("pass", rows=400_000).hours == pytest.approx(2.22, abs=0.01)
    assert "for 400,000 rows, of the 12 h allowed" in repository.message


@pytest.mark.parametrize(
    ("first", "second"), [(4.0, 3.0), (4.5, 5.3), (9.6, 12.8)], ids=["less", "near", "busy"]
)
def test_time_that_grows_no_more_than_two_runs_differ_is_not_projected(
    repository, run_again, measured, first, second
):
    measured(first_seconds=first, seconds=second)
    assert run_again("pass", rows=400_000).hours is None
    assert "the time for 400,000 rows is not known: it did not grow" in repository.message


def test_hidden_answers_that_are_not_there_cost_the_score(repository, run_again, code_competition):
    (code_competition / "solutions" / "garden.hidden.csv").unlink()
    result = run_again("pass")
    assert (result.score, result.message) == ("", "")
    assert "was not scored" in repository.message
    assert "solutions/garden.hidden.csv" in repository.message


def test_two_sets_of_one_length_project_nothing(repository, run_again, code_competition):
    write_folder(code_competition / "hidden" / "garden", range(100, 120))
    answers = code_competition / "solutions" / "garden.hidden.csv"
    answers.write_text("id,label\n" + "".join(f"{i},0\n" for i in range(100, 120)))
    result = run_again("pass", rows=400_000)
    assert (result.hours, result.memory_projected) == (None, None)
    assert "time and memory for 400,000 rows cannot be projected" in repository.message
    assert (
        "both test sets have 20 rows: rehearse with another number (--make-rows)"
        in repository.message
    )


def test_the_memory_for_more_rows_is_projected(repository, run_again, measured):
    measured(first_memory=1e7, memory=2e8)  # half a megabyte for each row
    assert run_again("pass", rows=4_000).memory_projected == pytest.approx(2e9)
    assert "of memory for 4,000 rows, of 30.0 GB, if it grows in a straight line" in (
        repository.message
    )


def test_both_runs_are_measured(repository, run_again):
    run_again("import time; time.sleep(0.3)")
    rerun = rerun_of(repository.runs / "local_kaggle", 1)
    assert min(rerun.first_seconds, rerun.seconds) > 0.3
    assert min(rerun.first_memory, rerun.memory) > 0


def test_memory_that_does_not_grow_is_not_projected(repository, run_again, measured):
    measured(first_memory=1e8, memory=1.04e8)
    assert run_again("pass", rows=400_000).memory_projected is None
    assert "the memory for 400,000 rows is not known: it did not grow" in repository.message


BREAKS = {
    "if len(test) > 20: open('/kaggle/input/competitions/garden/extra.csv')": (
        "extra.csv is among the public files, and the hidden ones lack it"
    ),
    "test = [{'id': i, 'kind': 'rose'} for i in [0, 1, 2, 3]] + test[4:]": (
        "submission.csv: 4 of its ids are those of the public test set"
    ),
    "test = test[:20]": "submission.csv: it lacks 380 of 400 ids",
    "test = [row for row in test if row['id'] != '107']": (
        "submission.csv: it lacks 1 of 400 ids, such as '107'"
    ),
    "test = [{**row, 'id': row['id'] + '.0'} for row in test] if len(test) > 20 else test": (
        "submission.csv: 400 of its ids are not in the hidden test set, such as"
    ),
    "test = test + test[:3] if len(test) > 20 else test": "submission.csv: 3 rows more than ids",
    "test = [{'id': str(i), 'kind': 'rose'} for i in range(20)]": (
        "submission.csv: 20 of its ids are those of the public test set"
    ),
}


@pytest.mark.parametrize("code", BREAKS)
def test_what_breaks_is_said_with_its_place(repository, run_again, code_competition, code):
    (code_competition / "competitions" / "garden" / "extra.csv").write_text("a,b\n")
    with pytest.raises(errors.RefusedError):
        run_again(code)
    lines = [line for line in repository.message.splitlines() if "breaks" in line]
    assert any(BREAKS[code] in line for line in lines), lines


def write_training(catalogue):
    rows = "".join(f"{n},rose,{n % 2}\n" for n in range(1_000, 3_000))
    train = catalogue / "competitions/garden/train.csv"
    train.write_text(f"id,kind,label\n{rows}")
    shutil.rmtree(catalogue / "hidden")


@pytest.mark.long
def test_hidden_data_is_made_once_and_again_for_another_number_of_rows(
    repository, run_again, code_competition
):
    write_training(code_competition)
    run_again("pass", make=True)
    assert "200 hidden rows, made now" in repository.message
    run_again("pass", make=True)
    assert "200 hidden rows, used again" in repository.message
    run_again("pass", make=True, make_rows=30)
    assert "30 hidden rows, made now" in repository.message


def test_no_made_hidden_run_has_internet_whatever_the_code_calls(
    repository, code_competition, monkeypatch
):
    write_training(code_competition)
    repository.metadata.unlink()
    repository.sources("!pip install annoy", "open('/kaggle/input/competitions/garden/test.csv')")
    request = PushRequest.of(repository.notebook, assume=True)
    assert with_internet(plan_push(request)).metadata.online
    monkeypatch.setattr(hidden_run, "_both_runs", lambda asked, plan: plan)
    plan = repository.run(rehearse_hidden_run, request, make=True)
    assert not with_internet(plan_push(plan.request)).metadata.online


def test_what_is_missing_or_refused_is_told_with_what_to_do(
    run_again, code_competition, repository, tmp_path
):
    repository.describe(enable_internet=True)
    with pytest.raises(errors.PreflightError, match="set enable_internet to false"):
        run_again("pass")
    repository.describe(enable_internet=False, enable_interent=False)
    with pytest.raises(errors.PreflightError, match="--ignore keys"):
        run_again("")
    (code_competition / "hidden" / "garden").rename(tmp_path / "kept")
    with pytest.raises(errors.ParameterError, match="--hidden FOLDER"):
        run_again("pass", ignore=["keys"])
    assert not repository.message
    again = run_again("pass", hidden=tmp_path / "kept", ignore=["keys"], quiet=True)
    assert float(again.score) == 1.0
    assert "score 1.0" in repository.message


def test_a_mistyped_hidden_folder_is_refused_before_the_catalogue_is_filled(
    run_again, repository, tmp_path
):
    (repository.root / "fill.py").write_text("raise SystemExit('it was filled')")
    repository.configure('catalogue = "python fill.py {catalogue}"\n')
    with pytest.raises(errors.ParameterError, match="there is no such folder"):
        run_again("pass", hidden=tmp_path / "mistyped")


def test_a_folder_that_is_to_be_made_is_refused_before_the_catalogue_is_filled(
    repository, code_competition
):
    (repository.root / "fill.py").write_text("raise SystemExit('it was filled')")
    repository.configure('catalogue = "python fill.py {catalogue}"\n')
    request = PushRequest.of(metadata=repository.metadata, download=1)
    own = code_competition / "hidden" / "garden"
    with pytest.raises(errors.ParameterError, match="give --hidden without a FOLDER"):
        repository.run(rehearse_hidden_run, request, hidden=own, make=True)


FILL = """\
import pathlib, sys
folder = pathlib.Path(sys.argv[1], "hidden/garden")
folder.mkdir(parents=True, exist_ok=True)
(folder / "test.csv").write_text("")
"""


def test_the_catalogues_command_leaves_ones_own_hidden_data_alone(
    run_again, code_competition, repository, tmp_path
):
    own = (code_competition / "hidden" / "garden").rename(tmp_path / "own")
    run_again("pass", hidden=own)
    (repository.root / "fill.py").write_text(FILL)
    repository.configure('catalogue = "python fill.py {catalogue}"\n')
    with pytest.raises(errors.ParameterError, match="already has hidden data"):
        run_again("pass", hidden=own)
    assert (own / "test.csv").read_text()


def test_the_validation_score_that_a_notebook_printed_is_compared_too(tmp_path):
    output = nbformat.v4.new_output("stream", text="macro_f1: 0.25\n")
    cell = nbformat.v4.new_code_cell("score()", outputs=[output])
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), tmp_path / "run.ipynb")
    told = []
    context = SimpleNamespace(events=lambda event, text: told.append(text))
    hidden_run._tell_validation(context, SimpleNamespace(folder=str(tmp_path)), "0.75")
    assert told == [
        "the notebook's own macro_f1 is 0.25, and the hidden run scored 0.75; the run "
        "gave no interval to judge that by"
    ]
