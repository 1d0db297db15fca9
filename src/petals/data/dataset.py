"""The photos of one run: the source, its three splits, and photos from other sources."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import tensorflow as tf

from petals import storage
from petals.data.extra import Addition, more_to_train_on
from petals.data.folds import TOGETHER, divided
from petals.data.shards import SPLITS, Split
from petals.data.source import Source, find_source
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

    @property
    def splits(self) -> dict[str, Split]:
        """The splits by name."""
        return {name: getattr(self, name) for name in SPLITS}

    def __str__(self) -> str:
        counts = ", ".join(f"{split.count:,} {name}" for name, split in self.splits.items())
        lines = [*map(str, self.added), f"{self.source}: {len(self.names)} classes; {counts}"]
        size, stored = self.train.size, self.train.stored_size
        if size != stored:
            lines.append(f"photos of {size} pixels, made from records of {stored}")
        if size > stored:
            lines.append("no larger records are there, so the photos have no more detail")
        return "\n".join(lines)


def find_dataset(
    settings: Mapping[str, Any], folder: str | Path, progress: ShowProgress | None = None
) -> Dataset:
    """The photos that the parameters of 02_train select.

    `settings`: these parameters by name; `folder`: where `twins.csv` is written if further sources
    were named. Raises `DataError` and `SettingError` as the functions do that it calls, also for
    damaged files, for labels outside the classes, for test ids that occur twice, and for a sample
    submission of another test split.
    """
    size, limit, cache = settings["image_size"], settings["limit"], cache_folder()
    # The first is validated and submitted; the others only add training images.
    source, *others = [find_source(name.strip(), size) for name in settings["data"].split(",")]
    names = source.class_names
    whole = {name: Split.find(source.root, size, name, limit) for name in SPLITS}
    # Every record is read now: training may take hours before it meets a bad one.
    for name, split in whole.items():
        split.labels_and_ids(0 if name == "test" else len(names))
    test_ids = whole["test"].labels_and_ids()[1].tolist()
    if twice := len(test_ids) - len(set(test_ids)):
        raise DataError(f"{twice} test ids occur twice, so no submission is valid")
    if not limit:
        _check_sample(f"{source.root}/sample_submission.csv", set(test_ids))
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
        train = replace(train, paths=(*paths, *train.paths), count=count + train.count)
    return Dataset(source, names, train, val, whole["test"], added)


def _check_sample(sample: str, ids: set[str]) -> None:
    """Raise `DataError` if there is a sample submission that cannot be read or lists other ids."""
    if not tf.io.gfile.exists(sample):
        return
    try:
        with tf.io.gfile.GFile(sample, "rb") as file:
            rows = csv.DictReader(file.read().decode("utf-8-sig").splitlines())
        listed = {row["id"] for row in rows}
    except (ValueError, KeyError) as error:
        raise DataError(
            f"cannot read {sample} ({error}): it must be a CSV in UTF-8 with a column id"
        ) from None
    if listed != ids:
        raise DataError(
            f"{sample} lists other images than the test split: {len(listed - ids):,} are only in "
            f"the list, {len(ids - listed):,} only in the split. Put the list of these photos "
            "there, or remove it"
        )
