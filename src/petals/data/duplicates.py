"""Find duplicate photos: the same bytes, or the same picture stored differently.

A validation image that is also in the training set inflates the score, and the network cannot learn
a photo that has two labels.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain, islice
from os import cpu_count
from typing import Any

import numpy as np
from PIL import Image

from petals.data import tfrecords
from petals.data.shards import Split
from petals.errors import SettingError
from petals.progress import ShowProgress

BITS = 64
THUMBNAIL = (18, 16)  # columns, rows: halved, these are the 9 x 8 grey values that a hash compares
NEAR = 5  # of these bits differ at most between twins
ALIKE = 12.0  # largest mean difference of two thumbnails' channel values, out of 255
MOST_PAIRS = 20_000
_CHUNK = 512


@dataclass(frozen=True)
class Fingerprints:
    """Hashes and thumbnails of n images, to find twins.

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
    def of(cls, splits: Mapping[str, Split], progress: ShowProgress | None = None) -> Fingerprints:
        """Read every image of the splits; raises `DataError` that names a damaged file.

        An image that does not decode has a black thumbnail; `petals.data.inspection` finds those.
        """
        rows: list[tuple[Any, ...]] = []
        total = sum(split.count for split in splits.values())
        with ThreadPoolExecutor(cpu_count()) as pool:
            for name, split in splits.items():
                examples = chain.from_iterable(map(tfrecords.read_shard, split.paths))
                numbered = enumerate(islice(examples, split.count))
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
    distance: int  # the number of differing bits of the 64-bit hashes


def _row(split: str, position: int, example: tfrecords.Example) -> tuple:
    digest = hashlib.blake2b(example.image, digest_size=12).hexdigest()
    label = -1 if example.label is None else example.label
    size = len(example.image)
    return split, position, example.id, label, digest, size, _thumbnail(example.image)


def _thumbnail(jpeg: bytes) -> np.ndarray:
    try:
        with Image.open(io.BytesIO(jpeg)) as image:
            image.draft("RGB", (64, 64))  # libjpeg decodes at as little as an eighth of the size
            small = image.convert("RGB").resize(THUMBNAIL, Image.Resampling.BOX)
    except Exception:  # Pillow's decoders raise several kinds
        return np.zeros((*THUMBNAIL[::-1], 3), np.uint8)
    return np.asarray(small, np.uint8)


def _hashes(thumbnails: np.ndarray) -> np.ndarray:
    """bool (n, 64): whether each of 8 x 8 grey values is brighter than its right neighbour.

    The "difference hash", which survives scaling, compression and changes of brightness.
    """
    grey = thumbnails.astype(np.float32).mean(axis=3)
    n, rows, columns = grey.shape
    small = grey.reshape(n, rows // 2, 2, columns // 2, 2).mean(axis=(2, 4))
    return (small[:, :, :-1] > small[:, :, 1:]).reshape(n, BITS)


def find_pairs(prints: Fingerprints, near: int = NEAR) -> list[Pair]:
    """All pairs with the same bytes or hashes that differ in at most `near` bits, nearest first.

    Images with similar hashes are a pair only if their thumbnails are similar, too. The search ends
    at 20,000 pairs. Raises `SettingError` for `near` outside 0 to 16: beyond 16 bits, unrelated
    pictures begin to match.
    """
    if not 0 <= near <= 16:
        raise SettingError(f"near {near}: between 0 and 16 of a hash's {BITS} bits")
    pairs: list[Pair] = []
    for first, close in enumerate(_near(prints.hashes, prints.hashes, near)):
        for second in close[close > first].tolist():
            same = bool(prints.digests[first] == prints.digests[second])
            if same or _alike(prints.thumbnails[first], prints.thumbnails[second]):
                distance = int((prints.hashes[first] != prints.hashes[second]).sum())
                pairs.append(Pair(first, second, same, distance))
        if len(pairs) >= MOST_PAIRS:
            break
    return sorted(pairs, key=lambda pair: (not pair.same_bytes, pair.distance))[:MOST_PAIRS]


def twins_of(prints: Fingerprints, others: Fingerprints) -> np.ndarray:
    """int64 (n,): for each image the position of its nearest twin among the others, -1 for none.

    A twin has the same bytes, or a hash that differs in at most `NEAR` bits and a similar
    thumbnail, mirrored or not. Unlike `find_pairs`, this has no limit on the number of twins.
    """
    same = {digest: place for place, digest in enumerate(others.digests.tolist())}
    twins = np.array([same.get(digest, -1) for digest in prints.digests.tolist()], np.int64)
    for thumbnails in (prints.thumbnails, prints.thumbnails[:, :, ::-1]):  # and its mirror image
        rest = np.flatnonzero(twins < 0)
        places = _near(_hashes(thumbnails[rest]), others.hashes, NEAR)
        for image, close in zip(rest, places, strict=True):
            alike = (n for n in close if _alike(thumbnails[image], others.thumbnails[n]))
            twins[image] = next(alike, -1)
    return twins


def _near(hashes: np.ndarray, others: np.ndarray, near: int) -> Iterator[np.ndarray]:
    """For each hash the positions of the others within `near` bits, nearest first."""
    # With bits as +1 and -1, one matrix product gives all distances.
    signs, other_signs = (2 * bits.astype(np.float32) - 1 for bits in (hashes, others))
    for begin in range(0, len(hashes), _CHUNK):
        for distances in (BITS - signs[begin : begin + _CHUNK] @ other_signs.T) / 2:
            close = np.flatnonzero(distances <= near)
            yield close[np.argsort(distances[close], kind="stable")]


def _alike(first: np.ndarray, second: np.ndarray) -> bool:
    return float(np.abs(first.astype(np.int16) - second.astype(np.int16)).mean()) <= ALIKE


def across(prints: Fingerprints, pairs: list[Pair]) -> list[Pair]:
    """The pairs whose images are in different splits."""
    return [pair for pair in pairs if prints.splits[pair.first] != prints.splits[pair.second]]


def summary(prints: Fingerprints, pairs: list[Pair]) -> list[dict[str, Any]]:
    """For any two splits: pairs with the same bytes, similar pairs, and pairs with two labels."""
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for pair in pairs:
        first, second = str(prints.splits[pair.first]), str(prints.splits[pair.second])
        title = {"splits": first if first == second else f"{first} and {second}"}
        none = dict.fromkeys(("same bytes", "nearly the same", "under two labels"), 0)
        row = rows.setdefault((first, second), {**title, **none})
        row["same bytes" if pair.same_bytes else "nearly the same"] += 1
        row["under two labels"] += disagree(prints, pair)
    return [rows[key] for key in sorted(rows)]


def disagree(prints: Fingerprints, pair: Pair) -> bool:
    """Whether the two images have different labels; False if an image has no label."""
    first, second = prints.labels[pair.first], prints.labels[pair.second]
    return bool(first != second and min(first, second) >= 0)
