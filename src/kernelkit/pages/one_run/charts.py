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
    charts = []
    for name in sorted(names, key=lambda name: name != shown.score):
        training = history.numbers(columns.get(name, []))
        validation = history.numbers(columns[history.VALIDATED + name])
        if len(validation) < FEWEST_EPOCHS or not any(map(math.isfinite, validation)):
            continue
        series = [{"label": "validation", "values": validation}]
        if training:
            series.append({"label": "training", "values": training})
        label = _label(name, validation, shown)
        if is_doubtful:
            label = proved.marked(label)
        charts.append({"label": label, "series": series, "phases": phases})
    return charts


def _label(name: str, validation: Sequence[float], shown: Shown) -> str:
    """A measure, and its best value where it is known which is better: of the score and of losses.

    Of every other measure its last value.
    """
    label = shown.measures.get(name, name.replace("_", " "))
    finite = [value for value in validation if math.isfinite(value)]
    if name == shown.score:
        is_lowest = shown.minimize
    elif "loss" in name:
        is_lowest = True
    else:
        return f"{label}: {finite[-1]:.4f} in the end"
    word, best = ("lowest", min(finite)) if is_lowest else ("highest", max(finite))
    return f"{label}: {word} {best:.4f}, epoch {validation.index(best) + 1}"


def resources(folder: Path) -> Mapping[str, Sequence[float]]:
    """{column: values} of what a run took of its machine over time; {} where that is not known."""
    columns = history.read(kit_folder.path(folder), kit_folder.RESOURCES)
    columns = columns or history.read(folder, kit_folder.RESOURCES)
    if len(columns.get("seconds", ())) < FEWEST_SAMPLES:
        return {}
    return {name: history.numbers(texts) for name, texts in columns.items()}
