"""The page of many runs: of a sweep, or of a folder of runs. Table, filters, curves, pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from kernelkit.reports import naming, shell
from kernelkit.run_folders import history
from kernelkit.shown import Shown

COLUMNS = 4  # measures in a row, the score among them
SCRIPTS = (shell.CHART, "runs.js")


@dataclass(frozen=True)
class ShownRun:
    """A run as the page has it; addresses are relative to the page, times in seconds.

    `setting` is its name without the seed, `data` says what its score is measured on, `group` the
    sweep it belongs to, with `sweep` for that sweep's page.
    """

    id: str
    name: str
    setting: str
    parameters: Mapping[str, Any]
    metrics: Mapping[str, float]
    state: str = ""
    seconds: float | None = None
    when: float = 0.0
    error: str = ""
    note: str = ""
    report: str = ""
    folder: str = ""
    group: str = ""
    sweep: str = ""
    device: str = ""
    data: str = ""
    curve: Sequence[float] = ()


@dataclass(frozen=True)
class RunsPage:
    """A page over runs.

    columns   parameters with a column each
    axes      the parameters of a sweep that vary
    base      what all runs of a sweep were given, and `defaults` the rest; None for no sweep
    sweeps    {"name", "href", "count"} of the sweeps whose runs are among these
    curve     the column of the history that the runs' curves are of
    """

    title: str
    runs: Sequence[ShownRun]
    shown: Shown
    columns: Sequence[str]
    axes: Sequence[str] = ()
    base: Mapping[str, Any] | None = None
    defaults: Mapping[str, Any] = field(default_factory=dict)
    sweeps: Sequence[Mapping[str, Any]] = ()
    curve: str = ""

    def html(self, back: Mapping[str, str] | None = None) -> str:
        """The page; `back`: {name: address} of the pages above it."""
        shown = self.shown
        first = list(shown.measures)[:COLUMNS]
        data = {
            "sweep": self.base is not None,
            "score": shown.score,
            "labels": {name: text for name, text in shown.measures.items() if name},
            "measures": [name for name in first if name not in (shown.score, "seconds")],
            "minimize": shown.minimize,
            "columns": list(self.columns),
            "axes": [name for name in self.axes if name != naming.SEED],
            "base": dict(self.base or {}),
            "defaults": dict(self.defaults),
            "sweeps": list(self.sweeps),
            "curve": self._curve_label(),
            "runs": [
                asdict(run) | {"curve": [round(value, 5) for value in run.curve]}
                for run in self.runs
            ],
        }
        example = f"{self.columns[0]}=… " if self.columns else ""
        body = shell.rendered("runs.html.j2", title=self.title, example=example)
        return shell.page(self.title, body, SCRIPTS, data, back)

    def _curve_label(self) -> str:
        name = self.curve.removeprefix(history.VALIDATED)
        label = self.shown.measures.get(name, name.replace("_", " "))
        return f"{label} on validation" if name != self.curve else label
