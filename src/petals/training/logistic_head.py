"""The first phase as a convex problem: multinomial logistic regression on stored features.

Gradient descent over some epochs only approaches an optimum that a solver reaches in seconds, and
the strength of regularisation has to be guessed. Here L-BFGS finds the optimum, and
cross-validation on the training features chooses the strength. Features are standardised for that;
afterwards mean and deviation are folded into the weights, so the head stays one layer.
"""

from __future__ import annotations

import time

import numpy as np
from sklearn.utils.extmath import softmax

from petals.accelerators import cluster
from petals.evaluation.calibration import fit_temperature
from petals.evaluation.metrics import Scores
from petals.models.build import Classifier
from petals.training.callbacks import Training
from petals.training.features import Features, apply_head, check
from petals.training.regression import Problems, Regression, problems

# The inverse strengths C that are tried, from strong to weak, for one view of each photo.
STRENGTHS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
FOLDS = 5
ENOUGH = 1000  # held-out images that choose a strength: more of them than this use fewer folds
# The largest gradient at which the solver stops. Smaller ones took two to six times as long and
# chose the same strengths, with the same macro F1 to .003.
CHOOSING, FITTING = 1e-3, 1e-4


@cluster.local_devices_only
def fit_head(
    classifier: Classifier,
    train: Features,
    val: Features,
    training: Training,
    seed: int = 0,
    *,
    on_device: bool | None = None,
) -> tuple[float, dict[float, float]]:
    """Fit the softmax head to stored features and put it into the classifier.

    Returns the chosen strength C, and {C: held-out log loss} of those tried.

    Every view counts as a separate image, and the views of an image stay together in a fold.
    After the deadline no further strength is tried. The history gets one row, as for one epoch.
    On a TPU or GPU the losses are computed there, as `on_device` of
    `petals.training.regression.problems` says. Every host does the whole job, and host 0's head is
    used.
    """
    begun = time.monotonic()
    check(train, val)
    classes = classifier.head.units
    rows = train.values.reshape(-1, train.values.shape[-1])
    mean = rows.mean(axis=0, dtype=np.float64).astype(np.float32)
    deviation = rows.std(axis=0, dtype=np.float64).astype(np.float32)
    deviation = np.where(deviation > 1e-6, deviation, np.float32(1))  # 1 for a constant feature
    values = (train.values - mean) / deviation
    posed = problems(values, train.labels, classes, on_device=on_device)
    regression = posed(np.ones(len(train.labels), bool), FITTING)
    losses = _held_out(regression, posed, values, train.labels, seed, training.deadline)
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
    whole: Regression,
    posed: Problems,
    values: np.ndarray,
    labels: np.ndarray,
    seed: int,
    deadline: float,
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
        regression = posed(~held, CHOOSING)
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
