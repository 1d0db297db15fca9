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
from petals.data.task import task_warnings
from petals.errors import DataError
from petals.kaggle import cache_folder
from petals.progress import ShowProgress
from petals.settings import fold_of

TWINS = "twins.csv"


@dataclass(frozen=True)
class Dataset:
    """The splits that a run trains on, validates on and predicts; `test` is None if there is none.

    `names`: the classes in label order; `added`: photos in `train` from further sources;
    `warnings`: what makes a score mean less than it seems to, one line each.
    """

    source: Source
    names: tuple[str, ...]
    train: Split
    val: Split
    test: Split | None
    added: Sequence[Addition] = ()
    warnings: Sequence[str] = ()

    @property
    def splits(self) -> dict[str, Split]:
        """The splits by name, without a test split that the data does not have."""
        splits = {name: getattr(self, name) for name in SPLITS}
        return {name: split for name, split in splits.items() if split is not None}

    def __str__(self) -> str:
        counts = ", ".join(f"{split.count:,} {name}" for name, split in self.splits.items())
        if self.test is None:
            counts += ", no test photos, so there will be no submission"
        lines = [*map(str, self.added), f"{self.source}: {len(self.names)} classes; {counts}"]
        if self.test and not self.test.complete:
            lines.append(
                "limit leaves out test photos: submission.partial.csv will lack them, and cannot "
                "be submitted"
            )
        size, stored = self.train.size, self.train.record_size
        if not stored:
            lines.append(f"photos of {size} pixels, made from the middle squares of any others")
        elif size != stored:
            lines.append(f"photos of {size} pixels, made from records of {stored}")
        if size > stored > 0:
            lines.append("no larger records are there, so the photos have no more detail")
        submitted = self.source.submitted
        if self.source.is_numbered:
            lines.append(
                f"the classes have no names and are called by their labels, 0 to {self.names[-1]}, "
                "which a submission holds too: a classes.json beside the photos names them"
            )
        elif not self.source.known_classes:
            lines.append(
                "the labels go up to 103 and have no names, so they are taken for those of the "
                "competition's 104 flowers; a classes.json beside the photos names others"
            )
        if submitted and self.test is not None:
            lines.append(f"a submission holds the data's own labels, such as {submitted[0]}")
        lines += [f"warning: {line}" for line in self.warnings]
        return "\n".join(lines)


def find_dataset(
    settings: Mapping[str, Any], folder: str | Path, progress: ShowProgress | None = None
) -> Dataset:
    """The photos that the parameters of 02_train select.

    `settings`: these parameters by name; `folder`: where `twins.csv` is written if further sources
    were named, and deleted if not. Test photos may be missing, and validation photos too where
    `validation` needs none. Raises `DataError` and `SettingError` as the functions do that it
    calls, also for damaged files, for labels outside the classes, for test ids that occur twice,
    for a sample submission of another test split, and for photos that are no task.
    """
    size = settings["image_size"]
    limit = settings["limit"]
    cache = cache_folder()
    # The first is validated and submitted; the others only add training images.
    source, *others = [find_source(name.strip(), size) for name in settings["data"].split(",")]
    places = {_place(each) for each in (source, *others)}
    if len(places) <= len(others):
        raise DataError(f"data={settings['data']} names a source twice: name each once")
    names = source.class_names
    whole = source.splits(size, limit)
    validation = settings["validation"]
    if validation == "val" and "val" not in whole:
        raise DataError(
            f"{source} has no validation photos (val): set validation=fold:1/5 to validate on a "
            "fifth of the training photos, or validation=none"
        )
    # Every record is read now: training may take hours before it meets a bad one.
    for name, split in whole.items():
        split.labels_and_ids(0 if name == "test" else len(names))
    if "test" in whole:
        _check_test(source, whole["test"])
    if validation == "val":
        train, val = whole["train"], whole["val"]
    else:
        fold, folds = fold_of(validation) or (1, TOGETHER)
        train, val = divided(whole["train"], whole.get("val"), folds, fold - 1, cache)
    added = more_to_train_on(others, names, whole, train, cache, progress) if others else []
    if added:
        paths = tuple(path for addition in added for path in addition.paths)
        count = sum(addition.added for addition in added)
        train = replace(train, paths=(*paths, *train.paths), count=count + train.count)
    warnings = task_warnings(train, None if validation == "none" else val, names)
    _write_twins(Path(folder) / TWINS, added)
    return Dataset(source, names, train, val, whole.get("test"), added, warnings)


def _write_twins(path: Path, added: Sequence[Addition]) -> None:
    """The twins that were left out; without further sources, an earlier run's file is deleted."""
    if added:
        twins = [(addition.source, *twin) for addition in added for twin in addition.twins]
        storage.write_csv(path, ("source", "id", "split", "twin"), twins)
    else:
        path.unlink(missing_ok=True)


def _check_test(source: Source, test: Split) -> None:
    ids = test.labels_and_ids()[1].tolist()
    if twice := len(ids) - len(set(ids)):
        raise DataError(f"{twice} test ids occur twice, so no submission is valid")
    if test.complete:
        _check_sample(f"{source.root}/sample_submission.csv", set(ids))


def _place(source: Source) -> str:
    """Where a source lies, whichever way it was named."""
    return str(source.root) if source.kind == "bucket" else str(Path(source.root).resolve())


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
