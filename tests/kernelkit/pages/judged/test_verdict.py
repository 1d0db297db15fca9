"""A report begins with what its score is worth, what looks wrong, and what to do next."""

import json
import os

import pytest

from kernelkit import files
from kernelkit.pages.judged import comparable, verdict
from kernelkit.pages.shared import ending
from kernelkit.runs import kit_folder, submitted
from kernelkit.scores.metrics import Metrics
from kernelkit.session_records import session_manifest
from kernelkit.shown import Shown

SHOWN = Shown(score="f1", measures={"f1": "F1"})
ENDED = ending.Ending(reached=True)
SCORES = [("a", 0.5), ("b", 0.9), ("c", 0.6)]


@pytest.fixture
def runs(tmp_path):
    """Makes a run of one notebook in a folder of runs, one an hour; returns its folder."""

    def make(name, f1, interval=None, data="leaves", hour=0, notebook="/x/train.ipynb", **more):
        folder = tmp_path / name
        (folder / ".kernelkit").mkdir(parents=True)
        metrics = {"f1": f1, "data": {"name": data}, **more}
        if interval:
            metrics["intervals"] = {"f1": interval}
        (folder / "metrics.json").write_text(json.dumps(metrics))
        os.utime(folder / "metrics.json", (1e9 + 3600 * hour,) * 2)
        state = kit_folder.path(folder, kit_folder.STATE)
        state.write_text(json.dumps({"notebook": notebook}))
        return folder

    return make


def on(folder, shown=SHOWN, ended=ENDED):
    return verdict.of_run(folder, folder, shown, ended)


def texts(found):
    return [text for text, _ in found.compared]


def test_the_score_comes_with_its_interval_and_with_what_guessing_reaches(runs):
    found = on(runs("a", 0.9, [0.85, 0.95], chance={"f1": 0.1}))
    assert found.score == "95 % interval 0.8500 to 0.9500; guessing reaches 0.1000"
    assert found.doubts == ()


def test_without_an_interval_or_chance_nothing_is_said_beside_the_score(runs):
    assert on(runs("a", 0.9)).score == ""


@pytest.mark.parametrize(("f1", "interval"), [(0.1, None), (0.05, [0.01, 0.25]), (0.05, None)])
def test_a_score_that_guessing_could_reach_is_said_to_be_that(runs, f1, interval):
    found = on(runs("a", f1, interval, chance={"f1": 0.1}))
    assert found.doubts[0].startswith("The score is no better than guessing.")
    assert "against their labels" in found.next_step


def test_a_short_run_at_chance_is_told_to_train_longer_first(runs):
    folder = runs("a", 0.1, chance={"f1": 0.1})
    (folder / "history.csv").write_text("epoch,val_f1\n1,0.1\n")
    assert on(folder).next_step.startswith("It trained for few epochs: train longer.")


def test_of_many_warnings_the_first_are_shown(runs):
    found = on(runs("a", 0.9, warnings=[f"class {n} has no photo\x1b[0m" for n in range(500)]))
    assert found.doubts[0] == "class 0 has no photo"
    assert found.doubts[-1] == "480 more warnings are in metrics.json."
    assert len(found.doubts) == 21


def test_why_a_run_stopped_is_made_fit_for_a_page(runs):
    (doubt,) = on(runs("a", 0.9, stopped="\x1b[31mred\u202e" + 5000 * "x")).doubts
    assert doubt.startswith("Training was stopped: redxxx")
    assert len(doubt) == verdict.LONGEST_DOUBT


def test_a_warning_that_a_run_repeats_is_said_once(runs):
    assert on(runs("a", 0.9, warnings=["odd", "even", "odd"])).doubts == ("odd", "even")


def test_ends_in_the_wrong_order_are_no_interval(runs):
    assert on(runs("a", 0.9, [0.95, 0.85])).score == ""


def test_a_score_above_guessing_whose_interval_is_not_could_be_luck(runs):
    found = on(runs("a", 0.15, [0.05, 0.25], chance={"f1": 0.1}))
    assert found.doubts == (
        "The score could be luck: its interval includes what guessing reaches.",
    )
    assert found.next_step.startswith("Validate on more photos or rows")


@pytest.mark.parametrize(
    ("metrics", "said"),
    [
        (None, "No score: there is no metrics.json, and no printed line has f1"),
        ("{", "No score: metrics.json cannot be read"),
        ("{}", "No score: metrics.json has no f1"),
        ('{"AUC": 0.9}', "No score: metrics.json has no f1"),
        ('{"f1": NaN}', "No score: f1 in metrics.json is not a number"),
        ('{"f1": null, "data": {"val": 0}}', "No score: there was nothing to validate on"),
    ],
)
def test_of_a_run_without_a_score_it_is_said_why(tmp_path, metrics, said):
    (tmp_path / "run.ipynb").write_text("{}")
    if metrics is not None:
        (tmp_path / "metrics.json").write_text(metrics)
    assert on(tmp_path).score == said


@pytest.mark.parametrize(
    ("metrics", "next_step"),
    [
        ({"AUC": 0.9}, "Write it, or name another measure: score in [tool.kernelkit.shown]."),
        ({"f1": None}, ""),
    ],
)
def test_of_a_run_without_a_score_no_doubt_hides_how_it_gets_one(runs, metrics, next_step):
    folder = runs("a", 0.9)
    content = json.dumps(metrics | {"warnings": ["2 classes without photos"]})
    (folder / "metrics.json").write_text(content)
    found = on(folder)
    assert found.doubts == ("2 classes without photos",)
    assert found.next_step == next_step


def test_a_project_that_names_no_score_is_told_where_to_name_it(runs):
    found = on(runs("a", 0.9), Shown())
    assert found.score == "No score: pyproject.toml names no measure to judge runs by"
    assert "[tool.kernelkit.shown]" in found.next_step


def test_a_notebook_that_is_no_run_has_no_verdict(tmp_path):
    assert on(tmp_path) == verdict.Verdict()


def test_an_interval_says_its_own_level(runs):
    folder = runs("a", 0.9, intervals={"f1": [0.8, 1.0], "level": 0.9})
    assert on(folder).score == "90 % interval 0.8000 to 1.0000"


@pytest.mark.parametrize(
    ("losses", "diverged"),
    [
        (["2", "nan", "nan"], "Training diverged: loss is not a number from epoch 2 on."),
        (["inf", "inf"], "Training diverged: loss is not a number from epoch 1 on."),
        (["2", "nan", "1"], ""),  # it came back
        (["2", ""], ""),  # a loss that was not measured
    ],
)
def test_a_loss_that_is_no_number_at_the_end_is_a_doubt(runs, losses, diverged):
    folder = runs("a", 0.9)
    (folder / "history.csv").write_text("epoch,loss\n" + "".join(f"1,{x}\n" for x in losses))
    assert on(folder).doubts == ((diverged,) if diverged else ())


def test_early_stopping_is_as_it_should_be(runs):
    assert on(runs("a", 0.9, stopped="early stopping after epoch 7")).doubts == ()
    assert on(runs("b", 0.9, stopped=True)).doubts == ()
    assert on(runs("c", 0.9, stopped="ended by early stopping")).doubts == ()


def test_a_chance_that_is_no_number_is_not_known(runs):
    assert on(runs("a", 0.9, chance={"f1": True})).score == ""


def test_a_loss_beats_chance_from_below(runs):
    shown = Shown(score="f1", minimize=True)
    assert on(runs("a", 0.05, chance={"f1": 0.1}), shown).doubts == ()
    assert on(runs("b", 0.2, chance={"f1": 0.1}), shown).doubts


def test_the_last_and_the_best_run_on_the_same_data_are_compared(runs):
    runs("best", 0.95, [0.93, 0.97], hour=1)
    runs("other-data", 0.99, data="petals", hour=2)
    runs("other-notebook", 0.98, notebook="/x/other.ipynb", hour=2)
    last = runs("last", 0.80, [0.78, 0.82], hour=3)
    (last / "report.html").write_text("<p>report</p>")
    found = on(runs("new", 0.94, [0.92, 0.96], hour=4))
    assert texts(found) == [
        "0.1400 better than the last comparable run, last, which is more than noise.",
        "0.0100 worse than the best other run, best, which could be noise.",
    ]
    assert found.compared[0][1] == "../last/report.html"


def test_a_difference_without_intervals_is_not_called_noise(runs):
    runs("last", 0.8, hour=1)
    assert texts(on(runs("new", 0.9, hour=2))) == [
        "0.1000 better than the last comparable run, last."
    ]


def test_intervals_without_width_tell_nothing_of_noise(runs):
    runs("last", 0.8, [0.8, 0.8], hour=1)
    assert texts(on(runs("new", 0.9, [0.9, 0.9], hour=2))) == [
        "0.1000 better than the last comparable run, last."
    ]


def test_an_equal_score_is_the_same(runs):
    runs("last", 0.9, hour=1)
    assert texts(on(runs("new", 0.9, hour=2))) == [
        "The same score as the last comparable run, last."
    ]


def test_a_difference_that_no_digit_shows_is_none(runs):
    runs("last", 0.90001, hour=1)
    assert texts(on(runs("new", 0.90002, hour=2))) == [
        "The same score as the last comparable run, last."
    ]


def test_runs_of_unknown_notebooks_are_not_compared(runs):
    runs("a", 0.9, notebook=None)
    assert texts(on(runs("b", 0.8, notebook=None, hour=1))) == []


def test_the_last_run_is_the_one_that_ended_last_whenever_it_was_fetched(runs):
    runs("newer", 0.8, ended="2026-11-20T10:00:00+00:00", hour=1)
    runs("older", 0.7, ended="2026-11-19T10:00:00+00:00", hour=5)
    found = on(runs("now", 0.9, ended="2026-11-21T10:00:00+00:00", hour=3))
    assert texts(found)[0] == "0.1000 better than the last comparable run, newer."


def test_the_runs_of_a_sweep_are_called_by_their_parameters(runs, tmp_path):
    (tmp_path / "sweep.json").write_text('{"varying": ["size"]}')
    runs("0db56f79dd25", 0.8, parameters={"size": 1})
    found = on(runs("373ae8f430a2", 0.9, parameters={"size": 2}, hour=1))
    assert texts(found) == ["0.1000 better than the last comparable run, size=1."]
    assert found.next_step == "Compare it with the other runs on the page of its sweep."


def test_a_sound_run_is_told_what_to_try(runs):
    first = runs("first", 0.9, [0.88, 0.92])
    assert on(first).next_step.startswith("Change one thing and compare")
    worse = on(runs("worse", 0.7, [0.68, 0.72], hour=1))
    assert worse.next_step == "Begin from the parameters of first, which is clearly better."
    close = on(runs("close", 0.89, [0.87, 0.91], hour=2))
    assert close.next_step.startswith("Repeat this run and first with another seed")


def test_what_the_run_warns_of_and_why_it_stopped_are_doubts(runs):
    found = on(runs("a", 0.9, warnings=["2 classes without photos"], stopped="training diverged"))
    assert found.doubts == ("Training was stopped: training diverged.", "2 classes without photos")
    assert found.next_step.startswith("Resolve what looks wrong")


def test_a_run_out_of_time_is_to_be_continued(runs):
    found = on(runs("a", 0.9, stopped="time limit"))
    assert found.doubts == ("The run was stopped by its time limit.",)
    assert found.next_step.startswith("Continue it")


def test_of_a_run_that_failed_the_cell_is_to_be_mended_first(tmp_path):
    (tmp_path / "run").mkdir()
    found = on(tmp_path / "run", ended=ending.Ending(reached=False, error="ValueError: x"))
    assert found.next_step == "Fix what failed, then run it again."


def test_a_run_that_did_not_reach_its_end_is_compared_with_none_and_none_with_it(runs):
    first, cut_off, last = (runs(name, f1, hour=n) for n, (name, f1) in enumerate(SCORES))
    state = kit_folder.path(cut_off, kit_folder.STATE)
    state.write_text(json.dumps({"notebook": "/x/train.ipynb", "over": False}))
    found = on(cut_off, ended=ending.of_run(cut_off, Metrics()))
    assert texts(found) == []
    assert found.next_step.startswith("Run it again")
    assert texts(on(last)) == ["0.1000 better than the last comparable run, a."]
    assert on(last).last == first.resolve()
    state.write_text(json.dumps({"notebook": "/x/train.ipynb", "over": True}))
    comparable._known.cache_clear()
    assert "the last comparable run, b" in texts(on(last))[0]


@pytest.fixture
def pushed(runs):
    """Makes the run of a push; with `verified`, its manifest proves its measures."""

    def pushed(*arguments, verified=False, **options):
        folder = runs(*arguments, **options)
        marker = kit_folder.path(folder, kit_folder.MARKER)
        marker.write_text(json.dumps({"kernel": "me/train", "version": 3, "rehearsal": False}))
        if verified:
            digest = files.sha256_of(folder / "metrics.json")
            entry = {"name": "metrics.json", "size": 1, "sha256": digest}
            session_manifest.keep(folder, json.dumps({"push": "a", "files": [entry]}))
        return folder

    return pushed


def test_a_score_that_is_not_verified_is_said_to_be_that(pushed):
    found = on(pushed("a", 0.9))
    assert found.doubts[0].startswith("Its measures are not verified: its session left no manifest")
    found = on(pushed("b", 0.9, verified=True))
    assert found.score == ""
    assert found.doubts == ()


def test_a_sound_push_is_to_be_submitted_once(pushed, tmp_path):
    (tmp_path / "pyproject.toml").touch()
    folder = pushed("a", 0.9, verified=True)
    assert "Submit" not in on(folder).next_step
    (folder / "submission.csv").touch()
    assert on(folder).next_step == "Submit it: kernelkit submit a"
    submitted.add(folder, submitted.Submitted("leaves"))
    assert "Submit" not in on(folder).next_step


@pytest.mark.parametrize(
    ("settings", "left"),
    [("", "submission.parquet"), ('[tool.kernelkit]\nsubmission = "mine.csv"', "mine.csv")],
)
def test_a_push_is_to_be_submitted_whatever_its_project_submits(pushed, tmp_path, settings, left):
    (tmp_path / "pyproject.toml").write_text(settings)
    folder = pushed("a", 0.9, verified=True)
    (folder / left).touch()
    assert on(folder).next_step == "Submit it: kernelkit submit a"


def test_a_run_to_compare_with_is_marked_where_it_is_not_verified(pushed):
    pushed("a", 0.8)
    pushed("b", 0.9, hour=1, verified=True)
    found = on(pushed("c", 0.85, hour=2, verified=True))
    assert texts(found) == ["0.0500 worse than the last comparable run, b."]
    pushed("d", 0.95, hour=3)
    found = on(pushed("e", 0.9, hour=4, verified=True))
    assert texts(found)[0] == "0.0500 worse than the last comparable run, d (not verified)."


def test_the_other_runs_are_read_once_and_again_when_they_change(runs, monkeypatch):
    folders = [runs(name, n / 10, hour=n) for n, name in enumerate("abcd")]
    read = []

    def counted(folder, score, whole=Metrics.of_run):
        read.append(folder)
        return whole(folder, score)

    monkeypatch.setattr(Metrics, "of_run", counted)
    for folder in folders:
        on(folder)
    assert len(read) == 4 + 4  # each for its own report, and once beside the others

    (folders[3] / "metrics.json").write_text(json.dumps({"f1": 0.95, "data": {"name": "leaves"}}))
    assert any("0.9500" in text for text in texts(on(folders[0])))
