"""What `metrics.json` says of a training: scores, pace, device, photos, parameters."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from statistics import fmean
from typing import Any

from petals.accelerators import compilation
from petals.accelerators.detect import Accelerator
from petals.data.dataset import Dataset
from petals.data.shards import SPLITS
from petals.evaluation.calibration import Calibration
from petals.evaluation.intervals import Intervals
from petals.evaluation.metrics import Scores

History = Sequence[Mapping[str, Any]]  # the rows of history.csv


def summary(
    scores: Scores | None,
    history: History,
    *,
    accelerator: Accelerator,
    dataset: Dataset,
    counts: tuple[int, int],
    parameters: Mapping[str, Any],
    calibration: Calibration | None = None,
    intervals: Intervals | None = None,
    chance: Mapping[str, float] | None = None,
) -> dict[str, Any]:
    """The values for `RunFolder.write_metrics`; `scores` is None if nothing was validated.

    `counts`: (total, trainable) parameters; `chance`: the
    scores of guessing.
    """
    after = calibration.after if calibration else None
    measured = asdict(scores) if scores else dict.fromkeys(f.name for f in fields(Scores))
    data = {
        "source": str(dataset.source),
        "name": dataset.source.name,
        "image_size": dataset.train.size,
        "record_size": dataset.train.record_size,
        **dict.fromkeys(SPLITS, 0),
        **{name: split.count for name, split in dataset.splits.items()},
    }
    if dataset.test:
        data["test_complete"] = dataset.test.complete
    if dataset.source.submitted:
        data["submitted"] = dataset.source.submitted
    return {
        **measured,
        **_speed(history, parameters.get("batch_size", 0) * accelerator.replicas),
        "epochs": len(history),
        "total_params": counts[0],
        "trainable_params": counts[1],
        "device": accelerator.as_dict() | compilation.facts(),
        "parameters": dict(parameters),
        "data": data,
        "added": [addition.summary() for addition in dataset.added],
        "intervals": intervals.as_dict() if intervals else {},
        "chance": chance or {},
        "temperature": calibration.temperature if calibration else None,
        "calibration_error": after.error if after else None,
        "reliability": after.as_lists() if after else {},
    }


def _speed(history: History, batch: int) -> dict[str, float | None]:
    """The pace of the last phase; the seconds of a step include its input.

    `first_epoch_compile_seconds` is the part of the first epoch in which JAX compiled: 0 where
    nothing is known of it, None where the epoch was not one of gradients.
    """
    last_phase = history[-1]["phase"]
    first, *later = [row for row in history if row["phase"] == last_phase]
    rate = history[-1]["images_per_second"]
    return {
        "first_epoch_seconds": first["seconds"],
        "first_epoch_compile_seconds": first.get("compile_seconds"),
        "later_epoch_seconds": fmean(row["seconds"] for row in later) if later else None,
        "images_per_second": rate,
        "step_seconds": batch / rate if rate and batch else None,
    }
