"""The weighted mean of several models' probabilities, with weights fitted on the validation set.

On the images that the weights were fitted on, the score is too good; the gain is therefore measured
on other images.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold

from petals.comparison.runs import FinishedRun, mean_predictions
from petals.errors import DataError, SettingError, listed
from petals.evaluation.metrics import Scores
from petals.evaluation.submission import PARTIAL, write_submission

ROUNDS = 24  # models added, with repeats: the smallest weight is 1/24
MOST = 12  # runs considered, the best ones: more would fit noise and take longer
SINGLE, MEAN, WEIGHTED = "single", "mean", "weighted"
AUTO = "auto"


def hill_climb(probabilities: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Weights float64 (models,) that sum to 1, found by adding one model at a time, with repeats.

    `probabilities`: float (models, n, classes); `labels`: int64 (n,). The first is the best model;
    each next one gives the highest macro F1 together with those before (and among equals the lowest
    loss). The best selection on the way is returned. Caruana et al., "Ensemble selection from
    libraries of models", 2004.
    """
    models, n, classes = probabilities.shape
    counts = np.zeros(models)
    total = np.zeros((n, classes))
    best = counts
    best_score = (-1.0, -np.inf)
    for size in range(1, ROUNDS + 1):
        scores = []
        for model in probabilities:
            mean = (total + model) / size
            found = Scores.of(labels, mean)
            scores.append((found.macro_f1, -found.loss))
        chosen = max(range(models), key=scores.__getitem__)
        total += probabilities[chosen]
        counts = counts + np.eye(models)[chosen]
        if scores[chosen] > best_score:
            best = counts
            best_score = scores[chosen]
    return best / best.sum()


@dataclass(frozen=True)
class HeldOut:
    """Macro F1 on the half of the validation set that nothing was fitted on.

    `scores`: float64 (repeats,) of "single", the run that was best on the other half; "mean", all
    runs with equal weights; "weighted", all runs with weights fitted on the other half.
    """

    scores: Mapping[str, np.ndarray]

    def gains(self, choice: str) -> np.ndarray:
        """float64 (repeats,): the gain of "mean" or "weighted" over the single run."""
        return self.scores[choice] - self.scores[SINGLE]

    @property
    def choice(self) -> str:
        """The better of "mean" and "weighted" if it wins in nine of ten repeats, else "single"."""
        best = max((MEAN, WEIGHTED), key=lambda choice: self.gains(choice).mean())
        return best if (self.gains(best) > 0).mean() >= 0.9 else SINGLE

    def rows(self) -> list[dict[str, str | float]]:
        """A row for each choice: its mean score and gain, and the gain's standard deviation."""
        return [
            {
                "submission": choice,
                "macro F1": float(scores.mean()),
                "gain": float(self.gains(choice).mean()),
                "±": float(self.gains(choice).std()),
            }
            for choice, scores in self.scores.items()
        ]


def held_out(probabilities: np.ndarray, labels: np.ndarray, repeats: int = 10) -> HeldOut:
    """Split-half cross-validation of choosing, averaging and weighting, repeated `repeats` times.

    `probabilities`: float (models, n, classes); `labels`: int64 (n,). The images of each class are
    divided evenly, unless a class has a single one; the value of a repeat is the mean over its two
    halves. A half has few images of rare classes, so its score varies more than that of the whole
    set. Raises `DataError` for fewer than two images.
    """
    if len(labels) < 2:
        raise DataError("one validation photo cannot judge an ensemble")
    counts = np.bincount(labels)
    divide = RepeatedStratifiedKFold if counts[counts > 0].min() > 1 else RepeatedKFold
    halves = divide(n_splits=2, n_repeats=repeats, random_state=0)
    results = []
    for fit, judge in halves.split(labels, labels):
        scores = [Scores.of(labels[fit], rows[fit]).macro_f1 for rows in probabilities]
        weights = hill_climb(probabilities[:, fit], labels[fit])
        mixes = (
            probabilities[np.argmax(scores)],
            probabilities.mean(axis=0),
            mix(probabilities, weights),
        )
        results.append([Scores.of(labels[judge], rows[judge]).macro_f1 for rows in mixes])
    columns = np.array(results).reshape(repeats, 2, 3).mean(axis=1).T
    return HeldOut(dict(zip((SINGLE, MEAN, WEIGHTED), columns, strict=True)))


def warnings_of(labels: np.ndarray) -> list[str]:
    """What makes the scores of halves mean less than they seem to; `labels`: int64 (n,)."""
    counts = np.bincount(labels)
    single = int((counts == 1).sum())
    if not single:
        return []
    return [
        f"{single:,} of {int((counts > 0).sum()):,} classes have one validation photo, which only "
        "one half can hold: the gain says little"
    ]


def candidates(runs: Sequence[FinishedRun]) -> tuple[list[FinishedRun], list[str]]:
    """The best runs, `MOST` of them, that a submission can be made of; a line for the others.

    `runs`: the best first. They are those that predicted all test photos, or all if none did.
    """
    complete = [run for run in runs if run.has_all_test_photos]
    if len(complete) in (0, len(runs)):
        return list(runs[:MOST]), []
    names = [run.name for run in runs if not run.has_all_test_photos]
    return complete[:MOST], [f"not submitted, for lack of test photos: {listed(names)}"]


def mix(probabilities: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The weighted sum (n, classes) of probabilities (models, n, classes); weights (models,)."""
    return np.tensordot(weights, probabilities, axes=1)


def submit(runs: Sequence[FinishedRun], choice: str, fitted: np.ndarray, path: Path) -> str:
    """Write the `submission.csv` of a choice to `path`; returns the names of its runs.

    `choice`: "single" for the first run, "mean" for all with equal weights, "weighted" for all with
    the `fitted` weights (runs,). If a run lacks test photos, the file is `submission.partial.csv`,
    and what is returned says so; an earlier submission at `path` is deleted in any case.

    Raises `SettingError` for any other choice, and `DataError` if a run has no test probabilities
    or the runs' test images differ.
    """
    same = np.full(len(runs), 1 / len(runs))
    choices = {SINGLE: np.eye(len(runs))[0], MEAN: same, WEIGHTED: fitted}
    if choice not in choices:
        raise SettingError(f"submit {choice!r}: choose {AUTO}, {', '.join(choices)}")
    members = [pair for pair in zip(runs, choices[choice].tolist(), strict=True) if pair[1] > 0]
    for name in (path, path.with_suffix(PARTIAL)):
        name.unlink(missing_ok=True)
    names = ", ".join(run.name for run, _ in members)
    complete = all(run.has_all_test_photos for run, _ in members)
    # Runs of earlier versions on the same photos do not say it in all cases.
    own_labels = (run.metrics["data"].get("submitted") for run in runs)
    submitted = next(filter(None, own_labels), None)
    written = write_submission(path, *mean_predictions(members), submitted, complete=complete)
    if not complete:
        return f"{names}; {written.name} lacks test photos, so it cannot be submitted"
    return names
