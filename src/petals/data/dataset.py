"""The photos of one run: the source, its three splits, and photos from other sources."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tensorflow as tf

from petals import storage
from petals.data import shards
from petals.data.extra import Addition, more_to_train_on
from petals.data.folds import TOGETHER, divided
from petals.data.shards import SPLITS, Split
from petals.data.source import Source, find_sources
from petals.errors import DataError
from petals.kaggle import cache_folder
from petals.progress import ShowProgress
from petals.settings import fold_of

TWINS = "twins.csv"


@dataclass(frozen=True)
class Dataset:
    """The three splits that a run trains on, validates on and predicts.

    `names`: the classes in label order; `added`: photos in `train` from further sources.
    """

    source: Source
    names: tuple[str, ...]
    train: Split
    val: Split
    test: Split
    added: Sequence[Addition] = ()
    limited: bool = False

    @property
    def splits(self) -> dict[str, Split]:
        """The splits by name."""
        return {name: getattr(self, name) for name in SPLITS}

    @property
    def sample_submission(self) -> str | None:
        """The file that lists the test images; None if only some of them are used."""
        return None if self.limited else f"{self.source.root}/sample_submission.csv"

    def __str__(self) -> str:
        counts = ", ".join(f"{split.count:,} {name}" for name, split in self.splits.items())
        lines = [*map(str, self.added), f"{self.source}: {len(self.names)} classes; {counts}"]
        return "\n".join(lines)


def find_dataset(
    settings: Mapping[str, Any], folder: str | Path, progress: ShowProgress | None = None
) -> Dataset:
    """The photos that the parameters of 02_train select.

    `settings`: these parameters by name; `folder`: where `twins.csv` is written if further sources
    were named. Raises `DataError` and `SettingError` as the functions do that it calls, and
    `DataError` for a sample submission that does not fit the test split.
    """
    size, limit, cache = settings["image_size"], settings["limit"], cache_folder()
    source, *others = find_sources(settings["data"], size)
    names = source.class_names
    whole = {name: Split.find(source.root, size, name, limit) for name in SPLITS}
    added = more_to_train_on(others, names, whole, cache, progress) if others else []
    validation = settings["validation"]
    train, val = whole["train"], whole["val"]
    if validation != "val":
        fold, folds = fold_of(validation) or (1, TOGETHER)
        train, val = divided(train, val, folds, fold - 1, cache)
    if added:
        twins = [(addition.source, *twin) for addition in added for twin in addition.twins]
        storage.write_csv(Path(folder) / TWINS, ("source", "id", "split", "twin"), twins)
        paths = tuple(path for addition in added for path in addition.paths)
        count = sum(addition.added for addition in added)
        train = Split((*paths, *train.paths), size, count + train.count)
    dataset = Dataset(source, names, train, val, whole["test"], added, bool(limit))
    _check_sample(dataset)
    return dataset


def _check_sample(dataset: Dataset) -> None:
    """Raise `DataError` if the sample submission lists different images from the test split.

    It runs before training, so it compares only the number of rows and the first shard's ids.
    """
    sample, test = dataset.sample_submission, dataset.test
    if sample is None or not tf.io.gfile.exists(sample):
        return
    with tf.io.gfile.GFile(sample) as file:
        ids = {row["id"] for row in csv.DictReader(file)}
    first_ids = {example.id for example in shards.read_shard(test.paths[0])}
    if len(ids) != test.count or first_ids - ids:
        raise DataError(
            f"{sample} is for another test split: it lists {len(ids):,} images of {test.count:,}, "
            f"and {len(first_ids & ids):,} of the first {len(first_ids):,}. Put the list of these "
            "photos there, or remove it"
        )
