"""Eight runs on real photos: one sweep, next to papermill in a row and to cold single runs."""

from __future__ import annotations

import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

SWEEP = Path("notebooks/sweeps/combined.yaml")
TUTORIAL = Path(__file__).with_name("tutorial.py")
BACKBONE, SIZE, WORKERS = "MobileNet-0.75", 192, 2
SHARED = ("dropout", "schedule", "label_smoothing")  # what the eight differ in, here and there
MEASURED = 2  # of the tutorial's runs, which take minutes each and differ by seconds


def run(photos: Path, weights: Path) -> dict[str, Any]:
    """Seconds for the eight runs in each way, and what a run of ours costs beside its training.

    The sweep: `tools/sweep.py`, two workers. Cold: `tools/run_notebook.py` eight times, each in
    a new process with no features stored. Papermill: the tutorial's recipe (see tutorial.py)
    in a row, of which the first and the last are run, and their mean counts eight times. Each
    begins with an empty cache, and all times are of whole processes. Papermill and the sweep
    are measured before and after the cold runs: a machine's other work comes and goes.
    """
    from benchmarks import material
    from kernelkit.sweep import specification

    data = material.records(photos, (SIZE,)).resolve()
    shared = {"data": data, "backbone": BACKBONE, "weights": weights.resolve(), "image_size": SIZE}
    given = [f"{name}={value}" for name, value in shared.items()]
    runs = [dict(run.given) for run in specification.read(SWEEP, given).runs]
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        first = _papermill(root / "first", data, weights, runs[0])
        sweeps = [_sweep(root / "sweep-1", given)]
        cold = [_cold(root / f"cold-{n}", values) for n, values in enumerate(runs)]
        sweeps.append(_sweep(root / "sweep-2", given))
        last = _papermill(root / "last", data, weights, runs[-1])
        sweep = statistics.fmean(sweeps)
        papermill = len(runs) * statistics.fmean([first, last])
        theirs = [_score(root / name) for name in ("first", "last")]
        table = _table(root / "sweep-1" / "results.csv")
        beside = _beside_training(root / "sweep-1", table)
    return {
        "runs": len(runs),
        "sweep_seconds": round(sweep, 1),
        "cold_seconds": round(sum(cold), 1),
        "papermill_seconds": round(papermill),
        "cold": "a new process each, no features stored",
        "papermill": f"12 epochs with the backbone in each; {MEASURED} of {len(runs)} measured",
        "times_faster_than_cold": round(sum(cold) / sweep, 2),
        "times_faster_than_papermill": round(papermill / sweep, 2),
        "macro_f1": round(statistics.fmean(float(row["macro_f1"]) for row in table), 4),
        "papermill_macro_f1": round(statistics.fmean(theirs), 4),
        **beside,
    }


def _sweep(folder: Path, given: Sequence[str]) -> float:
    parameters = [word for value in given for word in ("-p", value)]
    command = ["tools/sweep.py", str(SWEEP), *parameters, "--workers", str(WORKERS)]
    return _timed([*command, "--output", str(folder)], folder.with_suffix(".cache"))


def _cold(folder: Path, values: Mapping[str, Any]) -> float:
    parameters = [word for name, value in values.items() for word in ("-p", f"{name}={value}")]
    command = ["tools/run_notebook.py", "notebooks/02_train.py", *parameters]
    return _timed([*command, "--output", str(folder)], folder.with_suffix(".cache"))


def _papermill(folder: Path, data: Path, weights: Path, values: Mapping[str, Any]) -> float:
    import nbformat

    from kernelkit.notebooks import document

    folder.mkdir()
    nbformat.write(document.read(TUTORIAL), folder / "tutorial.ipynb")
    given = {"root": data, "weights": weights.resolve(), "output": folder}
    given |= {name: values[name] for name in SHARED}
    parameters = [word for name, value in given.items() for word in ("-p", name, str(value))]
    command = ["-m", "papermill", str(folder / "tutorial.ipynb"), str(folder / "run.ipynb")]
    return _timed([*command, *parameters], folder / "cache")


def _timed(command: Sequence[str], cache: Path) -> float:
    path = os.pathsep.join(filter(None, ["tools", os.environ.get("PYTHONPATH")]))
    environment = os.environ | {"PETALS_CACHE": str(cache), "PYTHONPATH": path}
    begun = time.perf_counter()
    done = subprocess.run(
        [sys.executable, *command], env=environment, capture_output=True, text=True, check=False
    )
    seconds = time.perf_counter() - begun
    if done.returncode:
        raise RuntimeError(f"{command[:2]} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return seconds


def _beside_training(folder: Path, table: Sequence[Mapping[str, str]]) -> dict[str, float]:
    """Seconds of the median run, two at a time: outside its notebook, and all but its epochs.

    The first is the kernel's start, imports and the report; the second counts besides what the
    notebook does before and after training, for the runs that found the features stored.
    """
    outside = [float(row["overhead_seconds"]) for row in table]
    rest = []
    for row in table:
        epochs = sum(float(line["seconds"]) for line in _table(folder / row["id"] / "history.csv"))
        rest.append(float(row["wall_seconds"]) - epochs)
    stored = sorted(rest)[: len(rest) - WORKERS]  # the first of each worker computed or waited
    return {
        "start_and_report_seconds": round(statistics.median(outside), 1),
        "all_but_training_seconds": round(statistics.median(stored), 1),
    }


def _table(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def _score(folder: Path) -> float:
    return float(json.loads((folder / "metrics.json").read_text())["macro_f1"])
