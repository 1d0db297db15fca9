"""The contents of a run's folder: its notebook, its measures, its machine, its log."""

import functools
import hashlib
import json
import math
import zipfile
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from kernelkit import files
from kernelkit.errors import AcceleratorMismatchError
from kernelkit.runs import kit_folder
from kernelkit.runs import log as logs
from kernelkit.shown import Shown
from kernelkit.terminal import safe_text

METRICS = "metrics.json"
PREDICTIONS = "val_predictions.npz"  # ids, labels and probabilities of the validation data
EXECUTED = ("run.ipynb", "__notebook__.ipynb")  # names of the executed notebook
LEFT_BY_A_RUN = (METRICS, *EXECUTED)
OUT_OF_TIME = "time limit"  # the value of `stopped` in the metrics of an unfinished run
IN_A_LINE = 4  # measures in a summary line
LEVEL = 0.95  # of an interval that does not say its own

Metrics = Mapping[str, Any]


def keep(folder: Path, log: str, pushed_text: str, clear: Callable[[str], str] = str) -> None:
    """Write the session's log, as Kaggle stores it and as readable text, and the pushed notebook.

    `clear` removes the secrets from a text.
    """
    is_script = not pushed_text.startswith("{")
    texts = {kit_folder.PUSHED_SCRIPT if is_script else kit_folder.PUSHED: pushed_text}
    if log:
        log = clear(log)
        whole, readable = logs.texts(log)
        cleared = clear(whole)
        if cleared != whole:  # a secret was split over two entries
            log = json.dumps([{"stream_name": "stdout", "time": 0, "data": cleared}])
            readable = logs.texts(log)[1]
        texts[kit_folder.LOG] = logs.harmless(log)
        texts[kit_folder.LOG_TEXT] = readable
    for name, text in texts.items():
        if text:
            files.write_text(kit_folder.path(folder, name), clear(text))


def is_run(folder: Path) -> bool:
    """Whether the folder is a run's."""
    return any((folder / name).is_file() for name in LEFT_BY_A_RUN)


def notebooks_of_run(folder: Path) -> list[Path]:
    """The executed notebooks that the run itself wrote."""
    fetched = kit_folder.left_by_run(folder)
    names = [name for name in EXECUTED if fetched is None or name in fetched]
    return [folder / name for name in names if (folder / name).is_file()]


def executed(folder: Path) -> Path | None:
    """The notebook that a report of the folder shows: the run's, or the kit's own."""
    own = kit_folder.place(folder, EXECUTED[0])
    return next(iter(notebooks_of_run(folder)), own if own.is_file() else None)


def report_place(folder: Path) -> Path:
    """The path of a run folder's report, which need not exist; aside if the run wrote its own."""
    own = kit_folder.path(folder, kit_folder.REPORT)
    return own if own.is_file() else kit_folder.place(folder, kit_folder.REPORT)


def metrics(folder: Path) -> dict[str, Any] | None:
    """The run's `metrics.json`; None if it is missing or unreadable.

    NaN, Infinity and numbers too large for a float are read as None; a name with characters that no
    terminal or page shows has their escapes.
    """
    try:
        text = (folder / METRICS).read_text("utf-8")
        values = files.parse_json(
            text,
            parse_constant=lambda _: None,
            parse_float=_finite,
            parse_int=_finite,
            object_pairs_hook=_with_printable_names,
        )
    except (OSError, ValueError):
        return None
    return values if isinstance(values, dict) else None


def _with_printable_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return {safe_text.one_line(name): value for name, value in pairs}


def _finite(digits: str) -> float | None:
    if not math.isfinite(float(digits)):
        return None
    return int(digits) if digits.lstrip("-").isdigit() else float(digits)


def part(values: Metrics, name: str) -> Metrics:
    """A table in a run's metrics, such as its `device`; empty if it has none."""
    table = values.get(name)
    return table if isinstance(table, Mapping) else {}


def interval(values: Metrics, name: str) -> tuple[float, float] | None:
    """[low, high] of a measure in a run's `intervals`; None if it wrote none."""
    match part(values, "intervals").get(name):
        case [int() | float() as low, int() | float() as high] if low <= high:
            return float(low), float(high)
    return None


def level(values: Metrics) -> float:
    """The share of resamples in a run's `intervals`, from 0 to 1."""
    return numbers(part(values, "intervals")).get("level", LEVEL)


def numbers(values: Metrics) -> dict[str, float]:
    """The plain numbers of a run's metrics."""
    return {
        name: value
        for name, value in values.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }


def written(folder: Path) -> float:
    """When the run left its newest file, in seconds since 1970; 0 if it left none."""
    paths = (folder / name for name in LEFT_BY_A_RUN)
    return max((path.stat().st_mtime for path in paths if path.is_file()), default=0.0)


def ended(values: Metrics, written: float) -> float:
    """When a run ended, in seconds since 1970: from its metrics, or else when it was `written`."""
    try:
        return datetime.fromisoformat(str(values["ended"])).timestamp()
    except (KeyError, ValueError):
        return written


def data_name(values: Metrics) -> str:
    """The data of a run with these metrics, such as `leaves (520 val)`; "" if unknown."""
    data = part(values, "data")
    name = str(data.get("name") or Path(str(data.get("source", ""))).name)
    images = data.get("val")
    return f"{name} ({images:,} val)" if isinstance(images, int) else name


def data_content(folder: Path, values: Metrics) -> str:
    """What tells the data that a run's score is of from other data: equal texts, the same data.

    It is a digest of the ids and classes in the run's `val_predictions.npz`, since one data set has
    several names (a file here, a dataset on Kaggle); without them it is the data's name.
    """
    path = folder / PREDICTIONS
    try:
        with zipfile.ZipFile(path) as arrays:
            parts = [arrays.getinfo(f"{name}.npy") for name in ("ids", "labels")]
        known = tuple(part.CRC for part in parts), tuple(part.file_size for part in parts)
        return _digest(path, known)
    except Exception:  # no such file, no numpy, or damage of any shape
        return data_name(values)


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


def device_name(values: Metrics) -> str:
    """The device of a run with these metrics, such as `TPU v5e × 8 (rehearsal)`; "" if unknown."""
    device = part(values, "device")
    name = str(device.get("name") or device.get("kind") or "")
    replicas = device.get("replicas")
    name += f" × {replicas}" if isinstance(replicas, int) and replicas > 1 else ""
    return f"{name} (rehearsal)" if device.get("rehearsal") else name


def summary(values: Metrics, shown: Shown) -> str:
    """The first measures in one line, with the device."""
    parts = []
    for name, (label, text) in list(shown.texts(values).items())[:IN_A_LINE]:
        parts.append(text if name == "seconds" else f"{label} {text}")
    device = device_name(values)
    if device:
        parts.append(f"on {device}")
    return ", ".join(parts)


def names_device(values: Metrics) -> bool:
    """Whether a run's metrics say what it ran on: {"device": {"kind": "gpu"}}."""
    return bool(part(values, "device").get("kind"))


def check_accelerator(values: Metrics, requested: str, *, rehearsal: bool) -> None:
    """Raise `AcceleratorMismatchError` unless the run had the requested kind of machine.

    A stand-in that declares itself a rehearsal counts only in a rehearsal. A run that names no kind
    (see `names_device`) is not checked.
    """
    device = part(values, "device")
    kind = str(device.get("kind") or "")
    stand_in = " (a stand-in)" if device.get("rehearsal") and not rehearsal else ""
    if kind and (kind.lower() != requested or stand_in):
        raise AcceleratorMismatchError(
            f"the run should have had a {requested.upper()} and had {kind.upper()}{stand_in}: its "
            "figures do not count. Check the quota and the phone verification on Kaggle, then push "
            "again"
        )
