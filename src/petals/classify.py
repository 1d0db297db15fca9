"""A trained model's predictions for new photos: a table, a picture, a file.

Begin with `classify`, which `tools/predict.py` and the notebook 04_predict call.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from glob import glob
from os import cpu_count
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from petals import storage
from petals.data import photo_files
from petals.data.shards import Split
from petals.data.source import find_source
from petals.errors import DataError, SettingError
from petals.evaluation.calibration import calibrated
from petals.evaluation.prediction import predict, predict_images
from petals.kaggle import mounts
from petals.models.build import Classifier
from petals.models.card import ModelCard
from petals.models.export import export
from petals.models.restore import AUTO, find_model, restore
from petals.plots import probabilities as probability_plots
from petals.plots import run as plots
from petals.tables import Table

SUFFIXES = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff")
SHOWN = 24  # photos in the picture
FITS = ("crop", "squash")
CHUNK = 512  # photos in memory at a time
BATCH = 32  # images


@dataclass(frozen=True)
class Answers:
    """A model's predictions for n photos.

    names (n,) str; probabilities float32 (n, classes), calibrated; images uint8 (few, size,
    size, 3), the first photos as the model saw them.
    """

    names: Sequence[str]
    classes: Sequence[str]
    probabilities: np.ndarray
    images: np.ndarray

    def rows(self, top: int = 5) -> list[dict[str, str | float]]:
        """One dict per photo: photo, class 1, probability 1, class 2, and so on."""
        rows = []
        for name, row in zip(self.names, self.probabilities, strict=True):
            cells: dict[str, str | float] = {"photo": name}
            for place, label in enumerate(np.argsort(-row, kind="stable")[:top], 1):
                cells[f"class {place}"] = self.classes[label]
                cells[f"probability {place}"] = round(float(row[label]), 4)
            rows.append(cells)
        return rows

    def table(self, top: int = 5, most: int = 0) -> Table:
        """The likeliest classes of every photo, or the first `most`, with rounded percentages."""
        rows = []
        for name, row in list(zip(self.names, self.probabilities, strict=True))[: most or None]:
            order = np.argsort(-row, kind="stable")[:top]
            first, *others = [f"{self.classes[n]} {100 * row[n]:.0f} %" for n in order]
            then = {"then": ", ".join(others)} if others else {}
            rows.append({"photo": Path(name).name, "likeliest": first} | then)
        return Table.of(rows)

    def picture(self, top: int = 5) -> Figure:
        """The first photos with their likeliest classes."""
        return probability_plots.likeliest(
            self.images, self.names, self.probabilities, self.classes, top
        )

    @property
    def ids(self) -> np.ndarray:
        """The names as an array of strings; for a test split, its ids."""
        return np.array(self.names)

    def write_table(self, folder: Path, top: int = 5) -> None:
        """Write `predictions.csv`."""
        rows = self.rows(top)
        storage.write_csv(
            folder / "predictions.csv", list(rows[0]), ([*row.values()] for row in rows)
        )

    def write(self, folder: Path, top: int = 5) -> None:
        """Write `predictions.csv` and `predictions.png`."""
        self.write_table(folder, top)
        plots.save(self.picture(top), folder, "predictions")


def classify(
    model: str,
    photos: Sequence[str],
    *,
    weights: str = AUTO,
    fit: str = "crop",
    top: int = 5,
    output: Path | None = None,
) -> tuple[Answers, ModelCard]:
    """Predict what photos show, with the model from a file or a run's folder.

    `photos`: files, folders and globs; `weights` as in `petals.models.restore.restore`; `fit`:
    "crop" for the middle square, "squash" for the whole photo. With `output` the table and the
    picture are written there. Raises `DataError` for a photo that cannot be read, before anything
    is predicted or written, and `WeightsError` for a model.
    """
    if fit not in FITS:
        raise SettingError(f"fit {fit!r}: {' or '.join(FITS)}")
    if top < 1:
        raise SettingError(f"top {top}: at least 1 class")
    paths = find_photos(photos)
    path = find_model(model)
    classifier, card = restore(path, weights)
    answers = predict_photos(classifier, card, paths, fit)
    if output:
        answers.write(output, top)
    return answers, card


def classify_and_export(
    model: str,
    photos: Sequence[str],
    *,
    weights: str = AUTO,
    fit: str = "crop",
    top: int = 5,
    output: Path | None = None,
    export_to: Path | None = None,
) -> str:
    """The text that `tools/predict.py` prints: the table of photos, and the written files.

    Like `classify`; with `export_to` the model is also exported, which needs no photos.
    """
    lines = []
    if photos or not export_to:
        answers, _ = classify(model, photos, weights=weights, fit=fit, top=top, output=output)
        lines.append(str(answers.table(top)))
        if output:
            lines.append(f"{output / 'predictions.csv'} and predictions.png")
    if export_to:
        difference = export(*restore(find_model(model), weights), export_to)
        lines.append(f"{export_to}: a SavedModel, whose answers differ by {difference:.1g} at most")
    return "\n".join(lines)


def predict_photos(
    classifier: Classifier, card: ModelCard, paths: Sequence[Path], fit: str = "crop"
) -> Answers:
    """A restored classifier's predictions for photos; raises `DataError` for an unreadable one."""
    size = card.image_size
    with ThreadPoolExecutor(cpu_count()) as pool:
        problems = list(filter(None, pool.map(lambda p: _square(p, size, fit)[1], paths)))
        if problems:
            others = f", and {len(problems) - 1} more like it" if problems[1:] else ""
            raise DataError(f"{problems[0]}{others}: leave it out, or save it again as a JPEG")
        first, rows = [], []
        for begin in range(0, len(paths), CHUNK):
            group = paths[begin : begin + CHUNK]
            images = np.stack(list(pool.map(lambda path: _square(path, size, fit)[0], group)))
            first.append(images[: max(0, SHOWN - begin)])
            rows.append(predict_images(classifier.model, images, BATCH, tta=card.views))
    probabilities = calibrated(np.concatenate(rows), card.temperature)
    names = [str(path) for path in paths]
    return Answers(names, card.classes, probabilities, np.concatenate(first))


def _square(path: Path, size: int, fit: str) -> tuple[np.ndarray, str]:
    try:
        pictures, _ = photo_files.squares(path, [size], fit)
    except photo_files.PhotoError as error:
        return np.zeros((size, size, 3), np.uint8), f"{path}: {error}"
    return np.asarray(pictures[size], np.uint8), ""


def find_photos(names: Sequence[str]) -> list[Path]:
    """The photos in files, folders and globs, without duplicates, in the order of `names`.

    Raises `DataError` for a name without photos.
    """
    paths: dict[Path, None] = {}
    for text in names:
        path = Path(text).expanduser()
        if path.is_file():
            paths[path] = None
            continue
        inside = path.rglob("*") if path.is_dir() else map(Path, glob(str(path), recursive=True))  # noqa: PTH207 - takes absolute globs
        photos = [p for p in sorted(inside) if p.is_file() and p.suffix.lower() in SUFFIXES]
        if not photos:
            raise DataError(f"no photo at {text}: give files ({', '.join(SUFFIXES)}) or folders")
        paths |= dict.fromkeys(photos)
    if not paths:
        raise DataError("no photos: give files, folders or globs")
    return list(paths)


def photos_for(photos: str, limit: int = 0) -> list[Path]:
    """The photos that the parameter `photos` of 04_predict names, at most `limit` (0 = all).

    "auto" means every photo in attached datasets, if there are any.
    """
    if photos != AUTO:
        return find_photos(photos.split(","))[: limit or None]
    place = mounts() / "datasets"
    inside = sorted(place.rglob("*")) if place.is_dir() else []
    return [path for path in inside if path.suffix.lower() in SUFFIXES][: limit or None]


def find_test_split(card: ModelCard, path: Path, data: str, limit: int = 0) -> Split:
    """The test split of `data` for the model of `path`.

    Raises `WeightsError` if the model has other classes, `DataError` if the data lacks its image
    size.
    """
    source = find_source(data, card.image_size)
    card.check(source.class_names, card.image_size, path)
    return Split.find(source.root, card.image_size, "test", limit)


def predict_split(classifier: Classifier, card: ModelCard, split: Split) -> Answers:
    """A restored classifier's predictions for a split, with its ids as the photos' names."""
    rows = predict(classifier.model, split, BATCH, tta=card.views)
    _, ids = split.labels_and_ids()
    images = split.sample(min(SHOWN, split.count)).images
    return Answers(ids.tolist(), card.classes, calibrated(rows, card.temperature), images)
