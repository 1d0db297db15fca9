"""The weighted mean of several models' probabilities, with weights fitted on the validation set.

On the images that the weights were fitted on, the score is too good; the gain is therefore measured
on other images.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from petals import storage
from petals.comparison.finished_run import FinishedRun, mean_predictions
from petals.errors import DataError, SettingError
from petals.evaluation.submission import write_submission

ROUNDS = 24  # models added, with repeats: the smallest weight is 1/24
MOST = 12  # runs considered, the best ones: more would fit noise and take longer


def macro_f1(labels: np.ndarray, predicted: np.ndarray, num_classes: int) -> float:
    """Macro F1, 0 to 1, as `sklearn.metrics.f1_score(average="macro")` but 50 times as fast.

    `labels` and `predicted`: int64 (n,), 0 to num_classes - 1. Only classes that occur in either
    count.
    """
    hits = np.bincount(labels[labels == predicted], minlength=num_classes)
    there = np.bincount(labels, minlength=num_classes)
    there = there + np.bincount(predicted, minlength=num_classes)
    return float((2 * hits[there > 0] / there[there > 0]).mean())


def hill_climb(probabilities: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Weights float64 (models,) that sum to 1, found by adding one model at a time, with repeats.

    `probabilities`: float (models, n, classes); `labels`: int64 (n,). The first is the best model;
    each next one gives the highest macro F1 together with those before (and among equals the lowest
    loss). The best selection on the way is returned. Caruana et al., "Ensemble selection from
    libraries of models", 2004.
    """
    models, n, classes = probabilities.shape
    rows = np.arange(n)
    counts, total = np.zeros(models), np.zeros((n, classes))
    best, best_score = counts, (-1.0, -np.inf)
    for size in range(1, ROUNDS + 1):
        scores = []
        for model in probabilities:
            mean = (total + model) / size
            f1 = macro_f1(labels, mean.argmax(axis=1), classes)
            scores.append((f1, float(np.log(np.clip(mean[rows, labels], 1e-7, 1)).mean())))
        chosen = max(range(models), key=scores.__getitem__)
        total += probabilities[chosen]
        counts = counts + np.eye(models)[chosen]
        if scores[chosen] > best_score:
            best, best_score = counts, scores[chosen]
    return best / best.sum()


@dataclass(frozen=True)
class HeldOut:
    """Macro F1 on the half of the validation set that nothing was fitted on: float64 (repeats,).

    `single`: the run that was best on the other half; `mean`: all runs with equal weights;
    `weighted`: all runs with weights fitted on the other half.
    """

    single: np.ndarray
    mean: np.ndarray
    weighted: np.ndarray

    def gain(self, of: str = "weighted") -> tuple[float, float]:
        """Mean and standard deviation over repeats of the gain of `of` over the single run."""
        differences = getattr(self, of) - self.single
        return float(differences.mean()), float(differences.std())

    @property
    def choice(self) -> str:
        """The better of "mean" and "weighted" if it wins in nine of ten repeats, else "single"."""
        best = max(("mean", "weighted"), key=lambda name: self.gain(name)[0])
        return best if (getattr(self, best) > self.single).mean() >= 0.9 else "single"


def held_out(probabilities: np.ndarray, labels: np.ndarray, repeats: int = 10) -> HeldOut:
    """Split-half cross-validation of choosing, averaging and weighting, repeated `repeats` times.

    `probabilities`: float (models, n, classes); `labels`: int64 (n,). The images of each class are
    divided evenly; the value of a repeat is the mean over its two halves. A half has few images of
    rare classes, so its score varies more than that of the whole set.
    """
    rng = np.random.default_rng(0)
    classes = probabilities.shape[2]
    results = []
    for _ in range(repeats):
        half = _halves(labels, rng)
        for fit, judge in ((half, ~half), (~half, half)):
            single = max(
                range(len(probabilities)),
                key=lambda i, fit=fit: macro_f1(  # type: ignore[misc]
                    labels[fit], probabilities[i, fit].argmax(axis=1), classes
                ),
            )
            weights = hill_climb(probabilities[:, fit], labels[fit])
            mixes = (probabilities[single], probabilities.mean(axis=0), mix(probabilities, weights))
            guesses = (rows[judge].argmax(axis=1) for rows in mixes)
            results.append([macro_f1(labels[judge], guess, classes) for guess in guesses])
    return HeldOut(*np.array(results).reshape(repeats, 2, 3).mean(axis=1).T)


def _halves(labels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    order = rng.permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    half = np.zeros(len(labels), bool)
    half[order[rng.integers(2) :: 2]] = True
    return half


def mix(probabilities: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The weighted sum (n, classes) of probabilities (models, n, classes); weights (models,)."""
    return np.tensordot(weights, probabilities, axes=1)


def weights_for(choice: str, weights: np.ndarray) -> np.ndarray:
    """The weights (models,) for a choice: "single" (only the first), "mean" or "weighted".

    Raises `SettingError` for any other choice.
    """
    same = np.full(len(weights), 1 / len(weights))
    choices = {"single": np.eye(len(weights))[0], "mean": same, "weighted": weights}
    if choice not in choices:
        raise SettingError(f"submit {choice!r}: auto, {', '.join(choices)}")
    return choices[choice]


def stacked(runs: Sequence[FinishedRun]) -> np.ndarray:
    """The probabilities of aligned runs: float32 (runs, n, classes)."""
    return np.stack([run.probabilities for run in runs])


def submit(runs: Sequence[FinishedRun], weights: np.ndarray, path: Path) -> None:
    """Write the `submission.csv` of the weighted runs; a single run's own file is copied.

    The probabilities of a cross-validation are the mean over its members.

    Raises `DataError` if a run has no test probabilities, or if the runs' test images differ.
    """
    members = [(run, weight) for run, weight in zip(runs, weights, strict=True) if weight > 0]
    if len(members) == 1 and not members[0][0].members:
        own = members[0][0].path / "submission.csv"
        if not own.is_file():
            raise DataError(f"{members[0][0].name} left no submission.csv")
        storage.write_text(path, own.read_text(encoding="utf-8"))
        return
    write_submission(path, *mean_predictions(members))


def submit_or_best(
    runs: Sequence[FinishedRun], weights: Sequence[float], path: Path, *, insist: bool = False
) -> str:
    """Write the ensemble's submission, or the best run's if that fails; return a line on which.

    With `insist`, raises what `submit` raises. If not even the best run has a submission, nothing
    is written and the line says so.
    """
    alone = [1.0] + [0.0] * (len(runs) - 1)
    names = ", ".join(run.name for run, w in zip(runs, weights, strict=True) if w > 0)
    try:
        submit(runs, np.asarray(weights), path)
    except DataError as error:
        if insist:
            raise
        if sum(weight > 0 for weight in weights) == 1:
            return f"no submission: {error}"
        return f"{error}\n{submit_or_best(runs, alone, path)}"
    return f"submission from {names}"
