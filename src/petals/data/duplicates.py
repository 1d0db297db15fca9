"""Find duplicate photos: the same bytes, or the same picture stored differently.

A validation image that is also in the training set inflates the score, and the network cannot learn
a photo that has two labels.
"""

from __future__ import annotations

import hashlib
import io
import math
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from os import cpu_count
from typing import Any

import numpy as np
from PIL import Image

from petals.data.records import UNLABELLED, Example
from petals.data.shards import Split
from petals.progress import ShowProgress

BITS = 64
THUMBNAIL = (18, 16)  # columns, rows: halved, these are the 9 x 8 grey values that a hash compares
NEAR = 5  # of these bits differ at most between twins
ALIKE = 12.0  # largest mean difference of two thumbnails' channel values, out of 255
_CHUNK = 512


@dataclass(frozen=True)
class Fingerprints:
    """Digests and thumbnails of n images, to find twins.

    splits, ids and digests (n,) str; positions in the split and labels (n,) int64, where -1
    stands for no label; thumbnails uint8 (n, 16, 18, 3).
    """

    splits: np.ndarray
    positions: np.ndarray
    ids: np.ndarray
    labels: np.ndarray
    digests: np.ndarray
    thumbnails: np.ndarray

    @classmethod
    def of(cls, splits: Mapping[str, Split], progress: ShowProgress | None = None) -> Fingerprints:
        """Read every image of the splits; raises `DataError` that names a damaged file.

        An image that does not decode has noise as its thumbnail, made from its bytes, so that it
        is like those with the same bytes alone; `petals.data.inspection` finds such images.
        """
        rows: list[tuple[Any, ...]] = []
        total = sum(split.count for split in splits.values())
        with ThreadPoolExecutor(cpu_count()) as pool:
            for name, split in splits.items():
                numbered = enumerate(split.examples())
                while group := list(islice(numbered, _CHUNK)):
                    rows += pool.map(lambda pair, name=name: _row(name, *pair), group)
                    if progress:
                        progress("comparing photos", len(rows), total)
        return cls(*map(np.array, zip(*rows, strict=True)))

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class Pair:
    """Two images that look alike: their positions in the fingerprints, and their splits."""

    first: int
    second: int
    splits: tuple[str, str]
    same_bytes: bool
    disagree: bool  # they have different labels

    @property
    def across(self) -> bool:
        """Whether the images are in different splits."""
        return self.splits[0] != self.splits[1]


def _row(split: str, position: int, example: Example) -> tuple:
    digest = hashlib.blake2b(example.image, digest_size=12).hexdigest()
    return split, position, example.id, example.label, digest, _thumbnail(example.image)


def _thumbnail(jpeg: bytes) -> np.ndarray:
    try:
        with Image.open(io.BytesIO(jpeg)) as image:
            image.draft("RGB", (64, 64))  # libjpeg decodes at as little as an eighth of the size
            small = image.convert("RGB").resize(THUMBNAIL, Image.Resampling.BOX)
    except Exception:  # Pillow's decoders raise several kinds
        noise = hashlib.shake_128(jpeg).digest(3 * math.prod(THUMBNAIL))
        return np.frombuffer(noise, np.uint8).reshape(*THUMBNAIL[::-1], 3)
    return np.asarray(small, np.uint8)


def _hashes(thumbnails: np.ndarray) -> np.ndarray:
    """bool (n, 64): whether each of 8 x 8 grey values is brighter than its right neighbour.

    The "difference hash", which survives scaling, compression and changes of brightness.
    """
    grey = thumbnails.astype(np.float32).mean(axis=3)
    n, rows, columns = grey.shape
    small = grey.reshape(n, rows // 2, 2, columns // 2, 2).mean(axis=(2, 4))
    return (small[:, :, :-1] > small[:, :, 1:]).reshape(n, BITS)


def find_pairs(prints: Fingerprints) -> tuple[list[Pair], np.ndarray]:
    """Pairs with the same bytes, or with similar hashes and thumbnails, and the groups they form.

    The pairs join all images that look alike, with no more pairs than that takes: k copies of an
    image make k - 1 pairs. int64 (n,): the position of the first image of each one's group.
    """
    pairs = []
    group = np.arange(len(prints))
    splits = prints.splits.tolist()
    labels = prints.labels.tolist()
    for first, alike in enumerate(_alike(prints.thumbnails, prints.thumbnails)):
        for second in alike.tolist():
            if group[first] != group[second]:  # always a later image: earlier ones are joined
                low, high = sorted(group[[first, second]])
                group[group == high] = low
                same = bool(prints.digests[first] == prints.digests[second])
                low, high = sorted((labels[first], labels[second]))
                disagree = UNLABELLED < low < high
                pairs.append(Pair(first, second, (splits[first], splits[second]), same, disagree))
    return pairs, group


def twins_of(prints: Fingerprints, others: Fingerprints) -> np.ndarray:
    """int64 (n,): for each image the position of its nearest twin among the others, -1 for none.

    A twin has a hash that differs in at most `NEAR` bits and a similar thumbnail, mirrored or not.
    """
    twins = np.full(len(prints), -1)
    for thumbnails in (prints.thumbnails, prints.thumbnails[:, :, ::-1]):  # and its mirror image
        rest = np.flatnonzero(twins < 0)
        for image, alike in zip(rest, _alike(thumbnails[rest], others.thumbnails), strict=True):
            twins[image] = next(iter(alike), -1)
    return twins


def _alike(thumbnails: np.ndarray, others: np.ndarray) -> Iterator[np.ndarray]:
    """For each thumbnail the positions of the others that look like it, nearest hash first."""
    # With bits as +1 and -1, one matrix product gives all distances.
    signs, other_signs = (2 * _hashes(t).astype(np.float32) - 1 for t in (thumbnails, others))
    for begin in range(0, len(thumbnails), _CHUNK):
        rows = (BITS - signs[begin : begin + _CHUNK] @ other_signs.T) / 2
        for thumbnail, distances in zip(thumbnails[begin:], rows, strict=False):
            close = np.flatnonzero(distances <= NEAR)
            close = close[np.argsort(distances[close], kind="stable")]
            gaps = np.abs(others[close].astype(np.int16) - thumbnail).mean(axis=(1, 2, 3))
            yield close[gaps <= ALIKE]


def summary(pairs: list[Pair]) -> list[dict[str, Any]]:
    """For any two splits: pairs with the same bytes, similar pairs, and pairs with two labels."""
    rows = []
    for splits in sorted({pair.splits for pair in pairs}):
        own = [pair for pair in pairs if pair.splits == splits]
        same = sum(pair.same_bytes for pair in own)
        rows.append(
            {
                "splits": " and ".join(dict.fromkeys(splits)),
                "same bytes": same,
                "nearly the same": len(own) - same,
                "under two labels": sum(pair.disagree for pair in own),
            }
        )
    return rows
