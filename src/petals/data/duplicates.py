"""Photos that occur twice: the same bytes, or the same picture stored another way.

A validation image that is in the training set too makes the score look better than it is, and
the network cannot learn a photo that has two labels.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from os import cpu_count
from typing import Any

import numpy as np
from PIL import Image

from petals.data import tfrecords
from petals.data.splits import Split
from petals.errors import SettingError

BITS = 64
THUMBNAIL = (18, 16)  # columns, rows: half of each gives the 9 x 8 greys that a hash compares
ALIKE = 12.0  # mean difference of two thumbnails' channel values, out of 255, at most
MOST_PAIRS = 20_000
_CHUNK = 512

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Fingerprints:
    """Hashes and thumbnails of n images, from which twins are found.

    splits, ids and digests (n,) str; positions in the split and labels (n,) int64, where -1
    stands for no label; sizes (n,) int64 JPEG bytes; hashes bool (n, 64); thumbnails uint8
    (n, 16, 18, 3).
    """

    splits: np.ndarray
    positions: np.ndarray
    ids: np.ndarray
    labels: np.ndarray
    digests: np.ndarray
    sizes: np.ndarray
    hashes: np.ndarray
    thumbnails: np.ndarray

    @classmethod
    def of(cls, splits: Mapping[str, Split], progress: Progress | None = None) -> Fingerprints:
        """Read every image of the splits; raises `DataError` that names a damaged file.

        An image that does not decode has a black thumbnail; `petals.data.inspection` finds those.
        """
        rows: list[tuple[Any, ...]] = []
        total = sum(split.count for split in splits.values())
        with ThreadPoolExecutor(cpu_count()) as pool:
            for name, split in splits.items():
                numbered = enumerate(islice(_examples(split), split.count))
                while group := list(islice(numbered, _CHUNK)):
                    rows += pool.map(lambda pair, name=name: _row(name, *pair), group)
                    if progress:
                        progress("comparing photos", len(rows), total)
        columns = [np.array(column) for column in zip(*rows, strict=True)]
        return cls(*columns[:-1], _hashes(columns[-1]), columns[-1])  # type: ignore[call-arg]

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class Pair:
    """Two images that look alike: positions in the fingerprints, and how alike they are."""

    first: int
    second: int
    same_bytes: bool
    distance: int  # of the hashes' 64 bits, how many differ


def _examples(split: Split) -> Iterator[tfrecords.Example]:
    for path in split.paths:
        yield from tfrecords.read_shard(path)


def _row(split: str, position: int, example: tfrecords.Example) -> tuple:
    digest = hashlib.blake2b(example.image, digest_size=12).hexdigest()
    label = -1 if example.label is None else example.label
    size = len(example.image)
    return split, position, example.id, label, digest, size, _thumbnail(example.image)


def _thumbnail(jpeg: bytes) -> np.ndarray:
    try:
        with Image.open(io.BytesIO(jpeg)) as image:
            image.draft("RGB", (64, 64))  # lets libjpeg decode at down to an eighth of the size
            small = image.convert("RGB").resize(THUMBNAIL, Image.Resampling.BOX)
    except Exception:  # Pillow's decoders raise several kinds
        return np.zeros((*THUMBNAIL[::-1], 3), np.uint8)
    return np.asarray(small, np.uint8)


def _hashes(thumbnails: np.ndarray) -> np.ndarray:
    """bool (n, 64): is each of 8 x 8 greys brighter than its right neighbour?

    The "difference hash", which survives scaling, compression and changes of brightness.
    """
    grey = thumbnails.astype(np.float32).mean(axis=3)
    n, rows, columns = grey.shape
    small = grey.reshape(n, rows // 2, 2, columns // 2, 2).mean(axis=(2, 4))
    return (small[:, :, :-1] > small[:, :, 1:]).reshape(n, BITS)


def find_pairs(prints: Fingerprints, near: int = 5) -> list[Pair]:
    """All pairs with the same bytes or hashes that differ in at most `near` bits, nearest first.

    Images with near hashes are a pair only if their thumbnails agree too. The search ends at
    20,000 pairs. Raises `SettingError` for `near` outside 0 to 16: beyond 16 bits the hashes of
    any two pictures begin to agree.
    """
    if not 0 <= near <= 16:
        raise SettingError(f"near {near}: between 0 and 16 of a hash's {BITS} bits")
    # With +1 and -1 for the bits, one matrix product gives all distances.
    signs = np.where(prints.hashes, np.float32(1), np.float32(-1))
    pairs: list[Pair] = []
    for begin in range(0, len(prints), _CHUNK):
        distances = (BITS - signs[begin : begin + _CHUNK] @ signs[begin:].T) / 2
        firsts, seconds = np.nonzero(np.triu(distances <= near, k=1))
        for i, j in zip(firsts[:MOST_PAIRS], seconds[:MOST_PAIRS], strict=True):
            first, second = begin + int(i), begin + int(j)
            same = bool(prints.digests[first] == prints.digests[second])
            if same or _alike(prints.thumbnails[first], prints.thumbnails[second]):
                pairs.append(Pair(first, second, same, int(distances[i, j])))
        if len(pairs) >= MOST_PAIRS:
            break
    return sorted(pairs, key=lambda p: (not p.same_bytes, p.distance))[:MOST_PAIRS]


def twins_of(prints: Fingerprints, others: Fingerprints, near: int = 5) -> np.ndarray:
    """int64 (n,): for each image the position of its nearest twin among the others, -1 for none.

    A twin has the same bytes, or a hash that differs in at most `near` bits and a thumbnail that
    agrees, as it is or mirrored. Each image has its answer, however many twins there are.
    """
    same = {digest: place for place, digest in enumerate(others.digests.tolist())}
    found = np.array([same.get(digest, -1) for digest in prints.digests.tolist()], np.int64)
    for thumbnails in (prints.thumbnails, prints.thumbnails[:, :, ::-1]):  # and its mirror image
        left = np.flatnonzero(found < 0)
        found[left] = _nearest(thumbnails[left], others, near)
    return found


def _nearest(thumbnails: np.ndarray, others: Fingerprints, near: int) -> np.ndarray:
    found = np.full(len(thumbnails), -1, np.int64)
    hashes = _hashes(thumbnails)
    signs = np.where(others.hashes, np.float32(1), np.float32(-1))
    for begin in range(0, len(thumbnails), _CHUNK):
        own = np.where(hashes[begin : begin + _CHUNK], np.float32(1), np.float32(-1))
        distances = (BITS - own @ signs.T) / 2
        for row in range(len(own)):
            close = np.flatnonzero(distances[row] <= near)
            for place in close[np.argsort(distances[row][close], kind="stable")]:
                if _alike(thumbnails[begin + row], others.thumbnails[place]):
                    found[begin + row] = place
                    break
    return found


def _alike(one: np.ndarray, other: np.ndarray) -> bool:
    return float(np.abs(one.astype(np.int16) - other.astype(np.int16)).mean()) <= ALIKE


def across(prints: Fingerprints, pairs: list[Pair]) -> list[Pair]:
    """The pairs whose images lie in two different splits."""
    return [pair for pair in pairs if prints.splits[pair.first] != prints.splits[pair.second]]


def summary(prints: Fingerprints, pairs: list[Pair]) -> list[dict[str, object]]:
    """For each two splits: pairs with the same bytes, near pairs, and pairs with two labels."""
    counts: dict[tuple[str, str], list[int]] = {}
    for pair in pairs:
        key = (str(prints.splits[pair.first]), str(prints.splits[pair.second]))
        row = counts.setdefault(key, [0, 0, 0])
        row[0 if pair.same_bytes else 1] += 1
        row[2] += disagree(prints, pair)
    return [
        {
            "splits": one if one == other else f"{one} and {other}",
            "same bytes": row[0],
            "nearly the same": row[1],
            "under two labels": row[2],
        }
        for (one, other), row in sorted(counts.items())
    ]


def disagree(prints: Fingerprints, pair: Pair) -> bool:
    """Whether the two images have different labels; False where an image has no label."""
    one, other = prints.labels[pair.first], prints.labels[pair.second]
    return bool(one != other and min(one, other) >= 0)
