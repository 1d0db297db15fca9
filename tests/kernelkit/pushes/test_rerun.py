"""The second run of a code competition finds what the first one cannot."""

import io

import pytest

from kernelkit import errors
from kernelkit.pushes.rerun import rerun
from local_kaggle import ServerLimits, state

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
def run_again(repository, code_competition, notebook_code, timing, monkeypatch):
    def run_again(code, limits=None, **options):
        limits = limits or ServerLimits(score_seconds=0)
        monkeypatch.setattr(state, "ServerLimits", lambda: limits)
        repository.cells(notebook_code(PREDICT), notebook_code(code), notebook_code(SUBMIT))
        stream = io.StringIO()
        try:
            return rerun(metadata_file=repository.metadata, stream=stream, timing=timing, **options)
        finally:
            run_again.message = stream.getvalue()

    return run_again


def test_a_notebook_that_serves_is_scored_on_the_hidden_answers(run_again):
    result = run_again(
        "import os\nassert len(test) == 20 or os.environ['KAGGLE_IS_COMPETITION_RERUN']"
    )
    assert float(result.score) == 1.0
    assert not result.message
    assert "400 rows (public: 20)" in run_again.message


def test_a_push_that_is_refused_reports_no_earlier_rerun(run_again):
    run_again("")
    full = ServerLimits(score_seconds=0, sessions={"cpu": 0})
    with pytest.raises(errors.CapacityError):
        run_again("", full)


KINDS = "seen = {'rose': 0}\n[seen['tulip' if len(test) > 20 else row['kind']] for row in test]"
DOWNLOAD = """\
import urllib.request
if len(test) > 20:
    urllib.request.urlopen("http://example.com", timeout=3)
"""


@pytest.mark.parametrize(
    ("code", "truth"),
    [
        ("assert all(int(row['id']) < 100 for row in test), 'an id never seen'", "an id never"),
        (KINDS, "KeyError: 'tulip'"),
        (DOWNLOAD, "URLError"),
    ],
    ids=["an id that only the hidden set has", "a category never seen", "a download"],
)
def test_what_only_the_hidden_data_shows(run_again, code, truth):
    with pytest.raises(
        errors.RefusedError, match=r"Kaggle would only show: .*Notebook Threw Exception"
    ):
        run_again(code)
    assert truth in run_again.message


def test_twenty_times_the_rows_past_the_time_limit(run_again):
    limits = ServerLimits(score_seconds=0, session_seconds={"tpu": 6, "gpu": 6, "cpu": 6})
    with pytest.raises(errors.RefusedError, match="Notebook Timeout"):
        run_again("import time; time.sleep(len(test) / 40)", limits=limits)
    assert "ran 6 seconds, past its limit" in run_again.message


def test_memory_past_the_ceiling(run_again):
    limits = ServerLimits(score_seconds=0, memory_bytes={"tpu": 3e8, "gpu": 3e8, "cpu": 3e8})
    held = "import time; held = b'x' * (len(test) * 2_000_000)\nif len(test) > 20: time.sleep(20)"
    with pytest.raises(errors.RefusedError, match="Notebook Out of Memory"):
        run_again(held, limits=limits)
    assert "of memory, past its limit" in run_again.message


def test_a_file_that_is_not_there_after_the_second_run(run_again):
    with pytest.raises(errors.RefusedError, match="Submission File Not Found"):
        run_again("import os\nif len(test) > 20: os.makedirs('out'); os.chdir('out')")
    assert "left no submission.csv" in run_again.message


def test_the_hours_for_more_rows_are_projected(run_again, code_competition):
    code = "import time; time.sleep(len(test) / 400)"
    assert 0.1 < run_again(code, rows=400_000).hours < 1.5
    assert "for 400,000 rows, of the 12 h allowed" in run_again.message
    (code_competition / "hidden" / "garden" / "sample_submission.csv").unlink()
    assert run_again("pass", rows=400_000).hours is None
    assert "time for 400,000 rows cannot be projected" in run_again.message


def test_without_hidden_data_it_says_where_to_put_it(
    run_again, code_competition, repository, tmp_path
):
    import shutil

    shutil.move(code_competition / "hidden" / "garden", tmp_path / "kept")
    with pytest.raises(errors.ParameterError, match="--hidden FOLDER"):
        run_again("pass")
    assert float(run_again("pass", hidden=tmp_path / "kept").score) == 1.0


def test_a_notebook_with_internet_is_refused_before_it_is_pushed(run_again, repository):
    repository.describe(enable_internet=True)
    with pytest.raises(errors.PreflightError, match="set enable_internet to false"):
        run_again("pass")


def test_a_check_can_be_overruled(run_again, repository):
    repository.describe(priority=1)
    with pytest.raises(errors.PreflightError, match="--ignore keys"):
        run_again("")
    assert float(run_again("", ignore=["keys"]).score) == 1.0


def test_hidden_answers_that_are_not_there_cost_the_score_alone(run_again, code_competition):
    (code_competition / "solutions" / "garden.hidden.csv").unlink()
    result = run_again("pass")
    assert (result.score, result.message) == ("", "")
    assert "was not scored" in run_again.message
    assert "solutions/garden.hidden.csv" in run_again.message


def test_a_file_that_cannot_be_scored_is_a_scoring_error(run_again):
    with pytest.raises(errors.RefusedError, match="Submission Scoring Error"):
        run_again("test = test[:-1] if len(test) > 20 else test")
    assert "Kaggle cannot score it" in run_again.message
