"""The page of many runs: of a sweep, or of a folder of runs. Table, filters, curves, pictures."""

from __future__ import annotations

import html
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
    curve: Sequence[float] = field(default=())


def render(
    title: str,
    runs: Sequence[ShownRun],
    shown: Shown,
    *,
    columns: Sequence[str],
    axes: Sequence[str] = (),
    minimize: bool = False,
    base: Mapping[str, Any] | None = None,
    defaults: Mapping[str, Any] | None = None,
    sweeps: Sequence[Mapping[str, Any]] = (),
    curve: str = "",
    back: Mapping[str, str] | None = None,
) -> str:
    """The page's HTML.

    `columns`: parameters with a column each. With `axes`, the parameters of a sweep that vary, the
    page is a sweep's: `base` is what all its runs were given, `defaults` the rest. `sweeps`:
    {"name", "href", "count"} of the sweeps whose runs are among these. `curve`: the column of the
    history that the runs' curves are of.
    """
    measures = [n for n in list(shown.measures)[:COLUMNS] if n not in (shown.score, "seconds")]
    data = {
        "sweep": base is not None,
        "score": shown.score,
        "labels": {name: text for name, text in shown.measures.items() if name},
        "measures": measures,
        "minimize": minimize,
        "columns": list(columns),
        "axes": [name for name in axes if name != naming.SEED],
        "base": dict(base or {}),
        "defaults": dict(defaults or {}),
        "sweeps": list(sweeps),
        "curve": _of_curve(curve, shown),
        "runs": [_compact(run) for run in runs],
    }
    example = f"{columns[0]}=… " if columns else ""
    shell_text = shell.source("runs.html")
    body = shell_text.replace("{{title}}", html.escape(title)).replace(
        "{{hint}}", html.escape(f"Filter: {example}score>0.9 any words")
    )
    return shell.page(title, body, SCRIPTS, data, back)


def _of_curve(column: str, shown: Shown) -> str:
    name = column.removeprefix(history.VALIDATED)
    label = shown.measures.get(name, name.replace("_", " "))
    return f"{label} on validation" if name != column else label


def _compact(run: ShownRun) -> dict[str, Any]:
    values = asdict(run)
    values["curve"] = [round(value, 5) for value in run.curve]
    return values
