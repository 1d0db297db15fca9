"""The classes of record files in label order: from a list, from texts, or from numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from petals.data import classes
from petals.data.layout import RecordFile
from petals.data.record_survey import Survey
from petals.errors import DataError

NAME_LISTS = ("labels.txt", "label.labels.txt", "classes.txt")  # of TF-Slim, TFDS and others
_MOST_NAMED = 5


@dataclass(frozen=True)
class Classes:
    """The classes of records in label order.

    `position`: {label in the records: label}; `submitted`: what a submission holds for each class,
    the numbers that the records hold, None for the position itself.
    """

    names: list[str]
    position: dict[Any, int]
    submitted: list[str] | None = None

    @property
    def are_numbered(self) -> bool:
        """Whether the records name no classes, so that they are called by their numbers."""
        return self.submitted == self.names


def lists_of_names(root: str, files: Sequence[RecordFile]) -> dict[str, tuple[str, ...]]:
    """{source: its classes in label order} from the nearest list above the files, if there is one.

    A `classes.json`, or the lists of TFDS and TF-Slim: a name a line, or NUMBER:NAME.
    """
    found: dict[str, tuple[str, ...]] = {}
    for file in files:
        folder = file.path.rpartition("/")[0]
        while file.source not in found and folder.startswith(root.rstrip("/")):
            names = _names_in(folder)
            if names:
                found[file.source] = names
            folder = folder.rpartition("/")[0]
    return found


def _names_in(folder: str) -> tuple[str, ...]:
    path = f"{folder}/{classes.FILE_NAME}"
    if tf.io.gfile.exists(path):
        return classes.read(path)
    for file_name in NAME_LISTS:
        path = f"{folder}/{file_name}"
        if not tf.io.gfile.exists(path):
            continue
        with tf.io.gfile.GFile(path, "rb") as file:
            lines = file.read().decode("utf-8-sig", "replace").splitlines()
        names = [line.strip() for line in lines if line.strip()]
        pairs = [name.split(":", 1) for name in names]
        if [pair[0] for pair in pairs] == [str(label) for label in range(len(pairs))]:
            names = [pair[-1].strip() for pair in pairs]
        return tuple(names)
    return ()


def classes_of(
    root: str, surveyed: Sequence[Survey], lists: Mapping[str, tuple[str, ...]]
) -> Classes:
    """The classes of surveyed files, named by a list, by texts, or by their numbers.

    A number stays what it is in a submission, also as a text or with a name beside it.
    """
    labels = {label for survey in surveyed for label in survey.labels}
    if not labels:
        raise DataError(
            f"{root} holds no labelled photos: all its record files belong to the test split"
        )
    if not any(survey.labels for survey in surveyed if survey.file.split == "train"):
        raise DataError(
            f"{root} holds no photos to train on: its record files are val and test only"
        )
    lengths = sorted(set[int]().union(*(survey.lengths for survey in surveyed)))
    if len(lengths) > 1:
        raise DataError(
            f"{root} has labels of {lengths[0]} and of {lengths[-1]} values: each needs one value, "
            "or a 1 among as many zeros"
        )
    (length,) = lengths
    kinds = {type(label) for label in labels}
    if len(kinds) > 1:
        raise DataError(
            f"the labels of {root} are numbers in some files and texts in others: give them as "
            "data=FOLDER,FOLDER"
        )
    if kinds == {str}:
        names = classes.in_order(labels)
        own = names if classes.are_numbers(names) else None
        return Classes(names, {name: label for label, name in enumerate(names)}, own)
    different = set(lists.values())
    if len(different) > 1:
        some = " and ".join(sorted(lists)[:_MOST_NAMED])
        raise DataError(
            f"the sources in {root} have different lists of classes ({some}): give each as a "
            "source of its own, data=FOLDER,FOLDER, so that classes are matched by name"
        )
    if different:
        names = list(next(iter(different)))
        if length not in (1, len(names)):
            raise DataError(
                f"{root} has labels of {length} values, and its list names {len(names)} classes: "
                "correct the list"
            )
        return Classes(names, {label: label for label in range(len(names))})
    texts = _texts(surveyed)
    if length > 1:
        texts = {}
        labels = set(range(length))
    order = sorted(labels)
    position = {label: place for place, label in enumerate(order)}
    numbers = [str(label) for label in order]
    names = [texts[label] for label in order] if texts else numbers
    return Classes(names, position, numbers)


def _texts(surveyed: Sequence[Survey]) -> dict[int, str]:
    """{label: name} if the records name their classes beside the labels, one name for each."""
    pairs = {pair for survey in surveyed for pair in zip(survey.labels, survey.texts, strict=False)}
    texts = dict(pairs)
    labels = {label for survey in surveyed for label in survey.labels}
    one_each = len(pairs) == len(texts) == len(set(texts.values())) == len(labels)
    if not one_each or not all(texts.values()):
        return {}
    return texts
