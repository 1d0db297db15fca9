"""The first phase as a convex problem: multinomial logistic regression on stored features.

Gradient descent over some epochs only approaches an optimum that a solver reaches in seconds, and
the strength of regularisation has to be guessed. Here L-BFGS finds the optimum, and
cross-validation on the training features chooses the strength. Features are standardised for that;
afterwards mean and deviation are folded into the weights, so the head stays one layer.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.utils.extmath import softmax
from threadpoolctl import threadpool_limits

from petals.accelerators import cluster
from petals.evaluation.calibration import fit_temperature
from petals.evaluation.metrics import Scores
from petals.models.build import Classifier
from petals.training.callbacks import Training
from petals.training.features import Features, apply_head, check

# The inverse strengths C that are tried, from strong to weak, for one view of each photo.
STRENGTHS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
FOLDS = 5
ENOUGH = 1000  # held-out images that choose a strength: more of them than this use fewer folds
# Rows x features x classes above which all cores are used. Below it, waiting threads used eight
# times the processor seconds on a busy machine.
LARGE = 1e9
# The largest gradient at which the solver stops. Smaller ones took two to six times as long and
# chose the same strengths, with the same macro F1 to .003.
CHOOSING, FITTING = 1e-3, 1e-4
ITERATIONS = 300
ABSENT = -30.0  # the logit of a class without training photos


@cluster.local_devices_only
def fit_head(
    classifier: Classifier, train: Features, val: Features, training: Training, seed: int = 0
) -> tuple[float, dict[float, float]]:
    """Fit the softmax head to stored features and put it into the classifier.

    Returns the chosen strength C, and {C: held-out log loss} of those tried.

    Every view counts as a separate image, and the views of an image stay together in a fold.
    After the deadline no further strength is tried. The history gets one row, as for one epoch.
    The solver runs on the host's processors, whatever the device; every host does the whole job,
    and host 0's head is used.
    """
    begun = time.monotonic()
    check(train, val)
    classes = classifier.head.units
    rows = train.values.reshape(-1, train.values.shape[-1])
    mean = rows.mean(axis=0, dtype=np.float64).astype(np.float32)
    deviation = rows.std(axis=0, dtype=np.float64).astype(np.float32)
    deviation = np.where(deviation > 1e-6, deviation, np.float32(1))  # 1 for a constant feature
    values = (train.values - mean) / deviation
    regression = _Regression(values, train.labels, classes, FITTING)
    losses = _held_out(regression, values, train.labels, seed, training.deadline)
    strength = min(losses, key=losses.__getitem__) if losses else STRENGTHS[len(STRENGTHS) // 2]
    kernel, bias, iterations = regression.fit(strength)
    kernel = kernel / deviation[:, None]
    bias = bias - mean @ kernel
    weights = [kernel.astype(np.float32), bias.astype(np.float32)]
    classifier.head.set_weights([cluster.of_first(array) for array in weights])
    seconds = time.monotonic() - begun
    fit, scores = (
        Scores.of(part.labels, apply_head(classifier.head, part)) for part in (train, val)
    )
    training.add_epoch(
        {"phase": "head", "epoch": 1, "loss": fit.loss, "accuracy": fit.accuracy},
        scores,
        learning_rate=0.0,
        seconds=seconds,
        images_per_second=None,  # a solver's iterations read no images
    )
    print(
        f"  head: C {strength:g}, best of {len(losses)}, {iterations} iterations, {seconds:.0f} s  "
        f"loss {fit.loss:.3f}  val loss {scores.loss:.3f}  macro F1 {scores.macro_f1:.4f}"
    )
    return strength, losses


def soften(classifier: Classifier, train: Features, label_smoothing: float) -> float:
    """Divide the head's logits by the temperature with the least loss on smoothed labels.

    Smoothed labels require less confident predictions than those of a head fitted to its optimum.
    Without this, the first steps of fine-tuning would change the backbone just to lower the
    confidence. The ranking of the classes does not change. Returns the temperature. All hosts get
    host 0's head.
    """
    # The logit of a class without photos means nothing.
    present, labels = np.unique(train.labels, return_inverse=True)
    probabilities = apply_head(classifier.head, train)[:, present]
    temperature = fit_temperature(labels, probabilities, label_smoothing)
    weights = [array / np.float32(temperature) for array in classifier.head.get_weights()]
    classifier.head.set_weights([cluster.of_first(array) for array in weights])
    return temperature


def _held_out(
    whole: _Regression, values: np.ndarray, labels: np.ndarray, seed: int, deadline: float
) -> dict[float, float]:
    """{C: mean held-out log loss} for each C that was tried in every fold.

    Starting with the strongest regularisation, each fit starts from the previous solution, and
    so will the fit of `whole`. A fold ends when weaker regularisation begins to do worse.
    """
    folds = stratified_folds(labels, seed)[: -(-FOLDS * ENOUGH // len(labels))]
    losses: dict[float, list[float]] = {}
    for held in folds:
        if held.all() or not held.any():
            continue
        regression = _Regression(values[~held], labels[~held], whole.classes, CHOOSING)
        best = np.inf
        for strength in STRENGTHS:
            if time.monotonic() > deadline:
                break
            kernel, bias, _ = regression.fit(strength)
            loss = Scores.of(labels[held], softmax(values[held, 0] @ kernel + bias)).loss
            losses.setdefault(strength, []).append(loss)
            if loss > best * 1.02:
                break
            best = min(best, loss)
        whole.start_from(regression)
    tries = max(map(len, losses.values()), default=0)
    return {c: float(np.mean(each)) for c, each in losses.items() if len(each) == tries}


def stratified_folds(labels: np.ndarray, seed: int) -> list[np.ndarray]:
    """bool (images,) for each fold: the images that it holds out, about a fifth of each class."""
    order = np.random.default_rng(seed).permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    number = np.empty(len(labels), int)
    number[order] = np.arange(len(labels)) % FOLDS
    return [number == fold for fold in range(FOLDS)]


class _Regression:
    """The regression on features (images, views, width); a fit starts from the solution before."""

    def __init__(
        self, values: np.ndarray, labels: np.ndarray, classes: int, tolerance: float
    ) -> None:
        self.rows = values.reshape(-1, values.shape[-1])
        self.labels = np.repeat(labels, values.shape[1])
        self.views, self.classes, self.present = values.shape[1], classes, np.unique(labels)
        self.solver = LogisticRegression(max_iter=ITERATIONS, tol=tolerance, warm_start=True)

    def start_from(self, other: _Regression) -> None:
        """Begin the next fit where another one ended, if it had the same classes."""
        if np.array_equal(self.present, other.present) and hasattr(other.solver, "coef_"):
            self.solver.coef_, self.solver.intercept_ = other.solver.coef_, other.solver.intercept_

    def fit(self, strength: float) -> tuple[np.ndarray, np.ndarray, int]:
        """(kernel (width, classes), bias (classes,), iterations) of the optimum for this C."""
        kernel = np.zeros((self.rows.shape[1], self.classes))
        bias = np.full(self.classes, ABSENT)
        if len(self.present) == 1:
            bias[self.present] = 0.0
            return kernel, bias, 0
        self.solver.set_params(C=strength / self.views)
        threads = None if self.rows.size * self.classes > LARGE else 1
        with warnings.catch_warnings(), threadpool_limits(threads):
            warnings.simplefilter("ignore", ConvergenceWarning)  # the rest would change nothing
            self.solver.fit(self.rows, self.labels)
        weights, intercepts = self.solver.coef_, self.solver.intercept_
        if len(self.present) == 2:  # of two classes scikit-learn gives the difference
            weights = np.concatenate([-weights, weights]) / 2
            intercepts = np.concatenate([-intercepts, intercepts]) / 2
        kernel[:, self.present], bias[self.present] = weights.T, intercepts
        return kernel, bias, int(np.max(self.solver.n_iter_))
