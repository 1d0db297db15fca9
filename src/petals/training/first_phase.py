"""The first phase of 02_train: the head that its settings ask for, or the one of a checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from petals.data.shards import Split
from petals.models.classifier import Classifier
from petals.training.checkpoints import Checkpoints
from petals.training.features import Features
from petals.training.head import train_head
from petals.training.logistic_head import fit_head, soften

PHASE = "head"
# What `train_head` takes of the settings; schedule and rate are those of the last phase there is.
GRADIENT = ("weight_decay", "label_smoothing", "dropout", "seed")
ALONE = ("schedule", "learning_rate")


def train_first_phase(
    classifier: Classifier,
    extract: Callable[..., Features],
    train: Split,
    val: Split,
    settings: Mapping[str, Any],
    kept: Checkpoints,
    **watching: Any,
) -> str:
    """Give the classifier its head; returns why training stopped early, "" when it did not.

    `extract`: what `petals.training.features.extractor` gives; `settings`: the parameters of
    02_train by name, as `petals.settings.resolve` returns them; `kept`: the run's checkpoints. A
    head that one of them holds is taken; a new head is saved there. `watching`: deadline, history
    and record, as `petals.training.callbacks.Epochs` takes them.
    """
    if kept.found is not None and kept.phase == PHASE:
        classifier.head.set_weights(list(kept.found.arrays))
    if kept.phase or settings["head"] == "none":
        return ""
    train_features = extract(train, views=settings["views"], level=settings["augment"])
    val_features = extract(val, views=settings["tta"])
    if train_features.stored and val_features.stored:
        print("  the features were there from an earlier run")
    steps, stopped = 1, ""
    if settings["head"] == "logistic":
        fit_head(classifier, train_features, val_features, seed=settings["seed"], **watching)
        if settings["fine_tune"] != "none" and settings["label_smoothing"]:
            by = soften(classifier, train_features, settings["label_smoothing"])
            print(f"  head: logits divided by {by:.2f}, as sure as smoothed labels are")
    else:
        trained = train_head(
            classifier,
            train_features,
            val_features,
            epochs=settings["head_epochs"],
            **by_gradients(settings),
            **watching,
        )
        steps, stopped = trained.steps * settings["head_epochs"], trained.stopped
    if not stopped:
        kept.save(PHASE, steps, classifier.head.get_weights(), history=watching["history"])
    return stopped


def by_gradients(settings: Mapping[str, Any]) -> dict[str, Any]:
    """What `train_head` takes: schedule and rate are the head's only where nothing follows it."""
    names = GRADIENT + (ALONE if settings["fine_tune"] == "none" else ())
    return {name: settings[name] for name in names}
