"""What the three pages assert, and the test that makes each assertion false and looks."""

import ast
import json
import re
from pathlib import Path

import pytest

from kernelkit import files
from kernelkit.pages import ending, verdict
from kernelkit.runs import kit_folder
from kernelkit.shown import Shown

PAGES = Path(__file__).parent
SOURCES = PAGES.parents[2] / "src" / "kernelkit" / "pages"
FILES = {
    "report": PAGES / "test_report_page.py",
    "verdict": PAGES / "test_verdict.py",
    "runs": PAGES / "test_index_page.py",
    "push": PAGES / "test_push_report.py",
    "sweep": PAGES.parent / "sweep" / "test_page.py",
    "browser": PAGES.parents[1] / "browser" / "test_sweep_page.py",
}

# (source, words of it that assert something): the test, as FILE test.
REPORT = {
    "The run did not finish.": "report "
    "a_run_that_was_cut_off_says_so_unless_a_command_is_still_at_work",
    "The cell that failed": "report a_failed_run_has_a_banner",
    "Run it again: ": "report a_run_at_home_shows_the_command_that_repeats_it",
    "The last run of this notebook before this one, on the same data": "report "
    "the_last_run_is_the_one_that_the_verdict_means_and_what_one_lacks_is_told",
    "Measures and parameters are the same.": "report "
    "runs_that_are_alike_are_said_to_be_and_others_not",
    "All parameters are at the notebook's defaults.": "report "
    "what_a_cell_of_jupyter_set_is_not_at_its_default",
    "of which the notebook declares no defaults": "report "
    "a_parameter_that_the_notebook_does_not_declare_is_at_no_default",
    "below the mean of": "report the_mean_of_the_bars_is_theirs",
}
VERDICT = {
    "% interval": "verdict an_interval_says_its_own_level",
    "guessing reaches": "verdict a_chance_that_is_no_number_is_not_known",
    "The score is no better than guessing.": "verdict "
    "a_score_that_guessing_could_reach_is_said_to_be_that",
    "The score could be luck": "verdict a_score_above_guessing_whose_interval_is_not_could_be_luck",
    "the last run": "verdict the_last_run_is_the_one_that_ended_last_whenever_it_was_fetched",
    "the best other run": "verdict the_last_and_the_best_run_on_the_same_data_are_compared",
    "which could be noise": "verdict a_difference_without_intervals_is_not_called_noise",
    "which is more than noise": "verdict intervals_without_width_tell_nothing_of_noise",
    "The same score as": "verdict an_equal_score_is_the_same",
    "It is the best of": "verdict the_best_of_many_by_more_than_noise_is_not_flattered",
    "The run was stopped by its time limit.": "verdict a_run_out_of_time_is_to_be_continued",
    "Training was stopped": "verdict early_stopping_is_as_it_should_be",
    "Training diverged": "verdict a_loss_that_is_no_number_at_the_end_is_a_doubt",
    "more warnings are in metrics.json": "verdict of_many_warnings_the_first_are_shown",
    "Its measures are": "verdict a_score_that_is_not_verified_is_said_to_be_that",
    "No score: ": "verdict of_a_run_without_a_score_it_is_said_why",
    "Fix what failed": "verdict of_a_run_that_failed_the_cell_is_to_be_mended_first",
    "The best epoch was one of the last": "verdict "
    "a_score_that_was_best_at_the_very_end_may_rise_further",
    "Submit it": "verdict a_sound_push_is_to_be_submitted_once",
    "Repeat this run and": "verdict a_sound_run_is_told_what_to_try",
    "which is clearly better": "verdict a_sound_run_is_told_what_to_try",
}
RUNS = {
    "index_page.py": {
        "failed: ": "runs a_run_that_failed_after_its_metrics_is_marked",
        "stopped: ": "runs a_run_that_was_stopped_or_has_no_score_says_so",
        "did not finish": "runs a_run_without_metrics_has_ended_if_its_notebook_did",
    },
    "runs.html.j2": {
        "The same in every run:": "runs what_a_run_lacks_is_not_the_same_in_every_run",
        "at their defaults": "sweep it_renders_settings_best_first_with_pictures",
    },
    "runs/page.js": {
        "on data that the runs do not name": "runs runs_that_do_not_name_their_data_are_said_to",
        "runs have ": "runs of_equal_scores_none_is_called_the_best",
        "; the next, ": "runs the_header_names_the_best_run_of_each_data_set",
        "% interval": "runs an_interval_is_named_by_its_own_level",
        "configurations reach": "sweep of_equal_configurations_none_is_the_best_and_no_gap_is_told",
        "so none is the best": "sweep of_configurations_with_data_of_their_own_none_is_the_best",
        "the gap could be noise": "sweep "
        "few_seeds_must_differ_by_more_before_that_is_more_than_noise",
        "the gap is more than noise": "sweep "
        "few_seeds_must_differ_by_more_before_that_is_more_than_noise",
        "The figures of": "runs figures_that_are_not_verified_are_marked_in_the_table",
        "explains ": "browser importance_names_what_cannot_be_told_apart",
        "No visible effect": "browser the_header_answers_what_one_comes_with",
        "the best was run": "browser the_header_answers_what_one_comes_with",
    },
    "runs/compare.js": {
        "Their scores are the same.": "sweep "
        "of_equal_configurations_none_is_the_best_and_no_gap_is_told",
        "They were validated on different data": "sweep "
        "scores_on_different_data_are_not_judged_side_by_side",
        "standard errors of their seeds": "sweep "
        "few_seeds_must_differ_by_more_before_that_is_more_than_noise",
        "disagree on": "browser two_runs_side_by_side_differ_in_settings_classes_and_photos",
    },
    "runs/table.js": {
        "contradicts the validation": "runs "
        "a_run_whose_public_score_contradicts_its_validation_is_marked",
        'textContent: "best"': "runs the_best_of_each_data_set_is_marked",
    },
}
ASSERTIONS = {"report.html.j2": REPORT, "verdict.py": VERDICT, **RUNS}


@pytest.mark.parametrize("source", ASSERTIONS)
def test_each_assertion_of_a_page_has_a_test(source):
    text = (SOURCES / source).read_text()
    for words, test in ASSERTIONS[source].items():
        assert words in text, f"{source} no longer says {words!r}"
        file, name = test.split()
        tree = ast.parse(FILES[file].read_text())
        names = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        assert f"test_{name}" in names, f"{words!r} of {source}: no test_{name}"


def test_no_doubt_of_the_verdict_is_left_out():
    """Each sentence on what looks wrong begins with words of the table, or is advice on it."""
    advice = ("It trained", "Check some", "Validate on")
    for function in ast.walk(ast.parse((SOURCES / "verdict.py").read_text())):
        if isinstance(function, ast.FunctionDef) and function.name in ("_doubts", "_guessing"):
            code = [node for part in function.body[1:] for node in ast.walk(part)]
            texts = [node.value for node in code if isinstance(node, ast.Constant)]
            said = [text for text in texts if re.match(r"[A-Z].* .*", str(text))]
            assert said
            assert not [text for text in said if not text.startswith((*VERDICT, *advice))]


WIDE, NARROW = {"intervals": {"f1": [0.8, 0.96]}}, {"intervals": {"f1": [0.899, 0.901]}}
CLOSE, RISING = (
    {"f1": 0.89, **WIDE},
    "epoch,val_f1\n" + "\n".join(f"{n},0.{n}" for n in range(1, 7)),
)
# Of a run with an F1 of 0.9: what makes the words true, and what then makes them false. Beside its
# metrics, `beside` are the metrics of other runs, `history` is its CSV, `error` what ended it.
MADE_FALSE = {
    "% interval": (WIDE, {"intervals": {}}),
    "guessing reaches": ({"chance": {"f1": 0.1}}, {"chance": {}}),
    "The score is no better than guessing.": ({"f1": 0.1, "chance": {"f1": 0.1}}, {"f1": 0.9}),
    "The score could be luck": ({**WIDE, "chance": {"f1": 0.85}}, NARROW),
    "the last run": ({"beside": [{"f1": 0.5}]}, {"beside": [{"f1": 0.5, "data": {"name": "x"}}]}),
    "the best other run": (
        {"beside": [{"f1": 0.8}, {"f1": 0.5}]},
        {"beside": [{"f1": 0.5}, {"f1": 0.8}]},  # the last of them is the best
    ),
    "which could be noise": ({**WIDE, "beside": [CLOSE]}, {"beside": [{**CLOSE, "f1": 0.5}]}),
    "which is more than noise": ({**WIDE, "beside": [{**CLOSE, "f1": 0.5}]}, {"beside": [CLOSE]}),
    "The same score as": ({"beside": [{"f1": 0.9}]}, {"beside": [{"f1": 0.8}]}),
    "It is the best of": ({**WIDE, "beside": [CLOSE] * 4}, {"beside": [CLOSE] * 3}),
    "The run was stopped by its time limit.": ({"stopped": "time limit"}, {"stopped": None}),
    "Training was stopped": ({"stopped": "a loss of nan"}, {"stopped": "early stopping"}),
    "Training diverged": ({"history": "loss\n1\nnan"}, {"history": "loss\n1\n0.5"}),
    "more warnings are in metrics.json": ({"warnings": ["w"] * 21}, {"warnings": ["w"] * 20}),
    "No score: ": ({"f1": None}, {"f1": 0.9}),
    "Fix what failed": ({"error": "ValueError: x"}, {"error": ""}),
    "The best epoch was one of the last": (
        {"history": RISING},
        {"history": f"{RISING}\n" + "\n".join(f"{n},0.1" for n in range(7, 30))},
    ),
    "Repeat this run and": ({**WIDE, "beside": [CLOSE]}, {"beside": []}),
    "which is clearly better": (
        {**NARROW, "beside": [{**NARROW, "f1": 0.99}]},
        {"beside": [{**NARROW, "f1": 0.5}]},
    ),
}
BY_A_PUSH = {"Its measures are", "Submit it"}  # test_verdict.py makes a push, and takes it away


def said(folder, beside=(), history="", error="", **metrics):
    """Every word of the verdict on a run, beside runs that ended before it."""
    place = folder / "run"
    for number, own in enumerate([*beside, metrics]):
        run = folder / f"other{number}" if number < len(beside) else place
        content = {"f1": 0.9, "data": {"name": "leaves"}, **own}
        content["ended"] = f"2026-11-29T{number:02}:00:00+00:00"
        files.write_text(run / "metrics.json", json.dumps(content))
        files.write_text(kit_folder.path(run, kit_folder.STATE), '{"notebook": "/x/train.ipynb"}')
    if history:
        files.write_text(place / "history.csv", history)
    ended = ending.Ending(reached=not error, error=error)
    found = verdict.of_run(place, place, Shown(score="f1", measures={"f1": "F1"}), ended)
    compared = [text for text, _ in found.compared]
    return "\n".join([found.score, *compared, *found.doubts, found.next_step])


@pytest.mark.parametrize("words", MADE_FALSE)
def test_a_statement_of_the_verdict_goes_when_it_is_made_false(tmp_path, words):
    true, false = MADE_FALSE[words]
    assert words.lower() in said(tmp_path / "true", **true).lower()
    assert words.lower() not in said(tmp_path / "false", **{**true, **false}).lower()


def test_each_statement_of_the_verdict_is_made_false():
    assert MADE_FALSE.keys() | BY_A_PUSH == VERDICT.keys()
