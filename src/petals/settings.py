"""Which parameters of 02_train go together: one that would be ignored is refused before the run.

A default counts as not asked for, so that the defaults fit every choice of the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from petals.errors import SettingError

# What acts on fine-tuning alone, with the values that ask for nothing: the default comes first.
FINE_TUNING: Mapping[str, tuple[Any, ...]] = {
    "epochs": (5, 0),
    "batch_size": (32,),
    "augment": ("light",),
    "mix": ("none",),
    "scale_rate": (True,),
    "custom_loop": (False,),
    "checkpoint_minutes": (5.0,),
}


def check(values: Mapping[str, Any]) -> None:
    """Raise `SettingError`, in one line, for parameters of 02_train that would not act.

    `values`: all of the notebook's parameters by name.
    """
    for problem in _problems(values):
        raise SettingError(problem)


def _problems(values: Mapping[str, Any]) -> Iterator[str]:
    fine_tune, epochs, views = values["fine_tune"], values["epochs"], values["views"]
    tunes, trains_head = fine_tune != "none", values["head_epochs"] > 0
    if tunes and not epochs:
        yield (
            f"fine_tune={fine_tune} with epochs=0 fine-tunes nothing: set epochs to 1 or more, or "
            "fine_tune=none"
        )
    if not tunes and not trains_head:
        yield (
            "head_epochs=0 with fine_tune=none trains nothing: set head_epochs to 1 or more, or "
            "fine_tune to all, last:N or block:NAME"
        )
    if views > 1 and not trains_head:
        yield (
            f"views={views} would be ignored: views are for the head, and head_epochs=0. Set "
            "head_epochs to 1 or more, or leave views out"
        )
    if views > 1 and values["augment"] == "none":
        yield (
            f"views={views} with augment=none would show the head the same view {views} times: "
            "set augment to flip, crop, light or strong, or leave views out"
        )
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


def _ignored(values: Mapping[str, Any]) -> Iterator[str]:
    acts = {"augment": values["views"] > 1, "batch_size": values["tta"] > 1}
    for name, quiet in FINE_TUNING.items():
        if values[name] not in quiet and not acts.get(name):
            yield f"{name}={values[name]}"
