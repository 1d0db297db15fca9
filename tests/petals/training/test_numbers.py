"""What training and prediction compute, against the same written out in NumPy."""

import ast
import csv
import os
import re

import numpy as np
import pytest
import tensorflow as tf
from checkouts import ROOT
from records import COLOURS
from tensorflow import keras
from tuning import fine_tune, pixels, untrained

from kernelkit.notebook import document
from petals.augment.augmentation import augmentation
from petals.data.samples import sample_of
from petals.data.shards import Split
from petals.data.source import Source
from petals.evaluation.metrics import Scores
from petals.evaluation.prediction import predict
from petals.evaluation.submission import write_submission
from petals.models.build import set_trainable
from petals.training.callbacks import Training
from petals.training.optimization import compile_model, set_seed

FIRST = ROOT / "notebooks" / "00_first.py"


@pytest.fixture(autouse=True)
def seeded(narrow):
    set_seed(0)


def loss_of(probabilities, labels, smoothing=0.0):
    """The mean cross-entropy of one-hot labels, a share of which is spread over all classes."""
    smoothed = labels * (1 - smoothing) + smoothing / labels.shape[1]
    return -(smoothed * np.log(probabilities.astype(np.float64))).sum(axis=1).mean()


@pytest.mark.long
@pytest.mark.parametrize("on_device", [False, True])
def test_validation_and_prediction_see_the_photos_as_they_are(splits, on_device):
    model = untrained()
    set_trainable(model, "all")  # BatchNorm frozen
    images = sample_of(splits[1], splits[1].count).images
    labels, _ = splits[1].labels_and_ids()
    expected = Scores.of(labels, np.asarray(model.model(images, training=False)))
    training = Training()
    options = {"rates": np.zeros(10, np.float32), "on_device": on_device}
    fine_tune(model, splits, 2, training, change=augmentation("strong", "cutmix"), **options)
    for row in training.history:
        assert row["val_loss"] == pytest.approx(expected.loss, rel=1e-4)
        assert row["val_macro_f1"] == pytest.approx(expected.macro_f1)
    # The training itself did see other photos: without a rate, the same ones give one loss.
    first, second = (row["loss"] for row in training.history)
    assert first != pytest.approx(second, rel=1e-3)


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
def test_the_loss_is_that_of_smoothed_labels(smoothing):
    classifier = untrained()
    set_trainable(classifier, "all")
    model, images = classifier.model, pixels(12)
    labels = np.eye(3, dtype=np.float32)[np.arange(12) % 3]
    given = np.asarray(model(images, training=False))
    compile_model(model, np.zeros(1), label_smoothing=smoothing)
    for target in (labels, 0.3 * labels + 0.7 * labels[::-1]):  # the second as of mixup
        model.reset_metrics()  # with Keras 3.13 the next loss would be the mean of both
        result = model.train_on_batch(images, target, return_dict=True)
        assert result["loss"] == pytest.approx(loss_of(given, target, smoothing), rel=1e-4)
        # what history.csv has beside the validation loss
        assert result["cross_entropy"] == pytest.approx(loss_of(given, target), rel=1e-4)


@pytest.mark.long
@pytest.mark.parametrize("smoothing", [0.0, 0.3])
def test_training_and_validation_have_one_loss_where_they_see_the_same_photos(splits, smoothing):
    model = untrained()
    set_trainable(model, "all")
    training = Training()
    train = splits[0]
    options = {"batch_size": 25, "rates": np.zeros(4, np.float32)}
    fine_tune(model, [train, train], 2, training, label_smoothing=smoothing, **options)
    for row in training.history:
        assert row["loss"] == pytest.approx(row["val_loss"], rel=1e-4)
        assert row["accuracy"] == pytest.approx(row["val_accuracy"])


def test_classes_that_are_absent_count_as_the_competition_counts_them():
    rng = np.random.default_rng(2)
    for _ in range(50):
        labels, guesses = rng.choice(8, size=12), rng.choice([1, 3, 5, 9], size=12)
        f1 = []
        for one in {*labels.tolist(), *guesses.tolist()}:
            hits = ((labels == one) & (guesses == one)).sum()
            f1.append(2 * hits / ((labels == one).sum() + (guesses == one).sum()))
        assert Scores.of(labels, np.eye(11)[guesses]).macro_f1 == pytest.approx(np.mean(f1))


def of_colours(scale=1e-3):
    """A model that needs no training: the class is the colour that is nearest to the mean one.

    `scale`: how sure it is.
    """
    colours = np.array(list(COLOURS.values()), np.float32)
    images = keras.Input((32, 32, 3), dtype="uint8")
    mean = keras.layers.GlobalAveragePooling2D()(keras.layers.Rescaling(1.0)(images))
    head = keras.layers.Dense(len(colours), activation="softmax")
    model = keras.Model(images, head(mean))
    head.set_weights([2 * scale * colours.T, -scale * (colours**2).sum(axis=1)])
    return model


@pytest.mark.parametrize("batch", [4, 10, 20, 64])
def test_in_the_first_notebook_keras_gives_the_mean_loss_of_the_photos(splits, batch):
    """Whatever fills up its last batch: 3, 9 and 19 photos of 21, or 43 more than there are."""
    val = splits[1]
    names = {"tf": tf, "os": os, "image_size": 32, "splits": {"train": splits[0], "val": val}}
    names["source"] = Source("data", "folder")
    names |= {"devices": [0], "batch_size": batch, "train": splits[0]}
    for part in ("def read(", "def in_order("):
        (source,) = [c.source for c in document.read(FIRST).cells if part in c.source]
        exec(compile(source, "cell", "exec"), names)
    names["batch"] = batch
    model = of_colours(scale=1e-4)
    labels, _ = val.labels_and_ids()
    labels[-1] = (labels[-1] + 1) % 3  # the last photo has a loss of its own
    (source,) = [c.source for c in document.read(FIRST).cells if "def train_phase(" in c.source]
    compiled = re.search(r"loss=(.*),\n +weighted_metrics=(.*),", source)
    loss, metrics = ast.literal_eval(compiled[1]), ast.literal_eval(compiled[2])
    model.compile("sgd", loss=loss, weighted_metrics=metrics)

    def relabelled(number, rows):
        images, _, weights = rows
        places = (number * batch + tf.range(batch, dtype=tf.int64)) % val.count
        return images, tf.gather(tf.constant(labels), places), weights

    data = names["in_order"](val).enumerate().map(relabelled)
    result = model.evaluate(data, verbose=0, return_dict=True)
    expected = Scores.of(labels, predict(model, val, 8))
    assert result["loss"] == pytest.approx(expected.loss, rel=1e-4)
    assert result["accuracy"] == pytest.approx(expected.accuracy)


@pytest.mark.parametrize(("batch", "tta"), [(4, 1), (8, 2), (64, 1)])
def test_each_id_of_a_submission_has_the_answer_for_its_photo(dataset, tmp_path, batch, tta):
    """Of a labelled split, whatever is left over in its last batch."""
    split = Split.find(str(dataset), 32, "val")
    labels, ids = split.labels_and_ids()
    write_submission(tmp_path / "s.csv", ids, predict(of_colours(), split, batch, tta=tta))
    rows = list(csv.DictReader((tmp_path / "s.csv").read_text().splitlines()))
    assert [row["id"] for row in rows] == ids.tolist()
    assert [int(row["label"]) for row in rows] == labels.tolist()
    assert len(set(labels.tolist())) == 3
