"""What a run's score is worth: its interval, chance, its data, and whether it is verified."""

from __future__ import annotations

import functools
import hashlib
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kernelkit import typed
from kernelkit.runs import run_folder
from kernelkit.scores.metrics import LEVEL, Metrics


@dataclass(frozen=True)
class Evaluation:
    """The numbers of a run, and what they are worth.

    metrics     its plain numbers by name
    interval    the ends of the score's interval, () if the run wrote none
    level       the share of resamples in that interval, from 0 to 1
    chance      what guessing would score; None if that is not known
    data        what the score is measured on, in words
    content     what tells that from other data, see `data_content`
    when        when the run ended, in seconds since 1970
    unverified  why the numbers are not proved to be the run's own; "" if they are
    """

    metrics: Mapping[str, float] = field(default_factory=dict)
    interval: tuple[float, ...] = ()
    level: float = LEVEL
    chance: float | None = None
    data: str = ""
    content: str = ""
    when: float = 0.0
    unverified: str = ""

    @classmethod
    def of(cls, folder: Path, metrics: Metrics, score: str) -> Evaluation:
        """That of the run in a folder with these `metrics`; `score`: the measure to judge it by."""
        return cls(
            metrics=metrics.numbers,
            interval=metrics.interval(score) or (),
            level=metrics.level,
            chance=typed.numbers(metrics.chance).get(score),
            data=str(metrics.data),
            content=data_content(folder, metrics),
            when=metrics.end(run_folder.written(folder)),
            unverified=metrics.doubt(folder),
        )


def data_content(folder: Path, metrics: Metrics) -> str:
    """What tells the data that a run's score is of from other data: equal texts, the same data.

    It is a digest of the ids and classes in the run's `val_predictions.npz`, since one data set has
    several names (a file here, a dataset on Kaggle); without them it is the data's name.
    """
    path = folder / run_folder.PREDICTIONS
    try:
        with zipfile.ZipFile(path) as arrays:
            parts = [arrays.getinfo(f"{name}.npy") for name in ("ids", "labels")]
        known = tuple(part.CRC for part in parts), tuple(part.file_size for part in parts)
        return _digest(path, known)
    except Exception:  # no such file, no numpy, or damage of any shape
        return str(metrics.data)


@functools.lru_cache(maxsize=10_000)
def _digest(path: Path, _known: object) -> str:
    """A digest of the ids and classes, in any order; `_known`: the checksums of both arrays.

    Runs of one data set mostly have the same arrays, which are then read once.
    """
    import numpy as np  # there where a run left such a file

    with np.load(path) as arrays:
        ids, labels = arrays["ids"].astype(str).tolist(), arrays["labels"].tolist()
    pairs = sorted(zip(ids, labels, strict=True))
    return hashlib.sha256(json.dumps(pairs).encode()).hexdigest()
