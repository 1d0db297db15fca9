"""Files that a report lays out itself, in place of figures: CSV of scores, JSON of photos."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image

from petals import storage
from petals.data.shards import Split
from petals.evaluation.calibration import Reliability
from petals.evaluation.metrics import confusion, examples, instructive, most_confused, per_class

SIDE = 160  # pixels of a photo, twice what a page shows it at
PAIRS, MISTAKES = 20, 24
FAIR = 2  # percentage points from the mean probability to the share of correct answers


def class_scores(labels: np.ndarray, probabilities: np.ndarray, names: Sequence[str]) -> str:
    """CSV of each class's F1, precision, recall and images, the worst first."""
    rows = [row for row in per_class(labels, probabilities, names) if row.support]
    return storage.csv_text(
        ("class", "F1", "precision", "recall", "images"),
        (
            (row.name, f"{row.f1:.4f}", f"{row.precision:.4f}", f"{row.recall:.4f}", row.support)
            for row in sorted(rows, key=lambda row: row.f1)
        ),
    )


def matrix(labels: np.ndarray, probabilities: np.ndarray, names: Sequence[str]) -> str:
    """CSV of the confusion matrix: a row for each true class, a column for each guessed one."""
    counts = confusion(labels, probabilities)
    rows = ((name, *row.tolist()) for name, row in zip(names, counts, strict=True))
    return storage.csv_text(("true \\ guessed", *names), rows)


def confused(
    split: Split, labels: np.ndarray, probabilities: np.ndarray, names: Sequence[str]
) -> list[dict[str, Any]]:
    """The pairs of classes that are confused most, with a photo of each class."""
    commonest = most_confused(labels, probabilities, names, PAIRS)
    pairs = [
        examples(labels, probabilities, names.index(t), names.index(g)) for t, g, _ in commonest
    ]
    positions = sorted({int(at) for pair in pairs for at in pair if at is not None})
    photos = {
        at: photo for at, (photo, _) in zip(positions, _photos(split, positions), strict=True)
    }
    return [
        {
            "true class": truth,
            "predicted": guess,
            "times": times,
            "a mistake": photos[mistake],
            "a photo of the predicted class": None if own is None else photos[own],
        }
        for (truth, guess, times), (mistake, own) in zip(commonest, pairs, strict=True)
    ]


def mistakes(
    split: Split, labels: np.ndarray, probabilities: np.ndarray, names: Sequence[str]
) -> list[dict[str, Any]]:
    """The most confident mistakes, each with its photo and id, its class and the predicted one."""
    guesses = probabilities.argmax(axis=1)
    chosen = instructive(labels, probabilities, 2 * MISTAKES)
    chosen = chosen[guesses[chosen] != labels[chosen]]
    return [
        {
            "photo": photo,
            "true": names[labels[at]],
            "guessed": names[guesses[at]],
            "sure": f"{100 * probabilities[at].max():.0f} %",
            "id": photo_id,
        }
        for at, (photo, photo_id) in zip(chosen, _photos(split, chosen.tolist()), strict=True)
    ]


def gallery(images: np.ndarray, captions: Sequence[str]) -> list[dict[str, str]]:
    """Photos, uint8 (n, size, size, 3), each with its caption."""
    return [
        {"photo": thumbnail(image), "class": caption}
        for image, caption in zip(images, captions, strict=True)
    ]


def thumbnail(image: np.ndarray) -> str:
    """A `data:` address of a small JPEG of the photo, uint8 (size, size, 3)."""
    small = Image.fromarray(image)
    small.thumbnail((SIDE, SIDE))
    jpeg = io.BytesIO()
    small.save(jpeg, "JPEG", quality=82)
    return f"data:image/jpeg;base64,{base64.b64encode(jpeg.getvalue()).decode()}"


def calibration(labels: np.ndarray, probabilities: np.ndarray) -> str:
    """CSV of accuracy by confidence, in ten bins of probability."""
    tenths = Reliability.of(labels, probabilities, bins=10)
    columns = zip(tenths.confidence, tenths.accuracy, tenths.counts, strict=True)
    rows = [
        (f"{10 * n} to {10 * (n + 1)} %", f"{100 * sure:.1f} %", f"{100 * right:.1f} %", int(count))
        for n, (sure, right, count) in enumerate(columns)
        if count
    ]
    return storage.csv_text(("probability given", "on average", "right", "images"), rows)


def conclusion(labels: np.ndarray, probabilities: np.ndarray) -> str:
    """A sentence on whether the probabilities mean what they say."""
    sure = 100 * probabilities.max(axis=1).mean()
    right = 100 * (probabilities.argmax(axis=1) == labels).mean()
    verdict = "fair" if abs(sure - right) < FAIR else "too low" if sure < right else "too high"
    return (
        f"The probabilities are {verdict} on the whole: {sure:.1f} % on average, of predictions of "
        f"which {right:.1f} % are correct.\n"
    )


def _photos(split: Split, positions: Sequence[int]) -> list[tuple[str, str]]:
    """(thumbnail, id) of the photos at these positions."""
    if not positions:
        return []
    sample = split.sample(positions)
    return list(zip(map(thumbnail, sample.images), sample.ids, strict=True))
