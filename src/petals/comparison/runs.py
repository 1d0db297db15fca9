"""Read runs back from their folders, and list them for comparison."""

from __future__ import annotations

import csv
import json
import os
import re
import zipfile
from collections import defaultdict
from collections.abc import Sequence
from glob import escape, glob
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from petals.comparison import groups
from petals.comparison.finished_run import FinishedRun, arrays
from petals.errors import DataError
from petals.kaggle import mounts, on_kaggle, runs_folder
from petals.tables import Table

LEFT_BY_A_RUN = ("metrics.json", "val_predictions.npz", "history.csv")
AUTO = "auto"


def read(pattern: str) -> tuple[list[FinishedRun], list[str]]:
    """The runs in all folders that match, best first, and a line for each that cannot be compared.

    `pattern`: globs of run folders, separated by commas; `**` matches folders at any depth. "auto"
    means `runs/*` of the repository, and on Kaggle every attached output that contains a run.
    Folders without any file of a run are ignored, and the runs of all folds of one recipe become
    one run. Only the largest group of runs that were validated on the same images is returned; each
    other run has a line. Raises `DataError` if no run can be read.
    """
    if pattern == AUTO:
        here, below = (mounts(), "**") if on_kaggle() else (runs_folder(), "*")
        pattern, parts = f"{here}/{below}", [f"{escape(str(here))}/{below}"]
    else:
        parts = pattern.split(",")
    matches = {
        Path(match)
        for part in parts
        for match in glob(part.strip(), recursive=True)  # noqa: PTH207 - takes absolute globs
        if any((Path(match) / name).is_file() for name in LEFT_BY_A_RUN)
    }
    # A session may mount an input in two places: use a run's path that contains no links.
    linked = sorted(matches, key=lambda path: (path.resolve() != path.absolute(), path))
    folders = sorted({path.resolve(): path for path in reversed(linked)}.values())
    names = _names(folders)
    runs, skipped = [], []
    for folder in folders:
        try:
            runs.append(_read(folder, names[folder]))
        except FileNotFoundError as error:
            missing = Path(error.filename).name
            skipped.append(f"{names[folder]}: no {missing}, so it did not run to its end")
        except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
            why = f"no {error}" if isinstance(error, KeyError) else error
            skipped.append(f"{names[folder]}: {why}")
    if not runs:
        raise DataError(
            f"no run in {pattern!r} (from {Path.cwd()})"
            + "".join(f"\n  {line}" for line in skipped)
            + (
                "\n  attach kernels whose last version left a run: kernel_sources in the metadata"
                if on_kaggle()
                else "\n  make one with tools/run_notebook.py notebooks/02_train.py"
            )
        )
    comparable, others = groups.largest(groups.named(groups.joined(runs)))
    return sorted(comparable, key=lambda run: -run.macro_f1), skipped + others


def _names(folders: Sequence[Path]) -> dict[Path, str]:
    if len(folders) == 1:
        return {folders[0]: folders[0].resolve().name}
    common = Path(os.path.commonpath([str(folder.absolute()) for folder in folders] or ["/"]))
    return {folder: folder.absolute().relative_to(common).as_posix() for folder in folders}


def _read(folder: Path, name: str) -> FinishedRun:
    metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    for part in ("parameters", "device", "data"):
        if not isinstance(metrics[part], dict):
            raise ValueError(f"metrics.json has no {part}")
    stored = arrays(folder / "val_predictions.npz", ("ids", "labels", "probabilities"))
    ids, labels, probabilities = stored.values()
    if probabilities.ndim != 2 or not len(ids) == len(labels) == len(probabilities) > 0:
        raise ValueError("val_predictions.npz contains arrays of different lengths")
    if len(set(ids.tolist())) < len(ids) or not np.isfinite(probabilities).all():
        raise ValueError("val_predictions.npz contains an id twice, or values that are not finite")
    if labels.min() < 0 or labels.max() >= probabilities.shape[1]:
        raise ValueError("val_predictions.npz contains labels outside its classes")
    history = _history(folder / "history.csv")
    return FinishedRun(
        name, folder, metrics, history, ids.astype(str), labels.astype(np.int64), probabilities
    )


def _history(path: Path) -> list[dict[str, Any]]:
    if not path.is_file():
        return []  # only the curves need it
    with path.open(encoding="utf-8") as file:
        return [
            {k: v if k == "phase" else float(v or "nan") for k, v in row.items() if k}
            for row in csv.DictReader(file)
        ]


def ranking(runs: Sequence[FinishedRun]) -> Table:
    """A row for each run, in the given order: its scores, its size, its duration and device."""
    rows = [
        {
            "run": run.name,
            "macro F1": run.macro_f1,
            "accuracy": float(run.right.mean()),
            "backbone": run.parameter("backbone"),
            "parameters": run.metrics.get("total_params"),
            "trainable": run.metrics.get("trainable_params"),
            "pixels": run.metrics["data"].get("image_size"),
            "fine-tuned": run.parameter("fine_tune"),
            "minutes": (run.metrics.get("seconds") or 0) / 60 or None,
            "device": run.metrics["device"].get("name"),
        }
        for run in runs
    ]
    return Table.of(rows)


def devices(runs: Sequence[FinishedRun]) -> list[dict[str, Any]]:
    """Rows of epoch times and best scores by device, backbone, image size and trained part.

    Seconds and images per second are means over the runs of a row; the parameters are those of its
    best run, None if metrics.json does not have them. Rows that differ only in the device are
    adjacent, the fastest first.
    """
    alike: dict[tuple, list[FinishedRun]] = defaultdict(list)
    for run in runs:
        device = run.metrics["device"]
        key = (
            str(run.parameter("backbone")),
            int(run.metrics["data"].get("image_size") or 0),
            _trained(run),
            str(device.get("kind", "?")).upper(),
            str(device.get("name", "?")),
            int(device.get("replicas") or 1),
            str(device.get("dtype", "?")),
        )
        alike[key].append(run)
    rows = []
    for (backbone, size, trained, kind, name, replicas, dtype), group in alike.items():
        best = max(group, key=lambda run: run.macro_f1)
        rows.append(
            {
                "backbone": backbone,
                "parameters": best.metrics.get("total_params"),
                "pixels": size,
                "trained": trained,
                "trainable": best.metrics.get("trainable_params"),
                "best macro F1": best.macro_f1,
                "device": kind,
                "name": name,
                "replicas": replicas,
                "precision": dtype,
                "runs": len(group),
                "first epoch, s": _mean(group, "first_epoch_seconds"),
                "later epochs, s": _mean(group, "later_epoch_seconds"),
                "images/s": _mean(group, "images_per_second"),
            }
        )
    same = ("backbone", "pixels", "trained")
    return sorted(
        rows, key=lambda r: (*(r[c] for c in same), r["later epochs, s"] or float("inf"), r["name"])
    )


def _trained(run: FinishedRun) -> str:
    phases = [row.get("phase") for row in run.history]
    if phases and phases[-1] == "head":
        return "head, on stored features"
    return re.sub("^all$", "all of it", str(run.parameter("fine_tune")))


def _mean(runs: Sequence[FinishedRun], name: str) -> float | None:
    values = [run.metrics[name] for run in runs if run.metrics.get(name)]
    return fmean(values) if values else None
