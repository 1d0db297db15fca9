"""Several models' probabilities averaged, with weights fitted on the validation set.

Weights fitted on a set flatter their score on that set, so the gain is measured on images
that the weights have not seen.
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

ROUNDS = 24  # members put in, with repeats: weights are multiples of 1/24 at the finest
MOST = 12  # runs considered, best first: more fit noise and take time


def macro_f1(labels: np.ndarray, predicted: np.ndarray, num_classes: int) -> float:
    """As `sklearn.metrics.f1_score(average="macro")` and 50 times as fast.

    Classes counted are those that occur among labels or predictions.
    """
    hits = np.bincount(labels[labels == predicted], minlength=num_classes)
    there = np.bincount(labels, minlength=num_classes)
    there = there + np.bincount(predicted, minlength=num_classes)
    return float((2 * hits[there > 0] / there[there > 0]).mean())


def hill_climb(probabilities: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Weights (models,) that sum to 1, found by putting in one model at a time, with repeats.

    `probabilities`: float (models, n, classes). It starts with the best model and each time
    adds the one with which macro F1 is highest (then the loss lowest); the best state on the
    way counts. Caruana et al., "Ensemble selection from libraries of models", 2004.
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
    """Macro F1 on halves of the validation set that chose and fitted nothing, (repeats,) each.

    `single`: the run that was best on the other half; `mean`: all with equal weights;
    `weighted`: weights fitted on the other half.
    """

    single: np.ndarray
    mean: np.ndarray
    weighted: np.ndarray

    def gain(self, of: str = "weighted") -> tuple[float, float]:
        """The gain of `of` over the single run: mean and standard deviation over repeats."""
        differences = getattr(self, of) - self.single
        return float(differences.mean()), float(differences.std())

    @property
    def choice(self) -> str:
        """ "mean" or "weighted", whichever is better, where it wins in nine of ten repeats.

        Otherwise "single".
        """
        best = max(("mean", "weighted"), key=lambda name: self.gain(name)[0])
        return best if (getattr(self, best) > self.single).mean() >= 0.9 else "single"


def held_out(probabilities: np.ndarray, labels: np.ndarray, repeats: int = 10) -> HeldOut:
    """Split-half cross-validation of choosing, averaging and weighting, `repeats` times over.

    Each class is divided evenly; a repeat's value is the mean of its two halves. Halves hold
    few images of rare classes, so that their scores scatter more than the whole set's.
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
    """(models, n, classes) averaged with weights (models,): (n, classes)."""
    return np.tensordot(weights, probabilities, axes=1)


def weights_for(choice: str, weights: np.ndarray) -> np.ndarray:
    """Weights of "single" (the first), "mean" (all alike) or "weighted" (as they are).

    Raises `SettingError` for any other choice.
    """
    same = np.full(len(weights), 1 / len(weights))
    choices = {"single": np.eye(len(weights))[0], "mean": same, "weighted": weights}
    if choice not in choices:
        raise SettingError(f"submit {choice!r}: auto, {', '.join(choices)}")
    return choices[choice]


def stacked(runs: Sequence[FinishedRun]) -> np.ndarray:
    """float32 (runs, n, classes) of aligned runs."""
    return np.stack([run.probabilities for run in runs])


def submit(runs: Sequence[FinishedRun], weights: np.ndarray, path: Path) -> None:
    """`submission.csv` of the weighted runs; one run alone gives the file that it wrote itself.

    Of a run over folds the members' probabilities are averaged.

    Raises `DataError` when a run keeps no test probabilities, or the runs' test images differ.
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
    """Write the ensemble's submission, or the best run's own file if that fails; say which.

    With `insist`, raise what `submit` raises instead. Where not even the best run
    left a submission, nothing is written and the line says so.
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
