"""Multinomial logistic regression: the same problem, solved on the host or on the accelerator.

On the host scikit-learn solves it. On a TPU or GPU, the loss and its gradient are computed there
and SciPy's L-BFGS, which scikit-learn calls too, takes the steps on the host: what travels for a
step are the weights and their gradient, a thousandth of the features.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from petals.accelerators import keras_backend

# Rows x features x classes above which all cores are used. Below it, waiting threads used eight
# times the processor seconds on a busy machine.
LARGE = 1e9
ITERATIONS = 300
# As scikit-learn has them.
LINE_SEARCH = 50
PRECISION = 64 * np.finfo(float).eps
ABSENT = -30.0  # the logit of a class without training photos
DEVICE_BYTES = 4 << 30  # of features, at most; a larger problem is solved on the host
Solution = tuple[np.ndarray, np.ndarray, int]


class Regression(Protocol):
    """A problem on some of the images; each fit starts from the solution before."""

    def start_from(self, other: Any) -> None:
        """Begin the next fit where another problem's ended, if it had the same classes."""

    def fit(self, strength: float) -> Solution:
        """(kernel (width, classes), bias (classes,), iterations) of the optimum for this C.

        C is the inverse strength of the L2 penalty on the kernel, per image, as scikit-learn's.
        """


# (which images take part, bool (images,); the largest slope at which the solver stops)
Problems = Callable[[np.ndarray, float], Regression]


def problems(
    values: np.ndarray, labels: np.ndarray, classes: int, *, on_device: bool | None = None
) -> Problems:
    """Makes problems on features, float32 (images, views, width), with labels, int (images,).

    Every view counts as an image of its own, with its share of the image's weight. The features
    are standardised: on columns of another scale the solver can end before the optimum, since their
    slopes, in float32, are too coarse and the penalty is next to none. `on_device`:
    whether the accelerator solves them; None = if there is one and the features fit into it.
    """
    if on_device is None:
        on_device = keras_backend.on_accelerator() and values.nbytes < DEVICE_BYTES
    if not on_device:
        return lambda kept, tolerance: _OnHost(values[kept], labels[kept], classes, tolerance)
    objective = _placed_objective(values, labels)
    return lambda kept, tolerance: _OnDevice(objective, values, labels, kept, classes, tolerance)


class _OnHost:
    def __init__(
        self, values: np.ndarray, labels: np.ndarray, classes: int, tolerance: float
    ) -> None:
        self.rows = values.reshape(-1, values.shape[-1])
        self.labels = np.repeat(labels, values.shape[1])
        self.views = values.shape[1]
        self.classes = classes
        self.present = np.unique(labels)
        self.solver = LogisticRegression(max_iter=ITERATIONS, tol=tolerance, warm_start=True)

    def start_from(self, other: _OnHost) -> None:
        if np.array_equal(self.present, other.present) and hasattr(other.solver, "coef_"):
            self.solver.coef_ = other.solver.coef_
            self.solver.intercept_ = other.solver.intercept_

    def fit(self, strength: float) -> Solution:
        kernel = np.zeros((self.rows.shape[1], self.classes))
        bias = np.full(self.classes, ABSENT)
        if len(self.present) == 1:
            bias[self.present] = 0.0
            return kernel, bias, 0
        self.solver.set_params(C=strength / self.views)
        threads = None if self.rows.size * self.classes > LARGE else 1
        with warnings.catch_warnings(), threadpool_limits(threads):
            warnings.simplefilter("ignore", ConvergenceWarning)  # the rest would change nothing
            # With few photos a class scikit-learn asks whether this is a regression.
            warnings.filterwarnings("ignore", "The number of unique classes is greater")
            self.solver.fit(self.rows, self.labels)
        weights, intercepts = self.solver.coef_, self.solver.intercept_
        if len(self.present) == 2:  # of two classes scikit-learn gives the difference
            weights = np.concatenate([-weights, weights]) / 2
            intercepts = np.concatenate([-intercepts, intercepts]) / 2
        kernel[:, self.present] = weights.T
        bias[self.present] = intercepts
        return kernel, bias, int(np.max(self.solver.n_iter_))


# (kernel and bias (width + 1, classes), weights (rows,), mask (classes,), penalty): loss, slope
Objective = Callable[..., tuple[Any, Any]]


class _OnDevice:
    """The rows stay on the device for all problems; those that take no part weigh nothing."""

    def __init__(
        self,
        objective: Objective,
        values: np.ndarray,
        labels: np.ndarray,
        kept: np.ndarray,
        classes: int,
        tolerance: float,
    ) -> None:
        self.views, width = values.shape[1:]
        self.objective = objective
        self.tolerance = tolerance
        self.images = np.count_nonzero(kept)
        weights = np.repeat(kept / (max(self.images, 1) * self.views), self.views)
        self.weights = weights.astype(np.float32)
        self.present = np.unique(labels[kept])
        # A class without images gets no share of the probability, and so keeps its weights of 0.
        self.mask = np.full(classes, -1e9, np.float32)
        self.mask[self.present] = 0.0
        self.start = np.zeros((width + 1, classes))

    def start_from(self, other: _OnDevice) -> None:
        if np.array_equal(self.present, other.present):
            self.start = other.start

    def fit(self, strength: float) -> Solution:
        shape = self.start.shape
        # scikit-learn's penalty: that of the sum of all losses, divided by their number.
        penalty = 1 / (strength * self.images)
        if len(self.present) == 2:
            penalty *= 2  # scikit-learn's is on the difference of the two kernels

        def evaluate(flat: np.ndarray) -> tuple[float, np.ndarray]:
            point = flat.reshape(shape).astype(np.float32)
            loss, slope = self.objective(point, self.weights, self.mask, np.float32(penalty))
            return float(loss), np.asarray(slope, np.float64).ravel()

        options = {
            "maxiter": ITERATIONS,
            "maxls": LINE_SEARCH,
            "gtol": self.tolerance,
            "ftol": PRECISION,
        }
        found = minimize(evaluate, self.start.ravel(), jac=True, method="L-BFGS-B", options=options)
        self.start = found.x.reshape(shape)
        kernel = self.start[:-1].copy()
        bias = self.start[-1].copy()
        bias[self.mask < 0] = ABSENT
        return kernel, bias, int(found.nit)


def _placed_objective(values: np.ndarray, labels: np.ndarray) -> Objective:
    """The mean cross-entropy plus the penalty, and its slope, compiled once for Keras's device.

    Products are computed in full float32: the 16 or 19 bits that a TPU or GPU multiplies by default
    would end the search too early.
    """
    rows = values.reshape(-1, values.shape[-1])
    classes = np.repeat(labels, values.shape[1]).astype(np.int32)
    return _on_jax(rows, classes) if keras_backend.is_jax() else _on_tensorflow(rows, classes)


def _on_jax(rows: np.ndarray, labels: np.ndarray) -> Objective:
    import jax
    import jax.numpy as jnp

    def loss(point: Any, weights: Any, mask: Any, penalty: Any, rows: Any, labels: Any) -> Any:
        kernel = point[:-1]
        bias = point[-1]
        logits = jnp.matmul(rows, kernel, precision=jax.lax.Precision.HIGHEST) + bias + mask
        logs = jax.nn.log_softmax(logits)
        chosen = jnp.take_along_axis(logs, labels[:, None], axis=1)[:, 0]
        # A row that weighs nothing may be of a class that is absent, whose logarithm is huge.
        fit = -jnp.sum(jnp.where(weights > 0, weights * chosen, 0))
        return fit + penalty / 2 * jnp.sum(kernel**2)

    compiled = jax.jit(jax.value_and_grad(loss))
    rows, labels = jax.device_put((rows, labels))
    return lambda *point: compiled(*point, rows, labels)


def _on_tensorflow(rows: np.ndarray, labels: np.ndarray) -> Objective:
    import tensorflow as tf

    rows, labels = tf.constant(rows), tf.constant(labels)
    precise = tf.config.experimental

    @tf.function
    def compiled(point: Any, weights: Any, mask: Any, penalty: Any) -> tuple[Any, Any]:
        with tf.GradientTape() as tape:
            tape.watch(point)
            kernel = point[:-1]
            bias = point[-1]
            logs = tf.nn.log_softmax(tf.matmul(rows, kernel) + bias + mask)
            chosen = tf.gather(logs, labels, axis=1, batch_dims=1)
            fit = -tf.reduce_sum(tf.where(weights > 0, weights * chosen, 0.0))
            loss = fit + penalty / 2 * tf.reduce_sum(kernel**2)
        return loss, tape.gradient(loss, point)

    def objective(*point: np.ndarray) -> tuple[Any, Any]:
        before = precise.tensor_float_32_execution_enabled()
        precise.enable_tensor_float_32_execution(False)
        try:
            loss, slope = compiled(*map(tf.constant, point))
            return loss, slope.numpy()
        finally:
            precise.enable_tensor_float_32_execution(before)

    return objective
