"""What changed since the last comparable run: measures, parameters, the bars that moved most."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelkit.pages.shared import naming, sections, trail
from kernelkit.runs import run_folder
from kernelkit.scores.metrics import Metrics
from kernelkit.session_records import proved
from kernelkit.shown import Shown

MOST_CHANGED = 10  # bars that differ
NONE = "none"  # in place of a value that one of two runs does not have

Row = tuple[str, str, str]  # a name, its value before, its value now


@dataclass(frozen=True)
class Changes:
    """What changed since another run.

    name    that run's, and `link` the address of its report, "" without one
    tables  {caption: rows of what differs}
    """

    name: str
    link: str
    tables: Mapping[str, Sequence[Row]]


def changes(folder: Path, place: Path, shown: Shown, last: Path | None) -> Changes | None:
    """What changed since the run `last`, for a page in `place`; None if nothing can be compared."""
    if last is None or trail.sweep_of(folder) is not None:
        return None
    before, now = _compared(last, shown), _compared(folder, shown)
    if not now["Measures"]:
        return None
    tables = {caption: _differing(before[caption], now[caption]) for caption in now}
    tables["Changed most"] = _moved_most(tables["Changed most"])
    link = trail.link(run_folder.report_place(last), place)
    name = last.name
    if Metrics.of_run(last, shown.score).doubt(last):
        name = proved.marked(name)
    return Changes(name, link, tables)


def _compared(folder: Path, shown: Shown) -> dict[str, dict[str, str]]:
    """{name: text} of a run's measures, of its parameters, and of its first bars."""
    metrics = Metrics.of_run(folder, shown.score)
    return {
        "Measures": dict(shown.texts(metrics.numbers).values()),
        "Parameters": dict(sections.texts(naming.parameters(folder))),
        "Changed most": sections.bars(shown.sections, folder),
    }


def _differing(before: Mapping[str, str], now: Mapping[str, str]) -> list[Row]:
    """What differs, or is in one run only; nothing if either run has none of this kind."""
    if not before or not now:
        return []
    names = dict.fromkeys([*before, *now])
    rows = [(name, before.get(name, NONE), now.get(name, NONE)) for name in names]
    return [row for row in rows if row[1] != row[2]]


def _moved_most(bars: Sequence[Row]) -> list[Row]:
    """The bars of both runs that differ most, the largest difference first."""
    in_both = [bar for bar in bars if NONE not in bar[1:]]
    in_both.sort(key=lambda bar: abs(float(bar[2]) - float(bar[1])), reverse=True)
    return in_both[:MOST_CHANGED]
