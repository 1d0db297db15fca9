"""The photos of one run: the source, its three splits, what was left out and what was added."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from petals.data.extra import Addition, extended, more_to_train_on, write_twins
from petals.data.folds import TOGETHER, divided
from petals.data.source import Source, find_sources
from petals.data.splits import Split
from petals.kaggle import cache_folder
from petals.settings import fold_of

SPLITS = ("train", "val", "test")
TWINS = "twins.csv"

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Dataset:
    """The three splits that a run trains on, validates on and predicts.

    `names`: the classes in label order; `added`: what further sources give to `train`.
    """

    source: Source
    names: tuple[str, ...]
    train: Split
    val: Split
    test: Split
    added: tuple[Addition, ...] = ()
    limited: bool = False

    @property
    def splits(self) -> dict[str, Split]:
        """The splits by name."""
        return {"train": self.train, "val": self.val, "test": self.test}

    @property
    def sample_submission(self) -> str | None:
        """The file that lists the test images; None where some of them were left out."""
        if self.limited:
            return None
        return f"{self.source.root}/sample_submission.csv"

    def __str__(self) -> str:
        counts = ", ".join(f"{split.count:,} {name}" for name, split in self.splits.items())
        lines = [*map(str, self.added), f"{self.source}: {len(self.names)} classes; {counts}"]
        return "\n".join(lines)


def find_dataset(
    settings: Mapping[str, Any], folder: str | Path, progress: Progress | None = None
) -> Dataset:
    """The photos that the parameters of 02_train ask for.

    `settings`: these parameters by name; `folder`: where `twins.csv` is written if further sources
    were named. Raises `DataError` and `SettingError` as the functions do that it calls.
    """
    size, cache = settings["image_size"], cache_folder()
    source, *others = find_sources(settings["data"], size)
    splits = tuple(Split.find(source.root, size, name, settings["limit"]) for name in SPLITS)
    whole = dict(zip(SPLITS, splits, strict=True))
    train, val, added = whole["train"], whole["val"], []
    if others:
        added = more_to_train_on(
            others,
            source.class_names,
            whole,
            cache=cache,
            progress=progress,
        )
    validation = settings["validation"]
    if validation == "none":
        train, val = divided(train, val, TOGETHER, 0, cache)
    elif fold := fold_of(validation):
        number, folds = fold
        train, val = divided(train, val, folds, number - 1, cache)
    if added:
        write_twins(Path(folder) / TWINS, added)
        train = extended(train, added)
    return Dataset(
        source,
        source.class_names,
        train,
        val,
        whole["test"],
        tuple(added),
        bool(settings["limit"]),
    )
