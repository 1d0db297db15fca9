"""Training as the cells of 02_train do it, small, for tests and for the programs they start."""

import numpy as np

from petals.augment.layer import augmenting
from petals.data.pipeline import Batches
from petals.data.shards import Split
from petals.evaluation.prediction import predict
from petals.models import backbones
from petals.models.build import build
from petals.training import head
from petals.training.callbacks import (
    Epochs,
    Phase,
    Training,
    naming_causes,
    without_waiting,
)
from petals.training.features import FeatureExtractor
from petals.training.optimization import compile_model, learning_rates, set_seed

SIZE = 32
HEAD = dict.fromkeys(("dropout", "label_smoothing", "weight_decay"), 0.0)
HEAD |= {"seed": 0, "fine_tune": "all"}


def pixels(count=2, size=SIZE):
    """Images of noise, uint8."""
    return np.random.default_rng(0).integers(0, 256, (count, size, size, 3), np.uint8)


def untrained(**options):
    """SmallNet with a head for three classes."""
    return build("SmallNet", SIZE, 3, weights="none", **options)


def begin(dataset, device):
    """Train and val of a small dataset, and a function that builds a classifier for it."""
    splits = [Split.find(dataset, SIZE, part) for part in ("train", "val")]
    backbones._WIDTHS = (4, 8)  # what is tested does not depend on it, and compiles in no time
    set_seed(1)

    def classifier(name="SmallNet", **options):
        with device.scope():
            return build(name, SIZE, 3, weights="none", **options)

    return splits, classifier


def train_head(classifier, splits, device, epochs, **settings):
    """(the features of the splits, the history) of a head that is trained for some epochs."""
    extract = FeatureExtractor(classifier.features, classifier.name, device)
    features, training = [extract(split) for split in splits], Training()
    head.HEAD_EPOCHS = epochs
    head.train_head(classifier, *features, HEAD | settings, training)
    return features, training.history


def fine_tune(
    classifier,
    splits,
    epochs,
    training=None,
    *,
    batch_size=10,
    batches=None,
    rates=None,
    change=None,
    on_device=False,
    cache=None,
    **compiling,
):
    """Train what is trainable of a classifier; returns its `Epochs`.

    `splits`: train and val; `batches(step)`: the dataset from a step on, by default the split's
    own, with `change`; `rates`: of each step, along half a cosine by default.
    """
    train, val, *_ = splits
    model, training, classes = classifier.model, training or Training(), classifier.head.units
    phase = Phase("fine-tune", epochs, train.count // batch_size, batch_size)
    if rates is None:
        rates = learning_rates("cosine", epochs, phase.steps, learning_rate=3e-3)
    own = Batches(
        train,
        batch_size,
        classes,
        augment=change,
        on_device=on_device,
        seed=3,
        deterministic=True,
        cache=cache,
    )
    batches = batches or own.dataset
    trained = augmenting(model, change) if change and on_device else model
    compile_model(trained, rates, **compiling)
    labels, _ = val.labels_and_ids()
    watch = Epochs(phase, training, labels, lambda: predict(model, val, batch_size))
    watch.resume(trained)
    with naming_causes(train):
        for step, last_epoch, steps in watch.stretches():
            trained.fit(
                batches(step),
                initial_epoch=step // phase.steps,
                epochs=last_epoch,
                steps_per_epoch=steps,
                shuffle=False,
                callbacks=without_waiting([watch], trained),
                verbose=0,
            )
    watch.finish(trained)
    return watch
