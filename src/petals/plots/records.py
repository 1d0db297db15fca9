"""Files that a report lays out itself, in place of figures: CSV of scores, JSON of photos."""

import base64
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from petals import storage
from petals.data.samples import sample_of
from petals.data.shards import Split
from petals.evaluation.calibration import Reliability
from petals.evaluation.metrics import confusion, instructive, most_confused, per_class

SIDE = 160  # pixels of a photo, twice what a page shows it at
PAIRS, MISTAKES = 20, 24
FAIR = 2  # percentage points from the mean probability to the share of correct answers


def write_evaluation(
    folder: Path,
    split: Split,
    labels: np.ndarray,
    probabilities: np.ndarray,
    names: Sequence[str],
) -> None:
    """Write the files that a report shows about the validation `split`.

    `class_scores.csv`, `confusion.csv`, `calibration.csv` with its conclusion in `calibration.txt`,
    and with photos `confused.json` and `mistakes.json`.
    """
    answers = (labels, probabilities, names)
    texts = {
        "class_scores.csv": class_scores(*answers),
        "confusion.csv": matrix(*answers),
        "calibration.csv": calibration(labels, probabilities),
        "calibration.txt": conclusion(labels, probabilities),
    }
    for name, text in texts.items():
        storage.write_text(folder / name, text)
    storage.write_json(folder / "confused.json", confused(split, *answers))
    storage.write_json(folder / "mistakes.json", mistakes(split, *answers))


def write_gallery(folder: Path, images: np.ndarray, captions: Sequence[str]) -> None:
    """`gallery.json`: photos, uint8 (n, size, size, 3), with their captions, for a report."""
    storage.write_json(folder / "gallery.json", gallery(images, captions))


def class_scores(labels: np.ndarray, probabilities: np.ndarray, names: Sequence[str]) -> str:
    """CSV of each class's F1, precision, recall and images, the worst first."""
    return storage.csv_text(
        ("class", "F1", "precision", "recall", "images"),
        (
            (row.name, f"{row.f1:.4f}", f"{row.precision:.4f}", f"{row.recall:.4f}", row.support)
            for row in per_class(labels, probabilities, names)
        ),
    )


def matrix(labels: np.ndarray, probabilities: np.ndarray, names: Sequence[str]) -> str:
    """CSV of the confusion matrix: a row for each true class, a column for each guessed one."""
    counts = confusion(labels, probabilities).tolist()
    rows = ((name, *row) for name, row in zip(names, counts, strict=True))
    return storage.csv_text(("true \\ predicted", *names), rows)


def confused(
    split: Split, labels: np.ndarray, probabilities: np.ndarray, names: Sequence[str]
) -> list[dict[str, Any]]:
    """The pairs of classes that are confused most, with the likeliest photo of each for a model."""
    guesses = probabilities.argmax(axis=1)
    rows = []
    for truth, guess, times in most_confused(labels, probabilities, PAIRS):
        mistaken = np.flatnonzero((labels == truth) & (guesses == guess))
        own = np.flatnonzero(labels == guess)
        likeliest = probabilities[:, guess]
        mistake = int(mistaken[likeliest[mistaken].argmax()])
        example = int(own[likeliest[own].argmax()]) if len(own) else None
        rows.append((truth, guess, times, mistake, example))
    shown = {mistake for *_, mistake, _ in rows}
    shown |= {example for *_, example in rows if example is not None}
    photos = _thumbnails(split, shown)
    return [
        {
            "true class": names[truth],
            "predicted": names[guess],
            "times": times,
            "a mistake": photos[mistake],
            "a photo of the predicted class": photos.get(example),
        }
        for truth, guess, times, mistake, example in rows
    ]


def mistakes(
    split: Split, labels: np.ndarray, probabilities: np.ndarray, names: Sequence[str]
) -> list[dict[str, Any]]:
    """The most confident mistakes, each with its photo and id, its class and the predicted one."""
    guesses = probabilities.argmax(axis=1)
    chosen = instructive(labels, probabilities, 2 * MISTAKES)
    chosen = chosen[guesses[chosen] != labels[chosen]].tolist()
    photos = _thumbnails(split, chosen)
    ids = split.labels_and_ids()[1]
    return [
        {
            "photo": photos[at],
            "true": names[labels[at]],
            "predicted": names[guesses[at]],
            "confidence": f"{100 * probabilities[at].max():.0f} %",
            "id": str(ids[at]),
        }
        for at in chosen
    ]


def _thumbnails(split: Split, positions: Iterable[int]) -> dict[int | None, str]:
    """The photos at these positions, as `thumbnail` gives them."""
    order = sorted(positions)
    images = sample_of(split, order).images if order else ()
    return dict(zip(order, map(thumbnail, images), strict=True))


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
    return storage.csv_text(("probability given", "on average", "correct", "images"), rows)


def conclusion(labels: np.ndarray, probabilities: np.ndarray) -> str:
    """A sentence on whether the probabilities mean what they say."""
    sure = 100 * probabilities.max(axis=1).mean()
    right = 100 * (probabilities.argmax(axis=1) == labels).mean()
    verdict = "Well calibrated overall"
    if abs(sure - right) >= FAIR:
        verdict = "Underconfident overall" if sure < right else "Overconfident overall"
    return (
        f"{verdict}: the mean probability is {sure:.1f} %, and {right:.1f} % of the predictions "
        "are correct.\n"
    )
