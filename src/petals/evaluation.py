"""Predictions and what they are worth: macro F1 first, then everything that explains it."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tensorflow as tf
from sklearn.metrics import accuracy_score, confusion_matrix, precision_recall_fscore_support
from tensorflow import keras

from petals import augment, exchange, features, hosts, kerases, pipeline, shards, storage
from petals.errors import DataError, SettingError
from petals.shards import Split

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Scores:
    """One split's scores. Macro means over classes alike, however many images each has.

    Classes counted are those that occur among labels or predictions, as in scikit-learn and the
    competition's metric; `loss` is the mean cross-entropy in nats.
    """

    macro_f1: float
    accuracy: float
    macro_precision: float
    macro_recall: float
    loss: float

    @classmethod
    def of(cls, labels: np.ndarray, probabilities: np.ndarray) -> Scores:
        """Scores of float (n, classes) probabilities against int (n,) labels."""
        predicted = probabilities.argmax(axis=1)
        precision, recall, f1, _ = precision_recall_fscore_support(
            labels, predicted, average="macro", zero_division=0
        )
        chosen = probabilities[np.arange(len(labels)), labels].astype(np.float64)
        loss = -np.log(np.clip(chosen, 1e-7, 1)).mean()
        accuracy = accuracy_score(labels, predicted)
        return cls(*(float(v) for v in (f1, accuracy, precision, recall, loss)))


@dataclass(frozen=True)
class ClassScore:
    """One class's scores; `support` is its number of images."""

    name: str
    precision: float
    recall: float
    f1: float
    support: int


def per_class(
    labels: np.ndarray, probabilities: np.ndarray, names: Sequence[str]
) -> list[ClassScore]:
    """Scores of every class in label order, those without images included."""
    columns = precision_recall_fscore_support(
        labels, probabilities.argmax(axis=1), labels=range(len(names)), zero_division=0
    )
    return [
        ClassScore(name, float(p), float(r), float(f), int(n))
        for name, p, r, f, n in zip(names, *columns, strict=True)
    ]


def confusion(labels: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """int (classes, classes): rows are the truth, columns the prediction."""
    classes = range(probabilities.shape[1])
    return confusion_matrix(labels, probabilities.argmax(axis=1), labels=classes)


def most_confused(
    labels: np.ndarray, probabilities: np.ndarray, names: Sequence[str], most: int = 10
) -> list[tuple[str, str, int]]:
    """(truth, prediction, images) of the commonest mistakes, most first."""
    matrix = confusion(labels, probabilities)
    np.fill_diagonal(matrix, 0)
    order = np.argsort(-matrix, axis=None, kind="stable")[:most]
    rows, columns = np.unravel_index(order, matrix.shape)
    return [
        (names[r], names[c], int(matrix[r, c]))
        for r, c in zip(rows, columns, strict=True)
        if matrix[r, c]
    ]


def instructive(labels: np.ndarray, probabilities: np.ndarray, most: int) -> np.ndarray:
    """Positions worth a look: the surest mistakes, then the least sure right answers."""
    guesses, sure = probabilities.argmax(axis=1), probabilities.max(axis=1)
    wrong = np.flatnonzero(guesses != labels)
    right = np.flatnonzero(guesses == labels)
    wrong = wrong[np.argsort(-sure[wrong], kind="stable")][: most // 2]
    right = right[np.argsort(sure[right], kind="stable")][: most - len(wrong)]
    return np.concatenate([wrong, right])


@exchange.on_this_host
def predict(
    model: keras.Model,
    split: Split,
    batch_size: int,
    *,
    tta: int = 1,
    seed: int = 0,
    progress: Progress | None = None,
) -> np.ndarray:
    """float32 (images, classes) probabilities in the files' order.

    `tta`: test-time augmentation, the mean over that many views: the image, its mirror image,
    then lightly augmented ones. Of several hosts each sees a part of the images, and all get the
    whole. Raises `DataError` that names a damaged file.
    """
    if tta < 1:
        raise SettingError(f"tta {tta}: at least 1 view")
    here = hosts.here()
    split, model = split.part(here.index, here.count), exchange.double(model)
    batch_size = max(1, batch_size // here.count)
    batch_size += -batch_size % kerases.replicas(model)
    total = 0.0
    for view in range(tta):
        dataset = (
            mirrored(split, batch_size)
            if view == 1
            else features.images(split, batch_size, view, "light", seed)
        )
        with shards.naming_damaged_files(split.paths):
            rows = model.predict(dataset, verbose=0)
        total = total + pipeline.cut(np.asarray(rows), split)
        if progress:
            progress("predicting", view + 1, tta)
    return exchange.gather((total / tta).astype(np.float32))


def mirrored(split: Split, batch_size: int) -> tf.data.Dataset:
    """uint8 batches of a split in order, each image mirrored left to right."""
    return features.images(split, batch_size).map(augment.mirror)


def write_submission(
    path: str | Path, ids: np.ndarray, probabilities: np.ndarray, sample: str | Path | None = None
) -> None:
    """`submission.csv` with header `id,label`, one row a test image.

    With a `sample_submission.csv` the rows come in its order and the ids must be the same:
    raises `DataError` when they are not, before anything is written.
    """
    labels = dict(zip(ids.tolist(), probabilities.argmax(axis=1).tolist(), strict=True))
    if len(labels) != len(ids):
        raise DataError(f"{len(ids) - len(labels)} test ids occur twice: no valid submission")
    order = list(labels)
    if sample is not None and tf.io.gfile.exists(str(sample)):
        with tf.io.gfile.GFile(str(sample)) as file:
            order = [row["id"] for row in csv.DictReader(file.read().splitlines())]
        missing, extra = set(order) - set(labels), set(labels) - set(order)
        if missing or extra:
            raise DataError(
                f"the test images are not those of {sample}: {len(missing)} of its ids were not "
                f"predicted, {len(extra)} predicted ids are not in it"
            )
    rows = "".join(f"{id_},{labels[id_]}\n" for id_ in order)
    storage.write_text(path, "id,label\n" + rows)
