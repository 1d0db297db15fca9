"""What changed since the last comparable run: measures, parameters, the bars that moved most."""

from pathlib import Path
from typing import Any

from kernelkit.pages.shared import naming, sections, trail
from kernelkit.runs import run_folder
from kernelkit.scores.metrics import Metrics
from kernelkit.session_records import proved
from kernelkit.shown import Shown

MOST_CHANGED = 10  # bars that differ
NONE = "none"  # in place of a value that one of two runs has not


def table(folder: Path, place: Path, shown: Shown, last: Path | None) -> dict[str, Any]:
    """What changed since the run `last`, as tables of (name, before, now); {} where nothing can."""
    if last is None or trail.sweep_of(folder) is not None:
        return {}
    before, now = _compared(last, shown), _compared(folder, shown)
    if not now["Measures"]:
        return {}
    tables = {caption: _changes(before[caption], now[caption]) for caption in now}
    bars = [row for row in tables["Changed most"] if NONE not in row]
    bars.sort(key=lambda row: abs(float(row[2]) - float(row[1])), reverse=True)
    tables["Changed most"] = bars[:MOST_CHANGED]
    link = trail.link(run_folder.report_place(last), place)
    name = last.name
    if Metrics.of_run(last, shown.score).doubt(last):
        name = proved.marked(name)
    return {"name": name, "link": link, "tables": tables}


def _changes(before: dict[str, str], now: dict[str, str]) -> list[tuple[str, str, str]]:
    """(name, before, now) of what differs; what one run lacks differs too, unless it has none."""
    if not before or not now:
        return []
    rows = [(n, before.get(n, NONE), now.get(n, NONE)) for n in dict.fromkeys([*before, *now])]
    return [row for row in rows if row[1] != row[2]]


def _compared(folder: Path, shown: Shown) -> dict[str, dict[str, str]]:
    """{name: text} of a run's measures, of its settings, and of its first bars."""
    metrics = Metrics.of_run(folder, shown.score)
    return {
        "Measures": dict(shown.texts(metrics.numbers).values()),
        "Parameters": dict(sections.texts(naming.parameters(folder))),
        "Changed most": sections.bars(shown.sections, folder),
    }
