"""The metrics of submissions, with scikit-learn's names for them.

The usual ones are a few lines of plain Python. Any other function of `sklearn.metrics` that takes
the truth and the predictions can be used, too, if scikit-learn is installed.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from statistics import fmean

Value = float | int | str
Metric = Callable[[Sequence[Value], Sequence[Value]], float]

LOWEST = sys.float_info.epsilon  # what log_loss takes for zero, as scikit-learn does


class MetricError(Exception):
    """A metric is unknown, not installed, or not defined for these answers."""


def accuracy(truth: Sequence[Value], predicted: Sequence[Value]) -> float:
    """The share of correct rows, 0 to 1."""
    return sum(t == p for t, p in zip(truth, predicted, strict=True)) / len(truth)


def f1_macro(truth: Sequence[Value], predicted: Sequence[Value]) -> float:
    """The mean of each class's F1, 0 to 1, over the classes in the truth or the predictions."""
    right = Counter(t for t, p in zip(truth, predicted, strict=True) if t == p)
    true, named = Counter(truth), Counter(predicted)
    classes = true.keys() | named.keys()
    return fmean(2 * right[c] / (true[c] + named[c]) for c in classes)


def mae(truth: Sequence[float], predicted: Sequence[float]) -> float:
    """The mean absolute error, in the unit of the answers."""
    return fmean(abs(p - t) for t, p in zip(truth, predicted, strict=True))


def rmse(truth: Sequence[float], predicted: Sequence[float]) -> float:
    """The root mean squared error, in the unit of the answers."""
    squares = fmean((p - t) ** 2 for t, p in zip(truth, predicted, strict=True))
    return math.sqrt(squares)


def rmsle(truth: Sequence[float], predicted: Sequence[float]) -> float:
    """The root mean squared error of log(1 + value); values must be above -1."""
    if min(*truth, *predicted) <= -1:
        raise MetricError("rmsle takes values above -1")
    return rmse([math.log1p(t) for t in truth], [math.log1p(p) for p in predicted])


def log_loss(truth: Sequence[float], predicted: Sequence[float]) -> float:
    """The mean of -log(probability of the true class); truth 0 or 1, predictions 0 to 1."""
    _check_binary("log_loss", truth)
    if not all(0 <= p <= 1 for p in predicted):
        raise MetricError("log_loss takes probabilities between 0 and 1")
    pairs = zip(truth, predicted, strict=True)
    return -fmean(math.log(max(p if t else 1 - p, LOWEST)) for t, p in pairs)


def roc_auc(truth: Sequence[float], predicted: Sequence[float]) -> float:
    """The area under the ROC curve, 0 to 1; truth 0 or 1, predictions any numbers."""
    _check_binary("roc_auc", truth)
    positives = sum(t == 1 for t in truth)
    negatives = len(truth) - positives
    if not positives or not negatives:
        raise MetricError("roc_auc needs answers of both classes, 0 and 1")
    ranks: dict[float, float] = {}  # of equal predictions: the mean of their places
    place = 0
    for value, many in sorted(Counter(predicted).items()):
        ranks[value] = place + (many + 1) / 2
        place += many
    own = math.fsum(ranks[p] for t, p in zip(truth, predicted, strict=True) if t == 1)
    return (own - positives * (positives + 1) / 2) / (positives * negatives)


OF_CLASSES = {"accuracy": accuracy, "f1_macro": f1_macro}
OF_NUMBERS = {"mae": mae, "rmse": rmse, "rmsle": rmsle, "log_loss": log_loss, "roc_auc": roc_auc}
NAMES = (*OF_CLASSES, *OF_NUMBERS)
LOWER = ("mae", "rmse", "rmsle")  # better when lower, as are scikit-learn's of these endings:
LOWER_ENDINGS = ("_error", "_loss", "_deviance")


def lower_is_better(name: str) -> bool:
    """Whether the lowest value of this metric is the best one."""
    return name in LOWER or name.endswith(LOWER_ENDINGS)


def find_metric(name: str) -> Metric:
    """The metric of that name; raises `MetricError` where there is none or no scikit-learn."""
    plain: dict[str, Metric] = {**OF_CLASSES, **OF_NUMBERS}  # type: ignore[dict-item]
    if name in plain:
        return plain[name]
    names = f"{', '.join(NAMES)}, or a function of sklearn.metrics"
    if not name.isidentifier():
        raise MetricError(f"no metric {name!r}: choose {names}")
    try:
        import sklearn.metrics
    except ImportError:
        raise MetricError(
            f"the metric {name} is not one of {', '.join(NAMES)}: for others install scikit-learn "
            "(pip install scikit-learn)"
        ) from None
    function = getattr(sklearn.metrics, name, None)
    if name not in sklearn.metrics.__all__ or not callable(function):
        raise MetricError(f"no metric {name!r}: choose {names}")

    def call(truth: Sequence[Value], predicted: Sequence[Value]) -> float:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # they are for the author of a script
                return float(function(list(truth), list(predicted)))
        except (TypeError, ValueError) as error:
            raise MetricError(f"{name} cannot be computed: {error}") from None

    return call


def _check_binary(name: str, truth: Sequence[float]) -> None:
    if not set(truth) <= {0, 1}:
        raise MetricError(f"{name} needs answers that are 0 or 1")
