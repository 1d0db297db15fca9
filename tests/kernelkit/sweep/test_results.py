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


@pytest.mark.parametrize(("minimize", "best"), [(False, {2, 3}), (True, {0, 1})])
def test_only_the_best_runs_keep_the_file(sweeps, minimize, best):
    text = f"grid: {{a: [0, 1, 2, 3]}}\nminimize: {minimize}"
    page = sweeps.finish(text, left={"model.h5": ""})

    for _ in range(2):
        results.keep_best(page, {"model.h5": 2})
        models = [(page.folder / run.id / "model.h5").is_file() for run in page.runs]
        assert {number for number, kept in enumerate(models) if kept} == best
    assert len(list(page.folder.glob("*/metrics.json"))) == 4
