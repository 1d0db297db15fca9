"""A trained model's predictions for new photos: a table, a picture, a file.

Begin with `classify`, which `tools/predict.py` calls; the notebook 04_predict calls what it does.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from os import cpu_count
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from petals import storage
from petals.data import photo_files
from petals.data.photo_files import find_photos
from petals.data.samples import sample_of
from petals.data.source import find_source
from petals.errors import DataError
from petals.evaluation.calibration import calibrated
from petals.evaluation.prediction import predict, predict_images
from petals.kaggle import mounts
from petals.models.build import Classifier
from petals.models.card import ModelCard
from petals.models.restore import AUTO, find_model, restore
from petals.plots.figures import save
from petals.plots.photos import gallery
from petals.tables import Table

SHOWN = 24  # photos in the picture
CHUNK = 512  # photos in memory at a time
BATCH = 32  # images
PAGES = "__results___files"  # the folder of figures beside the page that Kaggle makes of a kernel


@dataclass(frozen=True)
class Answers:
    """A model's predictions for n photos.

    names (n,) str, of a test split its ids; probabilities float32 (n, classes), calibrated; images
    uint8 (few, size, size, 3), the first photos as the model saw them; submitted: of a test split,
    what a submission says for each class, None for its position; complete: whether the photos are
    all that there are, and not the first `limit` of a test split.
    """

    names: np.ndarray
    classes: Sequence[str]
    probabilities: np.ndarray
    images: np.ndarray
    submitted: Sequence[str] | None = None
    complete: bool = True

    def _likeliest(self, top: int) -> Iterator[tuple[str, list[tuple[str, float]]]]:
        """(name, likeliest classes and their probabilities) of each photo."""
        for name, row in zip(self.names.tolist(), self.probabilities, strict=True):
            order = np.argsort(-row, kind="stable")[:top]
            yield name, [(self.classes[label], float(row[label])) for label in order]

    def table(self, top: int = 5, most: int | None = None) -> Table:
        """The likeliest classes of every photo, or the first `most`, with rounded percentages."""
        rows = []
        for name, likeliest in self._likeliest(top):
            texts = [f"{class_} {100 * probability:.0f} %" for class_, probability in likeliest]
            others = {"then": ", ".join(texts[1:])} if top > 1 else {}
            rows.append({"photo": Path(name).name, "likeliest": texts[0]} | others)
        return Table(rows[:most])

    def picture(self, top: int = 5) -> Figure:
        """The first photos with their likeliest classes."""
        captions = [
            "\n".join(f"{class_} {100 * probability:.0f} %" for class_, probability in likeliest)
            for _, (_, likeliest) in zip(self.images, self._likeliest(top), strict=False)
        ]
        return gallery(self.images, captions, overall="Photos, each below its most likely classes.")

    def write(self, folder: Path, top: int = 5) -> None:
        """Write `predictions.csv`: photo, class 1, probability 1, class 2, and so on."""
        places = range(1, min(top, len(self.classes)) + 1)
        header = ["photo", *(f"{part} {n}" for n in places for part in ("class", "probability"))]
        rows = (
            [name, *(cell for class_, p in likeliest for cell in (class_, f"{p:.4f}"))]
            for name, likeliest in self._likeliest(top)
        )
        storage.write_csv(folder / "predictions.csv", header, rows)


def classify(
    model: str,
    photos: Sequence[str],
    *,
    top: int = 5,
    output: Path | None = None,
) -> str:
    """Predict what photos show, with the model from a file or a run's folder; returns a table.

    `photos`: files, folders and globs, of which the middle square is taken. With `output` the table
    and a picture are written there. Raises `DataError` for a photo that cannot be read, before
    anything is written, and `WeightsError` for a model.
    """
    paths = find_photos(photos)
    answers = predict_photos(*restore(find_model(model)), paths)
    lines = [str(answers.table(top))]
    if output:
        answers.write(output, top)
        save(answers.picture(top), output, "predictions")
        lines.append(f"{output}: predictions.csv and predictions.jpg")
    return "\n".join(lines)


def predict_photos(classifier: Classifier, card: ModelCard, paths: Sequence[Path]) -> Answers:
    """A restored classifier's predictions for photos; raises `DataError` for an unreadable one."""
    first, rows = [], []

    def square(path: Path) -> np.ndarray:
        try:
            (picture,) = photo_files.squares(path, [card.image_size])
        except photo_files.PhotoError as error:
            raise DataError(f"{path}: {error}: leave it out, or save it again as a JPEG") from None
        return np.asarray(picture, np.uint8)

    with ThreadPoolExecutor(cpu_count()) as pool:
        for begin in range(0, len(paths), CHUNK):
            images = np.stack(list(pool.map(square, paths[begin : begin + CHUNK])))
            first.append(images[: max(0, SHOWN - begin)])
            rows.append(predict_images(classifier.model, images, BATCH, tta=card.views))
    probabilities = calibrated(np.concatenate(rows), card.temperature)
    names = np.array([str(path) for path in paths])
    return Answers(names, card.classes, probabilities, np.concatenate(first))


def predict_test_split(
    classifier: Classifier, card: ModelCard, data: str, limit: int = 0
) -> Answers:
    """A restored classifier's predictions for the test split of `data`, or its first `limit`.

    Raises `WeightsError` if the model has other classes, `DataError` if the data lacks its image
    size.
    """
    source = find_source(data, card.image_size)
    card.check(source.class_names, card.image_size, "the model")
    splits = source.splits(card.image_size, limit)
    if "test" not in splits:
        raise DataError(
            f"{source} has no test photos: set photos to a folder of photos to classify, or data "
            "to photos with a test split"
        )
    split = splits["test"]
    rows = predict(classifier.model, split, BATCH, tta=card.views)
    probabilities = calibrated(rows, card.temperature)
    _, ids = split.labels_and_ids()
    images = sample_of(split, SHOWN).images
    return Answers(ids, card.classes, probabilities, images, source.submitted, split.complete)


def photos_for(photos: str, limit: int = 0) -> list[Path]:
    """The photos that the parameter `photos` of 04_predict names, at most `limit` (0 = all).

    "auto" means every photo in attached datasets, if there are any, except for a run's figures.
    """
    if photos == AUTO:
        datasets = mounts() / "datasets"  # older machines mount them beside the other inputs
        paths = photo_files.photos_below(datasets if datasets.is_dir() else mounts())
        folders = {path.parent for path in paths}
        own = {f for f in folders if f.name != PAGES and not (f / "figures.json").exists()}
        paths = [path for path in paths if path.parent in own]
    else:
        paths = find_photos(photos.split(","))
    return paths[: limit or None]
