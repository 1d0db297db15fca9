"""Where record files lie in a folder, and of which split, size and source each of them is.

The competition's layout is `tfrecords-jpeg-SxS/{train,val,test}/NN-SxS-COUNT.tfrec`. People share
others: several sources with such folders side by side, folders of splits without sizes, one folder
of files that are named after their splits.
"""

import re
from dataclasses import dataclass

import tensorflow as tf

from petals.junk import is_junk

DEPTH = 6  # folders below the root that are searched
SPLIT_WORDS = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("val", "valid", "validation", "dev", "eval"), "val"),
    **dict.fromkeys(("test", "testing"), "test"),
}
# What stands beside such a word and says nothing of what the photos show: train_images, seg_test.
_PLAIN_WORDS = {
    "image",
    "images",
    "img",
    "imgs",
    "photo",
    "photos",
    "picture",
    "pictures",
    "jpg",
    "jpeg",
    "png",
    "files",
    "folder",
    "set",
    "sets",
    "data",
    "dataset",
    "resized",
    "small",
    "seg",
    "stage",
    "tfrec",
    "tfrecord",
    "tfrecords",
    "records",
}
# Of folders whose files belong to other photos.
_COMPANIONS = {"mask", "masks", "annotation", "annotations", "label", "labels", "segmentations"}
SIZE_FOLDER = re.compile(r"tfrecords-jpeg-(\d+)x\1(-.*)?$")
# a.tfrec, a.tfrecord.gz, a.tfrecord-00000-of-00002 (TFDS), train-00000-of-01024 (ImageNet)
_RECORDS = re.compile(r"\.(tfrec|tfrecords?)(\.gz)?(-\d+-of-\d+)?$|^\w+-\d+-of-\d+$")
_SIZE_IN_NAME = re.compile(r"(?:^|[-_])(\d+)x\1(?=[-_.])")


def split_of(name: str) -> str:
    """The split that a folder's name stands for, as train, Training_set, test1 and images-val do.

    "" for a name with other words in it, such as `train station`.
    """
    words = re.findall(r"[^\W\d_]+", name.lower())
    splits = {SPLIT_WORDS[word] for word in words if word in SPLIT_WORDS}
    others = [word for word in words if word not in SPLIT_WORDS and word not in _PLAIN_WORDS]
    return splits.pop() if len(splits) == 1 and not others else ""


def names_no_class(name: str) -> bool:
    """Whether a folder's name tells a kind of files, as images, masks and jpg do."""
    words = re.findall(r"[^\W\d_]+", name.lower())
    return bool(words) and all(word in _PLAIN_WORDS | _COMPANIONS for word in words)


@dataclass(frozen=True)
class RecordFile:
    """A file of records.

    path    the file
    split   train, val or test, as its folders or else its name say; train if neither does
    size    the side of its images in pixels, as its folders or its name say; 0 if neither does
    source  the folder below the root that holds the folders of sizes and splits; "" for the root
    """

    path: str
    split: str
    size: int
    source: str = ""


def record_files(root: str) -> list[RecordFile]:
    """The record files below `root`, sorted.

    If `root` itself has folders of sizes, only files in them count.
    """
    root = root.rstrip("/")
    paths = sorted(_below(root))
    files = [_record_file(root, path) for path in paths]
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
    if not size and (match := _SIZE_IN_NAME.search(name)):
        size = int(match[1])
    if not split:
        words = re.findall("[a-z]+", name.lower())
        split = next((SPLIT_WORDS[word] for word in words if word in SPLIT_WORDS), "train")
    return RecordFile(path, split, size, "/".join(source))


def nearest_size(sizes: set[int], wanted: int) -> int:
    """The smallest size that is not below the wanted one, or else the largest."""
    return min((size for size in sizes if size >= wanted), default=max(sizes))
