"""Records of other layouts and schemas, converted once to the competition's format.

Everything after this module reads one layout and one schema: see `petals.data.shards`. A file that
already has the schema is linked instead of copied.

    converted            finds or writes the converted folder
      survey_records     reads every record without its image: names, labels, ids, counts
      class_names        from the dataset's own list, from texts, or from numbers
      _write             writes the shards, classes.json, and what there is to say
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from PIL import Image

from petals import storage
from petals.data import classes, photo_files, schema, shards
from petals.data.class_lists import Classes, classes_of, lists_of_names
from petals.data.layout import RecordFile, nearest_size
from petals.data.photo_files import PhotoError
from petals.data.record_survey import Survey, survey_records
from petals.errors import DataError
from petals.progress import ShowProgress

VERSION = 4  # part of every key: raise it when the conversion changes
NOTES = "notes.json"
_AT_ONCE = 256  # images in memory
_ONE_OF = re.compile(r"(.*)-(\d+)-of-(\d+)$")  # as TFDS and TF-Slim name a set of files
_SIZE_AND_COUNT = re.compile(r"[-_]?(\d+)x\1|-\d+(?=\.)")


def chosen(files: Sequence[RecordFile], size: int) -> list[RecordFile]:
    """The files of the size to read: in each source the smallest that is not smaller.

    Files that declare no size are always read.
    """
    sizes: dict[str, set[int]] = {}
    for file in files:
        if file.size:
            sizes.setdefault(file.source, set()).add(file.size)
    wanted = {source: nearest_size(own, size) for source, own in sizes.items()}
    return [file for file in files if not file.size or file.size == wanted[file.source]]


def converted(
    root: str,
    files: Sequence[RecordFile],
    size: int,
    columns: Mapping[str, str],
    cache: Path,
    progress: ShowProgress | None = None,
) -> Path:
    """A folder below `cache` with the records of `files` in the competition's format.

    `size`: the side of the images in pixels; photos of other shapes are cut to their middle square.
    `columns`: {"image" | "class" | "id": name of the feature}, what is missing is guessed. The
    folder has a `classes.json`, and `NOTES`: lines that say what was read and how.

    Raises `DataError`, in one line, for what cannot be read: no TFRecords, a damaged record, no
    image or label, several labels in one record, other classes in one source than in another.
    """
    lists = lists_of_names(root, files)
    contents = [(file.path, *_state(file.path)) for file in files]
    key = repr((VERSION, size, sorted(columns.items()), contents, lists))
    folder = cache / "converted" / hashlib.blake2b(key.encode(), digest_size=12).hexdigest()
    write = partial(
        _write, root=root, files=files, size=size, columns=columns, lists=lists, progress=progress
    )
    storage.write_once(folder, write)
    return folder


def _state(path: str) -> tuple[int, int]:
    """The length of a file, and when it was written, in nanoseconds."""
    if "://" not in path:
        local = Path(path).stat()
        return local.st_size, local.st_mtime_ns
    remote = tf.io.gfile.stat(path)  # which counts whole seconds
    return remote.length, remote.mtime_nsec


def notes(folder: Path) -> list[str]:
    """What there is to say about a converted folder, one line for each thing."""
    return json.loads((folder / NOTES).read_text("utf-8"))


def _write(
    folder: Path,
    *,
    root: str,
    files: Sequence[RecordFile],
    size: int,
    columns: Mapping[str, str],
    lists: Mapping[str, tuple[str, ...]],
    progress: ShowProgress | None,
) -> None:
    surveyed = []
    for number, file in enumerate(files):
        surveyed.append(survey_records(file, columns))
        if progress:
            progress("reading files", number + 1, len(files))
    found = classes_of(root, surveyed, lists)
    names, position = found.names, found.position
    _check_labels(root, surveyed, names, position)
    lines = _lines(root, surveyed, size, found)
    _number_ids(root, surveyed, lines)
    peaks = [peak for survey in surveyed for peak in survey.peaks]
    white = photo_files.white(peaks)
    lines += [f"{root}: {line}" for line in photo_files.said_of_white(peaks)]
    total = sum(len(survey.ids) for survey in surveyed)
    done = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for number, survey in enumerate(surveyed):
            if not survey.ids:
                continue
            name = shards.shard_name(number, size, len(survey.ids))
            path = Path(shards.folder(folder, size, survey.file.split)) / name
            same = all(position[label] == label for label in survey.labels)
            local = "://" not in survey.file.path
            if survey.standard and same and local and survey.file.size == size:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.symlink_to(Path(survey.file.path).resolve())
                done += len(survey.ids)
                continue
            images = _images(survey, size, white, pool, done, total, progress)
            labels = [position[label] for label in survey.labels]
            if survey.file.split == "test":
                labels = [shards.UNLABELLED] * len(survey.ids)
            examples = (
                shards.Example(image, id_, label)
                for image, id_, label in zip(images, survey.ids, labels, strict=True)
            )
            shards.write_shard(path, examples)
            done += len(survey.ids)
    storage.write_json(folder / classes.FILE_NAME, names)
    if found.submitted:
        storage.write_json(folder / classes.SUBMISSION, {"label": found.submitted})
    storage.write_json(folder / NOTES, lines)


def _check_labels(
    root: str, surveyed: Sequence[Survey], names: Sequence[str], position: Mapping[Any, int]
) -> None:
    """Raise `DataError` for a label that is none of the classes."""
    for survey in surveyed:
        wrong = next((label for label in survey.labels if label not in position), None)
        if wrong is None:
            continue
        present = {label for own in surveyed for label in own.labels}
        begins = ""
        if min(present) == 1 and max(present) == len(names):
            begins = ". The labels begin with 1 and the list with 0: add a first name to it"
        raise DataError(
            f"{survey.file.path}: the label {wrong!r} is not one of the {len(names)} classes of "
            f"{root}: correct its list of classes{begins}"
        )


def _lines(root: str, surveyed: Sequence[Survey], size: int, found: Classes) -> list[str]:
    """What there is to say about the files: how many photos each source has, and what was read."""
    counts = Counter[str]()
    for survey in surveyed:
        counts[survey.file.source] += len(survey.ids)
    lines = []
    if len(counts) > 1:
        named = {source or "itself": count for source, count in counts.items()}
        parts = ", ".join(f"{source} {count:,}" for source, count in named.items())
        lines.append(f"{root} has {len(counts)} sources, all of which are used: {parts} photos")
    for survey in surveyed:
        columns, compression = survey.schema, survey.compression
        pairs = {"image": columns.image, "class": columns.label, "id": columns.id}
        if survey.file.split == "test":
            pairs.pop("class")
        other = [f"{name} from {own}" for name, own in pairs.items() if own and own != name]
        if compression:
            other.append(f"compressed with {compression}")
        line = f"{root}: {', '.join(other)}"
        if other and line not in lines:
            lines.append(line)
        if columns.other_labels and survey.file.split != "test":
            choice = " or ".join(columns.other_labels)
            line = (
                f"{root}: {columns.label} is taken as the class; for {choice} write "
                f"data=…?class=NAME"
            )
            if line not in lines:
                lines.append(line)
    lines += _incomplete(root, [survey.file for survey in surveyed])
    own_sizes = sorted({survey.file.size for survey in surveyed} - {0, size})
    if own_sizes:
        lines.append(f"{root}: photos of {', '.join(map(str, own_sizes))} px resized to {size} px")
    if found.are_numbered:
        lines.append(
            f"{root} names no classes: they are called by their numbers, {found.names[0]} to "
            f"{found.names[-1]}"
        )
    return lines


def _incomplete(root: str, files: Sequence[RecordFile]) -> list[str]:
    """A line for each set of files, named as a-00000-of-00002, of which some are not there."""
    sets: dict[tuple[str, int], set[int]] = {}
    for file in files:
        match = _ONE_OF.match(file.path)
        if match:
            sets.setdefault((match[1], int(match[3])), set()).add(int(match[2]))
    return [
        f"{root}: {count - len(there):,} of the {count:,} files {path.rpartition('/')[2]}-…-of-"
        f"{count:05} are missing"
        for (path, count), there in sets.items()
        if len(there) < count
    ]


def _number_ids(root: str, surveyed: Sequence[Survey], lines: list[str]) -> None:
    """Give the photos ids of their own, in place of ids that are missing or not unique.

    An id is the file without its size and count, and the position in it: the same at every size.
    Ids of test photos stand in a submission, so the test split is looked at by itself.
    """
    for of_test in (False, True):
        part = [survey for survey in surveyed if (survey.file.split == "test") == of_test]
        given = [id_ for survey in part for id_ in survey.ids]
        if all(given) and len(set(given)) == len(given):
            continue
        for survey in part:
            path = survey.file.path[len(root.rstrip("/")) + 1 :]
            stem = re.sub(r"tfrecords-jpeg-(\d+)x\1[^/]*/", "", path)
            stem = _SIZE_AND_COUNT.sub("", stem)
            survey.ids = [f"{stem}:{number}" for number in range(len(survey.ids))]
            survey.standard = False
        why = "not unique" if all(given) else "missing"
        photos = "test photos" if of_test else "labelled photos"
        lines.append(f"{root}: the ids of {photos} are {why}: each gets its file and position")


def _images(
    survey: Survey,
    size: int,
    white: Mapping[str, float],
    pool: ThreadPoolExecutor,
    done: int,
    total: int,
    progress: ShowProgress | None,
) -> Iterator[bytes]:
    """The images of a file as JPEG, PNG or GIF of `size` pixels a side, in order."""
    numbered = enumerate(schema.records(survey.file.path, survey.compression))
    convert: Callable[..., bytes] = partial(_image, survey, size, white)
    while group := list(islice(numbered, _AT_ONCE)):
        yield from pool.map(convert, group)
        done += len(group)
        if progress:
            progress("converting photos", done, total)


def _image(
    survey: Survey,
    size: int,
    white: Mapping[str, float],
    numbered: tuple[int, tf.train.Example],
) -> bytes:
    number, record = numbered
    data = schema.values(record, survey.schema.image)[0]
    try:
        return as_square(data, size, partial(_pixels, record), white)
    except PhotoError as error:
        raise DataError(f"{survey.file.path}: record {number}: its image is {error}") from None


def as_square(
    data: bytes,
    size: int,
    pixels: Callable[[bytes], np.ndarray | None] = lambda data: None,
    white: Mapping[str, float] | None = None,
) -> bytes:
    """The image as it is, if it is a square of `size` that TensorFlow reads, else a JPEG of it.

    `pixels`: what an image is that no decoder knows; `white` as for `photo_files.squares`. Raises
    `PhotoError`.
    """
    try:
        with Image.open(io.BytesIO(data)) as image:
            kept = image.size == (size, size) and photo_files.is_plain(image)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        raw = pixels(data)
        if raw is None:
            kind = photo_files.format_of(data) or "of no known format"
            raise PhotoError(f"{kind}, which cannot be decoded") from None
        buffer = io.BytesIO()
        Image.fromarray(raw).save(buffer, "PNG")
        return as_square(buffer.getvalue(), size)
    if kept and shards.is_decoded(data):
        return data
    (square,) = photo_files.squares(io.BytesIO(data), [size], white)
    return photo_files.jpeg(square)


def _pixels(record: tf.train.Example, data: bytes) -> np.ndarray | None:
    """Raw pixels, uint8 (height, width) or (height, width, 3), if the record tells their shape."""
    shape = []
    for name in ("height", "width", "depth"):
        own = schema.values(record, name) or schema.values(record, f"image/{name}")
        if len(own) == 1 and isinstance(own[0], int):
            shape.append(own[0])
    if len(shape) < 2 or math.prod(shape) != len(data) or shape[2:] not in ([], [1], [3]):
        return None
    shape = [length for length in shape if length != 1]
    return np.frombuffer(data, np.uint8).reshape(shape)
