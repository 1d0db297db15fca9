"""A hidden test set is made from training data: new ids, the test's columns, answers apart."""

import json
import tomllib

import pytest
from csv_files import read, write

from kernelkit.errors import ParameterError
from kernelkit.hidden.data.hidden_data import MANIFEST, made_in_place, make_hidden_data
from kernelkit.project import HiddenSettings, Project
from kernelkit.shown import Shown

METRIC = HiddenSettings(metric="rmse")


@pytest.fixture
def catalogue(tmp_path):
    """A competition with 100 training rows, three test rows, and a photo of each row."""
    public = tmp_path / "competitions/yield"
    train = [(n, n % 10, n / 2, n * 1.5) for n in range(100)]
    write(public / "train.csv", ("id", "plot", "rain", "tons"), train)
    write(public / "test.csv", ("id", "plot", "rain"), [(n, 1, 0.5) for n in (200, 201, 202)])
    write(public / "sample_submission.csv", ("id", "tons"), [(n, 7) for n in (200, 201, 202)])
    (public / "notes.txt").write_text("read me")
    (public / "train_photos").mkdir()
    for n in range(100):
        (public / f"train_photos/{n}.jpg").write_text(f"photo {n}")
    return tmp_path


def make(catalogue, settings=METRIC, count=None):
    project = Project(catalogue, hidden=settings)
    return make_hidden_data(catalogue, "yield", project, count)


def test_hidden_rows_have_new_ids_the_tests_columns_and_answers_apart(catalogue):
    made = make(catalogue)
    public, folder = catalogue / "competitions/yield", catalogue / "hidden/yield"
    assert (made.folder, made.rows, made.reused) == (folder, 20, False)
    test, sample = read(folder / "test.csv"), read(folder / "sample_submission.csv")
    answers = read(catalogue / "solutions/yield.hidden.csv")
    train = {row["id"]: row for row in read(public / "train.csv")}
    assert list(test[0]) == ["id", "plot", "rain"]
    assert [row["id"] for row in test] == [row["id"] for row in sample]
    assert {row["tons"] for row in sample} == {"7"}
    assert not {row["id"] for row in test} & {*train, "200", "201", "202"}
    by_rain = {row["rain"]: row for row in train.values()}
    for row, answer in zip(test, answers, strict=True):
        assert answer == {"id": row["id"], "tons": by_rain[row["rain"]]["tons"]}
    rules = (catalogue / "solutions/yield.toml").read_text()
    assert rules == 'metric = "rmse"\ncolumns = ["id", "tons"]\n'


def test_hidden_rows_are_taken_out_of_the_training_data(catalogue):
    make(catalogue)
    kept = read(catalogue / "hidden/yield/train.csv")
    hidden = read(catalogue / "hidden/yield/test.csv")
    assert len(kept) == 80
    assert not {row["rain"] for row in kept} & {row["rain"] for row in hidden}
    assert len(read(catalogue / "competitions/yield/train.csv")) == 100


def test_files_named_by_an_id_come_along_under_the_new_one(catalogue):
    make(catalogue)
    folder = catalogue / "hidden/yield"
    rain = {row["id"]: float(row["rain"]) for row in read(folder / "test.csv")}
    assert len(list((folder / "test_photos").iterdir())) == 20
    for one, value in rain.items():
        assert (folder / f"test_photos/{one}.jpg").read_text() == f"photo {int(2 * value)}"
    assert len(list((folder / "train_photos").iterdir())) == 80
    assert (folder / "notes.txt").read_text() == "read me"


def test_a_folder_that_the_public_test_set_has_too_stays_however_deep(catalogue):
    public = catalogue / "competitions/yield"
    for n in range(100):
        place = public / f"train_scans/ripe/siteA/2020/{n}.png"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"scan {n}")
    (public / "test_scans/siteA/2020").mkdir(parents=True)
    make(catalogue)
    scans = catalogue / "hidden/yield/test_scans"
    ids = {row["id"] for row in read(catalogue / "hidden/yield/test.csv")}
    files = {path.relative_to(scans).as_posix() for path in scans.rglob("*.png")}
    assert files == {f"siteA/2020/{one}.png" for one in ids}


def test_rows_of_a_group_stay_together(catalogue):
    make(catalogue, HiddenSettings(metric="rmse", group="plot"), count=15)
    hidden = {row["plot"] for row in read(catalogue / "hidden/yield/test.csv")}
    kept = {row["plot"] for row in read(catalogue / "hidden/yield/train.csv")}
    assert len(hidden) == 2
    assert not hidden & kept


def test_the_same_is_used_again_and_another_number_makes_it_anew(catalogue):
    make(catalogue)
    before = (catalogue / "hidden/yield/test.csv").read_text()
    assert make(catalogue).reused
    assert (catalogue / "hidden/yield/test.csv").read_text() == before
    assert make(catalogue, count=5).rows == 5


def test_what_is_used_again_is_scored_as_the_project_says_now(catalogue):
    (catalogue / "scores.py").write_text("def loss(*given): return 0\n")
    rules = catalogue / "solutions/yield.toml"
    for minimize in (True, False):
        shown = Shown(minimize=minimize)
        project = Project(catalogue, hidden=HiddenSettings(metric="scores:loss"), shown=shown)
        made = make_hidden_data(catalogue, "yield", project)
        assert tomllib.loads(rules.read_text())["minimize"] is minimize
    assert made.reused


def test_rules_that_went_are_written_again(catalogue):
    make(catalogue)
    rules = catalogue / "solutions/yield.toml"
    before = rules.read_text()
    rules.unlink()
    assert make(catalogue).reused
    assert rules.read_text() == before


def test_rules_of_ones_own_that_went_are_asked_for(catalogue):
    rules = catalogue / "solutions/yield.toml"
    rules.parent.mkdir()
    rules.write_text('metric = "mae"\n')
    make(catalogue, HiddenSettings())
    rules.unlink()
    with pytest.raises(ParameterError, match="not known how yield is scored"):
        make(catalogue, HiddenSettings())


def test_changed_training_data_makes_it_anew(catalogue):
    make(catalogue)
    write(
        catalogue / "competitions/yield/train.csv",
        ("id", "plot", "rain", "tons"),
        [(n, 1, n, n) for n in range(30)],
    )
    assert not make(catalogue).reused
    assert len(read(catalogue / "hidden/yield/train.csv")) == 24


def test_ids_that_are_no_numbers_become_a_letter_and_a_number(catalogue):
    public = catalogue / "competitions/yield"
    write(public / "train.csv", ("id", "tons"), [(f"plot-{n:05}", n) for n in range(50)])
    write(public / "test.csv", ("id",), [("plot-90000",)])
    write(public / "sample_submission.csv", ("id", "tons"), [("plot-90000", 0)])
    make(catalogue)
    ids = {row["id"] for row in read(catalogue / "hidden/yield/test.csv")}
    assert {len(one) for one in ids} == {10}
    assert len(ids) == 10


def test_hidden_data_of_ones_own_stays(catalogue):
    (catalogue / "hidden/yield").mkdir(parents=True)
    with pytest.raises(ParameterError, match="hidden data of your own: run without --make"):
        make(catalogue)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda p: (p / "train.csv").unlink(), r"has no train\.csv"),
        (lambda p: (p / "sample_submission.csv").unlink(), r"has no sample_submission\.csv"),
        (
            lambda p: write(p / "train.csv", ("id", "rain", "plot"), [(1, 2, 3)] * 2),
            r'lacks \'tons\'.*: say which it is, with hidden = \{target = \["COLUMN"\], metric',
        ),
        (
            lambda p: write(
                p / "train.csv", ("id", "rain", "plot", "tons"), [(1, 2, 3, n) for n in range(9)]
            ),
            "names several rows by one",
        ),
        (
            lambda p: write(p / "test.csv", ("id", "wind"), [(200, 1)]),
            r'has wind, which train.csv lacks.*hidden = \{columns = \{wind = "COLUMN"\}, metric',
        ),
    ],
)
def test_what_is_not_certain_is_asked_for_in_a_line(catalogue, change, said):
    change(catalogue / "competitions/yield")
    with pytest.raises(ParameterError, match=said) as caught:
        make(catalogue)
    assert "\n" not in str(caught.value)
    assert not (catalogue / "hidden/yield").exists()


def test_everything_that_is_not_certain_is_asked_for_at_once_with_a_line_to_paste(catalogue):
    public = catalogue / "competitions/yield"
    write(public / "train.csv", ("id", "plot", "price"), [(n, n % 10, n) for n in range(100)])
    write(public / "test.csv", ("id", "plot", "wind"), [(n, 1, 0.5) for n in (200, 201)])
    settings = HiddenSettings(group="block", columns={"plot": "plot"})
    with pytest.raises(ParameterError) as caught:
        make(catalogue, settings)
    text = str(caught.value)
    assert text.startswith("4 things are to be said")
    for said in (
        "it is not known how yield is scored",
        "test.csv has wind, which train.csv lacks",
        "train.csv lacks 'tons' (it has 'price')",
        "train.csv has no column 'block'",
    ):
        assert f"\n  {said}" in text
    section = tomllib.loads(f"[tool.kernelkit]\n{text.splitlines()[-1]}")["tool"]["kernelkit"]
    assert section["hidden"] == {
        "metric": "rmse",
        "target": ["price"],
        "group": "COLUMN",
        "columns": {"plot": "plot", "wind": "COLUMN"},
    }


def test_columns_of_any_characters_are_written_as_toml(catalogue):
    public = catalogue / "competitions/yield"
    write(public / "train.csv", ("id", "rain", "🌸"), [(n, n, n) for n in range(100)])
    write(public / "test.csv", ("id", "🌧"), [(200, 1)])
    write(public / "sample_submission.csv", ("id", "🌸"), [(200, 7)])
    with pytest.raises(ParameterError) as caught:
        make(catalogue)
    line = str(caught.value).partition("with ")[2].partition(" below ")[0]
    assert tomllib.loads(line)["hidden"]["columns"] == {"🌧": "COLUMN"}
    make(catalogue, HiddenSettings(metric="rmse", columns={"🌧": "rain"}))
    rules = (catalogue / "solutions/yield.toml").read_text()
    assert tomllib.loads(rules)["columns"] == ["id", "🌸"]


def test_settings_that_are_there_stay_in_the_line_to_paste(catalogue):
    train = catalogue / "competitions/yield/train.csv"
    write(train, ("id", "rain", "plot", "t°"), [(n, n, n, n) for n in range(9)])
    settings = HiddenSettings(metric="rmse", columns={"rain": "rain in mm"}, target=["t°"])
    with pytest.raises(ParameterError) as caught:
        make(catalogue, settings)
    line = str(caught.value).partition("with ")[2].partition(" below ")[0]
    assert tomllib.loads(line)["hidden"] == {
        "metric": "rmse",
        "columns": {"rain": "COLUMN"},
        "target": ["t°"],
    }


def test_what_the_number_of_rows_comes_of_is_said_in_a_line(catalogue):
    assert "at most 1/5 of those to train on" in "\n".join(make(catalogue).notes)
    assert "--make-rows" not in "\n".join(make(catalogue, count=5).notes)


def test_an_unknown_metric_is_asked_for(catalogue):
    with pytest.raises(ParameterError, match=r'hidden = \{metric = "rmse"\}'):
        make(catalogue, HiddenSettings())
    (catalogue / "solutions").mkdir()
    (catalogue / "solutions/yield.toml").write_text('metric = "mae"\n')
    make(catalogue, HiddenSettings())
    assert (catalogue / "solutions/yield.toml").read_text() == 'metric = "mae"\n'


def test_more_rows_than_there_are_cannot_be_made(catalogue):
    with pytest.raises(ParameterError, match="too few to hide 100 of them"):
        make(catalogue, count=100)


def test_the_manifest_says_how_it_was_made(catalogue):
    make(catalogue)
    manifest = json.loads((catalogue / "hidden/yield" / MANIFEST).read_text())
    assert manifest["rows"] == 20
    assert manifest["recipe"]["seed"] == 0


def test_made_data_is_in_place_only_during_a_hidden_run(catalogue):
    place = catalogue / "hidden/yield"
    with made_in_place(catalogue, "yield"):
        make(catalogue)
        assert place.is_dir()
    assert not place.exists()
    with made_in_place(catalogue, "yield"):
        assert make(catalogue).reused
    place.mkdir()
    with made_in_place(catalogue, "yield"):
        assert not list(place.iterdir())
    assert place.is_dir()
