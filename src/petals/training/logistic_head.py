"""The first phase as a convex problem: multinomial logistic regression on stored features.

The head that gradients train for some epochs is on its way to an optimum that a solver reaches in
seconds, and it leaves the strength of regularisation to a guess. Here L-BFGS goes to the end, and
cross-validation on the training features alone chooses the strength. Features are standardised
for that; afterwards mean and deviation are folded into the weights, so the head stays one layer.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from petals.accelerators import cluster
from petals.evaluation.calibration import fit_temperature
from petals.evaluation.metrics import Scores
from petals.models.build import Classifier
from petals.training.callbacks import Training
from petals.training.features import Features, apply_head, check_labels

# The inverse strengths C that are tried, weak after strong, for a view of each photo.
STRENGTHS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
FOLDS = 5
# Rows x features x classes, from which on one fold of the five must do, and all cores work: below,
# threads that wait for one another took eight times the processors' seconds, on a busy machine.
LARGE = 1e9
ITERATIONS, TOLERANCE = 300, 1e-5  # of the largest slope; of many classes each has a small one
ABSENT = -30.0  # the logit of a class that no training photo shows
LEAST = 1e-7  # the least probability that is counted: log loss has no end


@dataclass(frozen=True)
class LogisticHead:
    """`strength`: the C that was chosen; `losses`: the log loss held out, by C."""

    strength: float
    losses: dict[float, float]
    iterations: int
    seconds: float


@cluster.local_devices_only
def fit_head(
    classifier: Classifier, train: Features, val: Features, training: Training, seed: int = 0
) -> LogisticHead:
    """Fit the softmax head to stored features and put it into the classifier.

    Every view counts as an image of its own, and the views of an image stay together in a fold.
    After the deadline no further strength is tried. The history gets one row, as for one epoch.
    The solver runs on the host's processors, whatever the device; every host does the whole job,
    and host 0's head is taken. Raises `DataError` for labels that the head does not know.
    """
    begun = time.monotonic()
    check_labels(classifier, train.labels, val.labels)
    classes = classifier.head.units
    mean, deviation = _scale(train.values)
    values = (train.values - mean) / deviation
    losses = _held_out(values, train.labels, classes, seed, training.deadline)
    strength = min(losses, key=losses.__getitem__) if losses else STRENGTHS[len(STRENGTHS) // 2]
    kernel, bias, iterations = _Regression(values, train.labels, classes).fit(strength)
    kernel = kernel / deviation[:, None]
    bias = bias - mean @ kernel
    weights = [kernel.astype(np.float32), bias.astype(np.float32)]
    classifier.head.set_weights([cluster.of_first(array) for array in weights])
    head = LogisticHead(strength, losses, iterations, time.monotonic() - begun)
    _record(head, classifier, train, val, training)
    return head


def _record(
    head: LogisticHead, classifier: Classifier, train: Features, val: Features, training: Training
) -> None:
    scores = Scores.of(val.labels, apply_head(classifier, val))
    fitted = Scores.of(train.labels, apply_head(classifier, train))
    images = train.values.shape[0] * train.values.shape[1]
    training.history.append(
        {
            "phase": "head",
            "epoch": 1,
            "loss": fitted.loss,
            "accuracy": fitted.accuracy,
            "val_loss": scores.loss,
            "val_accuracy": scores.accuracy,
            "val_macro_f1": scores.macro_f1,
            "learning_rate": 0.0,
            "seconds": head.seconds,
            "images_per_second": images * max(head.iterations, 1) / head.seconds,
        }
    )
    training.record(training.history)
    say = training.say or print
    tried = "  ".join(f"{c:g}: {loss:.3f}" for c, loss in head.losses.items())
    say(f"  head: held-out log loss by C: {tried or 'not measured'}; C {head.strength:g} is used")
    say(
        f"  head: {head.iterations} iterations, {head.seconds:.0f} s  loss {fitted.loss:.3f}  "
        f"val loss {scores.loss:.3f}  macro F1 {scores.macro_f1:.4f}"
    )


def soften(classifier: Classifier, train: Features, label_smoothing: float) -> float:
    """Divide the head's logits by the temperature at which smoothed labels cost the least.

    Fine-tuning with smoothed labels asks for answers that are less sure than those of a head
    fitted to its optimum. Without this the first steps would change the backbone to that end. The
    order of the classes in an answer stays. Returns the temperature; of several hosts all get
    host 0's head.
    """
    # The logit of a class that no photo shows is no measure.
    present, labels = np.unique(train.labels, return_inverse=True)
    probabilities = apply_head(classifier, train)[:, present]
    temperature = fit_temperature(labels, probabilities, label_smoothing)
    weights = [array / np.float32(temperature) for array in classifier.head.get_weights()]
    classifier.head.set_weights([cluster.of_first(array) for array in weights])
    return temperature


def _scale(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(mean, deviation) of each feature; 1 for one that never changes."""
    rows = values.reshape(-1, values.shape[-1])
    mean = rows.mean(axis=0, dtype=np.float64).astype(np.float32)
    deviation = rows.std(axis=0, dtype=np.float64).astype(np.float32)
    return mean, np.where(deviation > 1e-6, deviation, np.float32(1))


def _is_large(values: np.ndarray, classes: int) -> bool:
    return values.size * classes > LARGE


def _held_out(
    values: np.ndarray, labels: np.ndarray, classes: int, seed: int, deadline: float | None
) -> dict[float, float]:
    """{C: mean log loss of images held out}, of those C that were tried.

    From the strongest regularisation on, each fit begins where the one before ended; a fold ends
    when weaker ones have begun to lose.
    """
    folds = stratified_folds(labels, seed)
    if _is_large(values, classes):
        folds = folds[:1]
    sums: dict[float, list[float]] = {}
    for held in folds:
        if held.all() or not held.any():
            continue
        regression, best = _Regression(values[~held], labels[~held], classes), np.inf
        for strength in STRENGTHS:
            if deadline is not None and time.monotonic() > deadline:
                break
            kernel, bias, _ = regression.fit(strength)
            loss = _log_loss(values[held, 0] @ kernel + bias, labels[held])
            sums.setdefault(strength, []).append(loss)
            if loss > best * 1.02:
                break
            best = min(best, loss)
    tries = max(map(len, sums.values()), default=0)
    return {c: float(np.mean(losses)) for c, losses in sums.items() if len(losses) == tries}


def stratified_folds(labels: np.ndarray, seed: int) -> list[np.ndarray]:
    """bool (images,) of each fold: what it holds out, of each class about a fifth."""
    order = np.random.default_rng(seed).permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    number = np.empty(len(labels), int)
    number[order] = np.arange(len(labels)) % FOLDS
    return [number == fold for fold in range(FOLDS)]


class _Regression:
    """The regression on images (images, views, width); a fit begins where the last one ended."""

    def __init__(self, values: np.ndarray, labels: np.ndarray, classes: int) -> None:
        self.rows = values.reshape(-1, values.shape[-1])
        self.labels = np.repeat(labels, values.shape[1])
        self.views, self.classes = values.shape[1], classes
        self.solver = LogisticRegression(max_iter=ITERATIONS, tol=TOLERANCE, warm_start=True)

    def fit(self, strength: float) -> tuple[np.ndarray, np.ndarray, int]:
        """(kernel (width, classes), bias (classes,), iterations) of the optimum for this C."""
        kernel = np.zeros((self.rows.shape[1], self.classes))
        bias = np.full(self.classes, ABSENT)
        present = np.unique(self.labels)
        if len(present) == 1:
            bias[present] = 0.0
            return kernel, bias, 0
        self.solver.set_params(C=strength / self.views)
        threads = None if _is_large(self.rows, self.classes) else 1
        with warnings.catch_warnings(), threadpool_limits(threads):
            warnings.simplefilter("ignore", ConvergenceWarning)  # so near, the rest changes nothing
            self.solver.fit(self.rows, self.labels)
        weights, intercepts = self.solver.coef_, self.solver.intercept_
        if len(present) == 2:  # of two classes scikit-learn gives the difference
            weights = np.concatenate([-weights, weights]) / 2
            intercepts = np.concatenate([-intercepts, intercepts]) / 2
        kernel[:, present], bias[present] = weights.T, intercepts
        return kernel, bias, int(np.max(self.solver.n_iter_))


def _log_loss(logits: np.ndarray, labels: np.ndarray) -> float:
    logits = logits - logits.max(axis=1, keepdims=True)
    chosen = logits[np.arange(len(labels)), labels] - np.log(np.exp(logits).sum(axis=1))
    return float(-np.maximum(chosen, np.log(LEAST)).mean())
