"""The best of a sweep's runs, and the large files that only they keep."""

import json

import pytest

from kernelkit.sweep import results, specification
from kernelkit.sweep.records import DONE, Record, SweepFolder


@pytest.fixture
def page(sweeps):
    """The page of a sweep whose runs are done, with these scores."""

    def page(text, *scores):
        folder, sweep = SweepFolder(sweeps.runs), specification.read(sweeps.write(text))
        for run, score in zip(sweep.runs, scores, strict=True):
            folder.write(run, Record(DONE))
            metrics = json.dumps({"macro_f1": score})
            (folder.run_folder(run) / "metrics.json").write_text(metrics)
        return results.gather(folder, sweep, sweep.runs)

    return page


@pytest.mark.parametrize(
    ("text", "best"),
    [("seeds: 4", ("", 0.5)), ("grid: {does: [score, slow]}\nseeds: 2", ("does=slow", 0.6))],
)
def test_the_best_score_is_a_mean_over_seeds(page, text, best):
    assert results.best(page(text, 0.7, 0.1, 0.5, 0.7)) == (best[0], pytest.approx(best[1]))


@pytest.mark.parametrize(("minimize", "best"), [(False, {1, 3}), (True, {0, 2})])
def test_only_the_best_runs_keep_the_file(page, minimize, best):
    rows = page(f"grid: {{a: [0, 1, 2, 3]}}\nminimize: {minimize}", 0.5, 0.9, 0.7, 0.8)
    models = [rows.folder / run.id / "model.h5" for run in rows.runs]
    for model in models:
        model.touch()

    for _ in range(2):
        results.keep_best(rows, {"model.h5": 2})
        assert {number for number, model in enumerate(models) if model.is_file()} == best
    assert len(list(rows.folder.glob("*/metrics.json"))) == 4
