"""The best of a sweep's runs, and the large files that only they keep."""

from dataclasses import replace

import numpy as np
import pytest

from kernelkit.sweep.results import ranking, table
from kernelkit.sweep.results.ranking import Best
from kernelkit.sweep.sweep_folder import SweepFolder


@pytest.mark.parametrize(
    ("text", "setting", "score"),
    [("seeds: 4", "", 0.5), ("grid: {does: [score, slow]}\nseeds: 2", "does=slow", 0.6)],
)
def test_the_best_score_is_a_mean_over_seeds(sweeps, text, setting, score):
    scores = iter((0.7, 0.1, 0.5, 0.7))
    page = sweeps.finish(text, lambda run: next(scores))
    assert ranking.best(page) == Best(setting, pytest.approx(score), verified=True)


def test_settings_are_compared_where_they_were_validated_on_the_same_data(sweeps):
    page = sweeps.finish("grid: {a: [0, 1, 2]}", lambda run: run["a"] / 10)
    folds = [replace(run, content=f"fold {run.id}") for run in page.runs]
    assert ranking.best(replace(page, runs=folds)) is None
    two = [replace(run, content=str(min(n, 1))) for n, run in enumerate(page.runs)]
    assert ranking.best(replace(page, runs=two[::-1])).setting == "a=2"
    two[2] = replace(two[2], content="0")
    assert ranking.best(replace(page, runs=two)).score == 0.2
    two = [replace(run, content="01"[n > 1]) for n, run in enumerate(page.runs)]
    assert ranking.best(replace(page, runs=two)).setting == "a=1"


def test_a_run_names_its_data_by_what_its_predictions_are_of(sweeps):
    text = "score: macro_f1\ngrid: {a: [0, 1, 2]}"
    page = sweeps.finish(text.partition("\n")[2], lambda run: run["a"] / 10)
    for run, photos in zip(page.runs, (["a", "b"], ["b", "a"], ["a", "c"]), strict=True):
        labels = [photo == "b" for photo in photos]
        np.savez(page.folder / run.id / "val_predictions.npz", ids=photos, labels=labels)
    sweep = sweeps.read(text)
    page = table.gather(SweepFolder(page.folder), sweep, sweep.runs)
    first, second, third = (run.content for run in page.runs)
    assert first == second != third
    assert ranking.best(page).setting == "a=1"


def test_the_mean_of_a_setting_is_of_its_runs_on_the_data_that_is_compared(sweeps):
    page = sweeps.finish("grid: {a: [0, 1]}\nseeds: 2", lambda run: run["a"] + run["seed"] / 10)
    runs = [replace(run, content="A") for run in page.runs]
    runs[-1] = replace(runs[-1], content="B")
    found = ranking.best(replace(page, runs=runs))
    assert (found.setting, found.score) == ("a=1", runs[-2].metrics["macro_f1"])


def test_on_each_data_set_the_best_runs_keep_their_files(sweeps):
    page = sweeps.finish("grid: {a: [1, 2, 3]}", lambda run: run["a"], left={"model": "w"})
    folds = [replace(run, content=f"fold {min(n, 1)}") for n, run in enumerate(page.runs)]
    ranking.keep_best(replace(page, runs=folds), {"model": 1})
    kept = [run.parameters["a"] for run in page.runs if (page.folder / run.id / "model").exists()]
    assert kept == [1, 3]


@pytest.mark.parametrize("file", ["model", "model/weights"])
def test_only_the_runs_with_the_lowest_score_keep_the_file_where_that_is_the_best(sweeps, file):
    page = sweeps.finish("grid: {a: [0, 1]}\nminimize: true", left={file: ""})

    ranking.keep_best(page, {"model": 1})

    kept = [(page.folder / run.id / file).is_file() for run in page.runs]
    assert kept == [True, False]
    assert len(list(page.folder.glob("*/metrics.json"))) == 2


def test_a_run_that_its_time_limit_stopped_has_a_score_and_keeps_its_files(sweeps):
    page = sweeps.finish(
        "grid: {a: [1, 2, 3]}", left={"model": "w"}, stopped=lambda run: run["a"] in (1, 3)
    )
    assert ranking.best(page).score == 0.003
    ranking.keep_best(page, {"model": 0})
    kept = [run.parameters["a"] for run in page.runs if (page.folder / run.id / "model").exists()]
    assert kept == [1, 3]
