"""Records of other layouts and schemas, converted once to the competition's format.

Everything after this module reads one layout and one schema: see `petals.data.shards`. A file that
already has the schema is linked instead of copied.

    converted            finds or writes the converted folder
      _survey            reads every record without its image: names, labels, ids, counts
      _class_names       from the dataset's own list, from texts, or from numbers
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
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from PIL import Image

from petals import storage
from petals.data import classes, photo_files, schema, shards
from petals.data.layout import RecordFile, nearest_size
from petals.data.photo_files import PhotoError
from petals.data.schema import Schema
from petals.errors import DataError
from petals.progress import ShowProgress

VERSION = 3  # part of every key: raise it when the conversion changes
NOTES = "notes.json"
NAME_LISTS = ("labels.txt", "label.labels.txt", "classes.txt")  # of TF-Slim, TFDS and others
_MAYBE_DEEP = ("a PNG", "a TIFF", "a TIFF with big-endian numbers")  # formats of 16 bits a value
_AT_ONCE = 256  # images in memory
_MOST_NAMED = 5
_ONE_OF = re.compile(r"(.*)-(\d+)-of-(\d+)$")  # as TFDS and TF-Slim name a set of files
_SIZE_AND_COUNT = re.compile(r"[-_]?(\d+)x\1|-\d+(?=\.)")


@dataclass
class _Survey:
    """A record file and what its records say: a label and an id for each."""

    file: RecordFile
    compression: str
    schema: Schema
    labels: list[Any] = field(default_factory=list)  # int or str; None in the test split
    lengths: set[int] = field(default_factory=set)  # of labels: more than 1 where they are one-hot
    texts: list[str] = field(default_factory=list)  # names of classes beside labels
    ids: list[str] = field(default_factory=list)
    peaks: list[tuple[str, float]] = field(default_factory=list)  # of images with 16 bits a value
    standard: bool = True  # whether every record can be read as it is


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


def has_schema(file: RecordFile) -> bool:
    """Whether the first record of a file has the schema that `petals.data.shards` reads.

    It is read without TensorFlow's dataset, which takes 20 ms to begin with a file.
    """
    with tf.io.gfile.GFile(file.path, "rb") as opened:
        header = opened.read(shards.HEADER.size)
        if len(header) < shards.HEADER.size:
            return False
        length, _ = shards.HEADER.unpack(header)
        if length > opened.size():  # of a compressed file, for one
            return False
        data = opened.read(length)
    try:
        return _is_standard(schema.parse(data), file.split)
    except DataError:
        return False


def _is_standard(record: tf.train.Example, split: str) -> bool:
    kinds = schema.feature_kinds(record)
    wanted = {"image": "bytes_list", "id": "bytes_list"}
    if split != "test":
        wanted["class"] = "int64_list"
    if any(kinds.get(name) != kind for name, kind in wanted.items()):
        return False
    single = all(len(schema.values(record, name)) == 1 for name in wanted)
    return single and shards.is_decoded(schema.values(record, "image")[0])


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
    lists = _lists_of_names(root, files)
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
        surveyed.append(_survey(file, columns))
        if progress:
            progress("reading files", number + 1, len(files))
    names, position, numbered = _class_names(root, surveyed, lists)
    for survey in surveyed:
        wrong = next((label for label in survey.labels if label not in position), None)
        if wrong is not None:
            present = {label for own in surveyed for label in own.labels}
            begins = ""
            if min(present) == 1 and max(present) == len(names):
                begins = ". The labels begin with 1 and the list with 0: add a first name to it"
            raise DataError(
                f"{survey.file.path}: the label {wrong!r} is none of the {len(names)} classes of "
                f"{root}: correct its list of classes{begins}"
            )
    lines = _lines(root, surveyed, size, names, numbered)
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
    if numbered:  # a submission holds the numbers that the records hold
        storage.write_json(folder / classes.SUBMISSION, {"label": "name"})
    storage.write_json(folder / NOTES, lines)


def _survey(file: RecordFile, columns: Mapping[str, str]) -> _Survey:
    """What the records of a file say, without their images."""
    kind = schema.compression(file.path)
    result = None
    labelled = file.split != "test"
    for number, record in enumerate(schema.records(file.path, kind)):
        try:
            if result is None:
                result = _Survey(file, kind, Schema.of(record, columns), standard=not kind)
            _add(result, record, labelled)
        except DataError as error:
            raise DataError(f"{file.path}: record {number}: {error}") from None
    if result is None:
        raise DataError(f"{file.path} holds no records")
    return result


def _add(result: _Survey, record: tf.train.Example, labelled: bool) -> None:
    columns = result.schema
    image = _single(record, columns.image, "image")
    if photo_files.format_of(image) in _MAYBE_DEEP:
        result.peaks.append(photo_files.peak(io.BytesIO(image)))
    if labelled:
        if not columns.label:
            raise DataError(
                f"nothing that looks like a label; it has {schema.describe(record)}. Name it: "
                "data=…?class=NAME"
            )
        result.labels.append(_label_of(record, columns.label))
        result.lengths.add(len(schema.values(record, columns.label)))
        if columns.text:
            result.texts.append(_as_text(_single(record, columns.text, "the name of a class")))
    id_ = schema.values(record, columns.id) if columns.id else []
    result.ids.append(_as_text(id_[0]) if len(id_) == 1 else "")
    result.standard = result.standard and _is_standard(record, result.file.split)


def _label_of(record: tf.train.Example, name: str) -> int | str:
    """The label of a record: the feature's only value, or the place of the 1 among zeros."""
    own = schema.values(record, name)
    if len(own) < 2 or any(value not in (0, 1) for value in own):
        return _as_label(_single(record, name, "class"))
    if own.count(1) != 1:
        raise DataError(
            f"{name} holds {len(own)} values, {own.count(1)} of which are 1: a photo needs one "
            "class, and those of several classes cannot be learnt here"
        )
    return own.index(1)


def _single(record: tf.train.Example, name: str, what: str) -> Any:
    own = schema.values(record, name)
    if len(own) == 1:
        return own[0]
    held = "no value" if not own else f"{len(own)} values"
    raise DataError(
        f"{name} holds {held} where one is needed as {what}; it has {schema.describe(record)}"
    )


def _as_text(value: Any) -> str:
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)


def _as_label(value: Any) -> int | str:
    if isinstance(value, float):
        if not value.is_integer():
            raise DataError(f"the label is {value}, which is not a class")
        return int(value)
    if isinstance(value, int) and value < 0:
        raise DataError(f"the label is {value}, which is not a class")
    return classes.normalised(_as_text(value)) if isinstance(value, bytes) else value


def _lists_of_names(root: str, files: Sequence[RecordFile]) -> dict[str, tuple[str, ...]]:
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


def _class_names(
    root: str, surveyed: Sequence[_Survey], lists: Mapping[str, tuple[str, ...]]
) -> tuple[list[str], dict[Any, int], bool]:
    """The classes in label order, {label in the records: label}, and whether they are numbers."""
    labels = {label for survey in surveyed for label in survey.labels}
    if not labels:
        raise DataError(f"{root} holds no labelled photos: all its record files are of test")
    if not any(survey.labels for survey in surveyed if survey.file.split == "train"):
        raise DataError(f"{root} holds no photos to train on: its record files are of val and test")
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
        return names, {name: label for label, name in enumerate(names)}, False
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
        return names, {label: label for label in range(len(names))}, False
    texts = _texts(surveyed)
    if length > 1:
        texts = {}
        labels = set(range(length))
    order = sorted(labels)
    position = {label: place for place, label in enumerate(order)}
    if texts:
        return [texts[label] for label in order], position, False
    return [str(label) for label in order], position, True


def _texts(surveyed: Sequence[_Survey]) -> dict[int, str]:
    """{label: name} if the records name their classes beside the labels, one name for each."""
    pairs = {pair for survey in surveyed for pair in zip(survey.labels, survey.texts, strict=False)}
    texts = dict(pairs)
    labels = {label for survey in surveyed for label in survey.labels}
    one_each = len(pairs) == len(texts) == len(set(texts.values())) == len(labels)
    if not one_each or not all(texts.values()):
        return {}
    return texts


def _lines(
    root: str, surveyed: Sequence[_Survey], size: int, names: Sequence[str], numbered: bool
) -> list[str]:
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
    if numbered:
        lines.append(
            f"{root} names no classes: they are called by their numbers, {names[0]} to {names[-1]}"
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


def _number_ids(root: str, surveyed: Sequence[_Survey], lines: list[str]) -> None:
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
    survey: _Survey,
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
    survey: _Survey,
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
