"""The parameters of 02_train: which go together, and what their open values stand for.

A parameter that would be ignored is refused before anything runs. A default counts as not set, so
the defaults fit every choice of the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from petals.errors import SettingError

# The parameters of 02_train, in its order.
PARAMETERS = (
    "data",
    "image_size",
    "validation",
    "limit",
    "backbone",
    "fine_tune",
    "weights",
    "head",
    "views",
    "dropout",
    "epochs",
    "batch_size",
    "learning_rate",
    "augment",
    "seed",
    "mix",
    "schedule",
    "label_smoothing",
    "weight_decay",
    "accelerator",
    "dtype",
    "time_limit",
    "resume",
    "output",
)
LOGISTIC, GRADIENT, NONE = "logistic", "gradient", "none"
# Parameters that act on training by gradients alone, with their defaults.
BY_GRADIENT: Mapping[str, Any] = {
    "dropout": 0.3,
    "label_smoothing": 0.1,
    "weight_decay": 0.0,
    "schedule": "cosine",
    "learning_rate": 0.0,
}
# Parameters that act on fine-tuning alone: the default first, then other values without effect.
FINE_TUNING: Mapping[str, tuple[Any, ...]] = {
    "epochs": (12, 0),
    "batch_size": (8,),
    "augment": ("crop",),
    "mix": ("none",),
}


def resolve(values: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of 02_train, with the values that "auto" and 0 stand for.

    `values` holds `PARAMETERS` by name; other names in it are dropped, so a notebook can pass its
    `globals()`. The head is logistic, unless an untrained backbone is to be fine-tuned: it gets
    one trained by gradients. A logistic head sees two views of each photo, any other head one.
    Raises `SettingError`, in one line, for a parameter that would be ignored.
    """
    values = {name: values[name] for name in PARAMETERS if name in values}
    head = values["head"]
    if head == "auto":
        # Fine-tuning changes what an untrained backbone gives from the first step on, BatchNorm's
        # statistics too: a head that fits the old features closely starts with a loss of 15.
        untrained = values["weights"] == "none" and values["fine_tune"] != "none"
        head = GRADIENT if untrained else LOGISTIC
    resolved = {**values, "head": head, "views": values["views"] or 1 + (head == LOGISTIC)}
    for problem in _problems(resolved):
        raise SettingError(problem)
    return resolved


def fold_of(validation: str) -> tuple[int, int] | None:
    """(fold, folds) of "fold:K/N", the fold counted from 1; None for another choice.

    Raises `SettingError` unless N is at least 2 and K is one of 1 to N.
    """
    if not validation.startswith("fold:"):
        return None
    match = re.fullmatch(r"fold:(\d+)/(\d+)", validation)
    fold, folds = (int(match[1]), int(match[2])) if match else (0, 0)
    if not 1 <= fold <= folds or folds < 2:
        raise SettingError(
            f"validation={validation} names no fold: fold:1/5 to fold:5/5 are the folds of five"
        )
    return fold, folds


def _problems(values: Mapping[str, Any]) -> Iterator[str]:
    fine_tune, head, views = values["fine_tune"], values["head"], values["views"]
    fine_tunes = fine_tune != "none"
    if fine_tunes and not values["epochs"]:
        yield (
            f"fine_tune={fine_tune} with epochs=0 fine-tunes nothing: set epochs to 1 or more, or "
            "fine_tune=none"
        )
    if head == NONE and not fine_tunes:
        yield (
            "head=none with fine_tune=none trains nothing: set head=logistic, or fine_tune to all, "
            "last:N or block:NAME"
        )
    if views > 2 and values["augment"] == "none" and head != NONE:
        yield (
            f"views={views} with augment=none would show the head the same view {views - 1} times: "
            "set augment to flip, crop, light or strong, or views to 2 for photo and mirror "
            "image"
        )
    fold_of(values["validation"])
    if fine_tunes and values["mix"] != "none" and values["batch_size"] % 2:
        yield (
            f"mix={values['mix']} with batch_size={values['batch_size']}: images are mixed in "
            "pairs, so set batch_size to an even number, or leave mix out"
        )
    ignored = [] if fine_tunes else list(_ignored_without_fine_tuning(values))
    if ignored:
        yield (
            f"{', '.join(ignored)} would be ignored: fine_tune=none trains the head alone. Set "
            f"fine_tune to all, last:N or block:NAME, or leave {'them' if ignored[1:] else 'it'} "
            "out"
        )
    ignored = [f"{n}={values[n]}" for n, default in BY_GRADIENT.items() if values[n] != default]
    if ignored and not fine_tunes and head == LOGISTIC:
        yield (
            f"{', '.join(ignored)} would be ignored: the logistic head chooses its own "
            "regularisation. Set head=gradient, or fine_tune to all, last:N or block:NAME"
        )


def _ignored_without_fine_tuning(values: Mapping[str, Any]) -> Iterator[str]:
    for name, without_effect in FINE_TUNING.items():
        makes_views = name == "augment" and values["views"] > 2
        if values[name] not in without_effect and not makes_views:
            yield f"{name}={values[name]}"
