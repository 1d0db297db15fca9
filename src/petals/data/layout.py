"""Where record files lie in a folder, and of which split, size and source each of them is.

The competition's layout is `tfrecords-jpeg-SxS/{train,val,test}/NN-SxS-COUNT.tfrec`. Without such
folders, a file is of the split that its folders name, or else its own name, and otherwise of train.
Several sources may lie side by side, each in a folder of its own.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import tensorflow as tf

from petals.junk import is_junk

DEPTH = 6  # folders below the root that are searched
# What folders of splits are called, in any case; beside each further word two public data sets.
SPLIT_WORDS = {
    "train": "train",
    "training": "train",  # Brain Tumor MRI, Fruits 360
    "val": "val",
    "valid": "val",  # Sports Classification, 70 Dog Breeds
    "validation": "val",  # cats_and_dogs_filtered, the files of TFDS
    "test": "test",
    "testing": "test",  # Brain Tumor MRI, Brain Tumor Classification
}
SIZE_FOLDER = re.compile(r"tfrecords-jpeg-(\d+)x\1(-.*)?$")
# a.tfrec, a.tfrecord and a.tfrecord-00000-of-00002; a compressed one is found to be refused
_RECORDS = re.compile(r"\.(tfrec|tfrecords?)(\.gz)?(-\d+-of-\d+)?$")


def split_of(folder: str) -> str:
    """The split that a folder is called like, in any case: train, valid, Testing; "" for others."""
    return SPLIT_WORDS.get(folder.lower(), "")


@dataclass(frozen=True)
class RecordFile:
    """A file of records.

    path    the file
    split   train, val or test, as its folders or else its name say; train if neither does
    size    the side of its images in pixels, as its folders say; 0 if they do not
    source  the folder below the root that holds the folders of sizes and splits; "" for the root
    """

    path: str
    split: str
    size: int
    source: str = ""


def sizes(root: str | Path) -> list[int]:
    """The image sizes that folders in `root` are named for, ascending."""
    if not tf.io.gfile.isdir(str(root)):
        return []
    names = [name.rstrip("/") for name in tf.io.gfile.listdir(str(root))]  # of a bucket, with /
    return sorted({int(match[1]) for match in map(SIZE_FOLDER.match, names) if match})


def record_files(root: str) -> list[RecordFile]:
    """The record files below `root`, sorted.

    If `root` itself has folders of sizes, only files in them count.
    """
    root = root.rstrip("/")
    files = [_record_file(root, path) for path in sorted(_below(root))]
    own = [file for file in files if SIZE_FOLDER.match(file.path[len(root) + 1 :].split("/")[0])]
    return own or files


def _below(root: str) -> list[str]:
    """The record files at most `DEPTH` folders below `root`, without those in junk folders."""
    paths = []
    for place, folders, names in tf.io.gfile.walk(root):
        place = place.rstrip("/")
        deep = place[len(root) :].count("/") >= DEPTH
        # `walk` goes on with what is left in the list.
        folders[:] = [] if deep else [name for name in folders if not is_junk(name.rstrip("/"))]
        paths += [
            f"{place}/{name}" for name in names if _RECORDS.search(name) and not is_junk(name)
        ]
    return paths


def _record_file(root: str, path: str) -> RecordFile:
    *folders, name = path[len(root) + 1 :].split("/")
    split = ""
    size = 0
    source = []
    for folder in folders:
        if match := SIZE_FOLDER.match(folder):
            size = int(match[1])
        elif split_of(folder):
            split = split_of(folder)
        else:
            source.append(folder)
    if not split:
        # As in train00-2071.tfrec of SIIM-ISIC and ld_test00-1.tfrec of Cassava.
        words = re.findall("[a-z]+", name.lower())
        split = next((SPLIT_WORDS[word] for word in words if word in SPLIT_WORDS), "train")
    return RecordFile(path, split, size, "/".join(source))


def chosen(files: Iterable[RecordFile], size: int) -> tuple[Sequence[RecordFile], int]:
    """The files from which images of `size` pixels are made, and the side of their images.

    In each source the smallest that are not smaller, or else the largest; files that declare no
    size are always read. The side is 0 if it is not known, or not the same in all of them.
    """
    files = list(files)
    sizes: dict[str, set[int]] = {}
    for file in files:
        if file.size:
            sizes.setdefault(file.source, set()).add(file.size)
    best = {source: nearest_size(own, size) for source, own in sizes.items()}
    read = [file for file in files if not file.size or file.size == best[file.source]]
    sides = {file.size for file in read}
    return read, sides.pop() if len(sides) == 1 else 0


def nearest_size(sizes: set[int], wanted: int) -> int:
    """The smallest size that is not below the wanted one, or else the largest."""
    return min((size for size in sizes if size >= wanted), default=max(sizes))
