"""The charts of a report: learning curves, and what the run took of its machine."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kernelkit.runs import kit_folder
from kernelkit.scores import history
from kernelkit.session_records import proved
from kernelkit.shown import Shown

FEWEST_SAMPLES = 2  # of the machine, for a chart of them
FEWEST_EPOCHS = 2  # of one epoch a chart says nothing


def curves(folder: Path, shown: Shown) -> list[dict[str, Any]]:
    """A chart for each measure of validation in a run's history, the score's first.

    Each has the measure's training too, where the history has it. The label says so where the
    history is not verified.
    """
    columns = history.read(folder)
    names = [n.removeprefix(history.VALIDATED) for n in columns if n.startswith(history.VALIDATED)]
    phases = [{"at": at, "label": name} for at, name in history.phases(columns)]
    is_doubtful = bool(proved.doubt(folder, history.HISTORY))
    best = -1  # the epoch of the best score, once it is known
    charts = []
    for name in sorted(names, key=lambda name: name != shown.score):
        training = history.numbers(columns.get(name, []))
        validation = history.numbers(columns[history.VALIDATED + name])
        if len(validation) < FEWEST_EPOCHS or not any(map(math.isfinite, validation)):
            continue
        if name == shown.score:
            best = _best(validation, is_lowest=shown.minimize)
        series = [{"label": "validation", "values": validation}]
        if training:
            series.append({"label": "training", "values": training})
        label = _label(name, validation, shown, best)
        if is_doubtful:
            label = proved.marked(label)
        charts.append({"label": label, "series": series, "phases": phases})
    return charts


def _label(name: str, values: Sequence[float], shown: Shown, best: int) -> str:
    """A measure with its best value where it is known which is better: of the score and of losses.

    Of every other measure with its value in epoch `best`, that of the best score.
    """
    label = shown.measures.get(name, name.replace("_", " "))
    if name == shown.score:
        word = "lowest" if shown.minimize else "highest"
        return f"{label}: {word} {values[best]:.4f}, epoch {best + 1}"
    if "loss" in name:
        lowest = _best(values, is_lowest=True)
        return f"{label}: lowest {values[lowest]:.4f}, epoch {lowest + 1}"
    if 0 <= best < len(values) and math.isfinite(values[best]):
        return f"{label}: {values[best]:.4f} in epoch {best + 1}"
    return label


def _best(values: Sequence[float], *, is_lowest: bool) -> int:
    """The epoch, counted from 0, of the lowest or highest of some values, one a number at least."""
    finite = [value for value in values if math.isfinite(value)]
    return values.index(min(finite) if is_lowest else max(finite))


def resources(folder: Path) -> Mapping[str, Sequence[float]]:
    """{column: values} of what a run took of its machine over time; {} where that is not known."""
    columns = history.read(kit_folder.path(folder), kit_folder.RESOURCES)
    columns = columns or history.read(folder, kit_folder.RESOURCES)
    if len(columns.get("seconds", ())) < FEWEST_SAMPLES:
        return {}
    return {name: history.numbers(texts) for name, texts in columns.items()}
