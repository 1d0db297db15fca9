"""A trained model for other tools: a TensorFlow SavedModel, checked against the model itself."""

from __future__ import annotations

import contextlib
import io
import shutil
import tempfile
from dataclasses import asdict
from pathlib import Path

import numpy as np
import tensorflow as tf

from petals import storage
from petals.errors import StorageError, WeightsError
from petals.models.build import Classifier
from petals.models.card import ModelCard

TOLERANCE = 1e-4  # the largest allowed difference of a probability
BATCH = 4


def export(classifier: Classifier, card: ModelCard, folder: str | Path) -> float:
    """Write a SavedModel with `card.json` and `labels.txt` beside it.

    Its signature `serve` maps uint8 (n, size, size, 3) to float32 (n, classes), without the
    temperature, which the card has. Returns the largest difference of a probability from the
    model's own on random images. Raises `StorageError` if the folder exists, and `WeightsError` if
    a probability differs by more than `TOLERANCE`; nothing is left behind then.
    """
    folder = Path(folder)
    if folder.exists():
        raise StorageError(f"{folder} is there already: choose a new folder for the export")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".export-") as place:
            part = Path(place) / folder.name
            with contextlib.redirect_stdout(io.StringIO()):  # Keras describes every tensor
                classifier.model.export(str(part))
            difference = _difference(classifier, part, card.image_size)
            if not difference <= TOLERANCE:
                raise WeightsError(
                    f"the exported model differs from {card.backbone} by {difference:.2g} in a "
                    "probability: nothing was exported"
                )
            storage.write_json(part / "card.json", asdict(card))
            storage.write_text(part / "labels.txt", "".join(f"{n}\n" for n in card.classes))
            shutil.move(part, folder)
    except OSError as error:
        raise storage.cannot_write(folder, error) from error
    return difference


def _difference(classifier: Classifier, folder: Path, size: int) -> float:
    images = np.random.default_rng(0).integers(0, 256, (BATCH, size, size, 3)).astype(np.uint8)
    loaded = tf.saved_model.load(str(folder))  # keep a reference: its function has only weak ones
    served = loaded.serve(tf.constant(images))
    own = np.asarray(classifier.model(images, training=False))
    return float(np.abs(np.asarray(served) - own).max())
