"""Which parameters of 02_train go together: one that would be ignored is refused before the run.

A default counts as not asked for, so that the defaults fit every choice of the others. Some
defaults leave the value to the choice of others: `resolve` says which value that is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from petals.errors import SettingError

# The parameters of 02_train, in its order.
PARAMETERS = (
    "data",
    "image_size",
    "folds",
    "fold",
    "backbone",
    "weights",
    "fine_tune",
    "head",
    "features",
    "head_epochs",
    "views",
    "epochs",
    "batch_size",
    "augment",
    "mix",
    "dropout",
    "label_smoothing",
    "weight_decay",
    "schedule",
    "learning_rate",
    "scale_rate",
    "tta",
    "accelerator",
    "dtype",
    "remat",
    "optimization_level",
    "custom_loop",
    "seed",
    "limit",
    "time_limit",
    "resume",
    "checkpoint_minutes",
    "output",
)
LOGISTIC, GRADIENT, NONE = "logistic", "gradient", "none"
HEADS = ("auto", "logistic", "gradient", "none")
HEAD_EPOCHS = 30  # the default
# What acts on training by gradients alone, and the values that ask for nothing.
BY_GRADIENT: Mapping[str, Any] = {
    "dropout": 0.3,
    "label_smoothing": 0.1,
    "weight_decay": 0.0,
    "schedule": "cosine",
    "learning_rate": 0.0,
}
# What acts on fine-tuning alone, with the values that ask for nothing: the default comes first.
FINE_TUNING: Mapping[str, tuple[Any, ...]] = {
    "epochs": (12, 0),
    "batch_size": (8,),
    "augment": ("crop",),
    "mix": ("none",),
    "scale_rate": (True,),
    "custom_loop": (False,),
    "remat": (False,),
    "checkpoint_minutes": (5.0,),
}


def resolve(values: Mapping[str, Any]) -> dict[str, Any]:
    """All parameters of 02_train, with what "auto" and 0 stand for put in their place.

    `values` holds `PARAMETERS` by name; what else it holds is left out, so that a notebook may give
    its `globals()`.
    The head is logistic unless `head_epochs` asks for training by gradients (or, at 0, for none),
    or an untrained backbone is to be fine-tuned. With the logistic head come two views, and
    features of several depths unless the backbone is a preset of keras_hub. Raises
    `SettingError`, in one line, for a parameter that would not act.
    """
    values = {name: values[name] for name in PARAMETERS if name in values}
    head = _head(values)
    logistic = head == LOGISTIC
    found = {
        **values,
        "head": head,
        "views": values["views"] or 1 + logistic,
        "tta": values["tta"] or 1 + logistic,
    }
    if found["features"] == "auto":
        of_preset = values["backbone"].startswith("hub:")  # which may give tokens and no maps
        found["features"] = "depths" if logistic and not of_preset else "last"
    if head == NONE:
        found["head_epochs"] = 0
    for problem in _problems(found, values):
        raise SettingError(problem)
    return found


def _head(values: Mapping[str, Any]) -> str:
    head, epochs = values["head"], values["head_epochs"]
    if head != "auto":
        return head
    if not epochs:
        return NONE
    # Fine-tuning changes what an untrained backbone says from the first step on, BatchNorm's
    # statistics too: a head that fits the old features closely begins at a loss of 15.
    untrained = values["weights"] == "none" and values["fine_tune"] != "none"
    return LOGISTIC if epochs == HEAD_EPOCHS and not untrained else GRADIENT


def _problems(values: Mapping[str, Any], asked: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with resolved `values`; `asked`: what the notebook was given."""
    fine_tune, epochs, views = values["fine_tune"], values["epochs"], values["views"]
    head, head_epochs, tunes = values["head"], asked["head_epochs"], fine_tune != "none"
    if tunes and not epochs:
        yield (
            f"fine_tune={fine_tune} with epochs=0 fine-tunes nothing: set epochs to 1 or more, or "
            "fine_tune=none"
        )
    if not tunes and (head == NONE or (head == GRADIENT and not head_epochs)):
        yield (
            f"{'head_epochs=0' if not head_epochs else 'head=none'} with fine_tune=none trains "
            "nothing: set head=logistic, head_epochs to 1 or more, or fine_tune to all, last:N or "
            "block:NAME"
        )
    if head == GRADIENT and not head_epochs:
        yield "head=gradient with head_epochs=0 trains no head: set head_epochs to 1 or more"
    if head == LOGISTIC and head_epochs != HEAD_EPOCHS:
        yield (
            f"head_epochs={head_epochs} would be ignored: head=logistic is fitted to its optimum. "
            "Set head=gradient, or leave head_epochs out"
        )
    if head == NONE and head_epochs not in (0, HEAD_EPOCHS):
        yield f"head_epochs={head_epochs} would be ignored: head=none. Leave one of them out"
    if views > 1 and head == NONE:
        yield (
            f"views={views} would be ignored: views are for the head, and "
            f"{'head_epochs=0' if not head_epochs else 'head=none'}. Set head=logistic, or leave "
            "views out"
        )
    if views > 2 and values["augment"] == "none":
        yield (
            f"views={views} with augment=none would show the head the same view {views - 1} times: "
            "set augment to flip, crop, light or strong, or views to 2 for photo and mirror "
            "image"
        )
    yield from _folds(values["folds"], values["fold"])
    if tunes and values["mix"] != "none" and values["batch_size"] % 2:
        yield (
            f"mix={values['mix']} with batch_size={values['batch_size']}: images are mixed in "
            "pairs, so set batch_size to an even number, or leave mix out"
        )
    ignored = [] if tunes else list(_ignored(values))
    if ignored:
        yield (
            f"{', '.join(ignored)} would be ignored: fine_tune=none trains the head alone. Set "
            f"fine_tune to all, last:N or block:NAME, or leave {'them' if ignored[1:] else 'it'} "
            "out"
        )
    quiet = [f"{n}={values[n]}" for n, default in BY_GRADIENT.items() if values[n] != default]
    if quiet and not tunes and head == LOGISTIC:
        yield (
            f"{', '.join(quiet)} would be ignored: the logistic head chooses its own "
            "regularisation. Set head=gradient, or fine_tune to all, last:N or block:NAME"
        )


def _folds(folds: int, fold: int) -> Iterator[str]:
    if folds > 1 and fold >= folds:
        yield f"fold={fold} is out of range: folds={folds} has the folds 0 to {folds - 1}"
    if folds < 2 and fold:
        yield f"fold={fold} would be ignored: folds={folds} divides nothing. Set folds to 2 or more"


def _ignored(values: Mapping[str, Any]) -> Iterator[str]:
    acts = {"augment": values["views"] > 2}
    for name, quiet in FINE_TUNING.items():
        if values[name] not in quiet and not acts.get(name):
            yield f"{name}={values[name]}"
