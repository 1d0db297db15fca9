"""The best of a sweep's runs, and the large files that only they keep."""

import pytest

from kernelkit.sweep import results


@pytest.mark.parametrize(
    ("text", "best"),
    [("seeds: 4", ("", 0.5)), ("grid: {does: [score, slow]}\nseeds: 2", ("does=slow", 0.6))],
)
def test_the_best_score_is_a_mean_over_seeds(sweeps, text, best):
    scores = iter((0.7, 0.1, 0.5, 0.7))
    page = sweeps.finish(text, lambda run: next(scores))
    assert results.best(page) == (best[0], pytest.approx(best[1]))


@pytest.mark.parametrize(("minimize", "best"), [(False, [False, True]), (True, [True, False])])
def test_only_the_best_runs_keep_the_file(sweeps, minimize, best):
    page = sweeps.finish(f"grid: {{a: [0, 1]}}\nminimize: {minimize}", left={"model.h5": ""})

    for _ in range(2):
        results.keep_best(page, {"model.h5": 1})
        assert [(page.folder / run.id / "model.h5").is_file() for run in page.runs] == best
    assert len(list(page.folder.glob("*/metrics.json"))) == 2
