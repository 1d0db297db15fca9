"""The measures, parameters and report sections that a project wants to show for its runs."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from kernelkit import typed

KINDS = ("figure", "table", "bars", "matrix", "photos")
_SECONDS = re.compile("(^|_)seconds$")
_OF_ENDING = {"csv": "table", "json": "photos"}


def measure(name: str, value: float) -> str:
    """A value from `metrics.json`, formatted for people.

    The name gives the unit: `seconds`, `..._seconds`, `..._per_second`; whole numbers are counts,
    and any other number is a score or a loss.
    """
    if _SECONDS.search(name):
        return duration(value)
    if "_per_second" in name:
        if value >= 99.5:
            return f"{value:,.0f}"
        return f"{value:.1f}" if value >= 9.95 else f"{value:.2f}"
    if isinstance(value, int) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.4f}" if abs(value) < 10 else f"{value:.2f}"


def duration(seconds: float) -> str:
    """A duration formatted for people: `0.004 s`, `8.2 s`, `88 s`, `2 min 46 s`, `1 h 05 min`."""
    whole = int(seconds + 0.5)
    if 0 < seconds < 9.95:
        return f"{seconds:.1f} s" if seconds >= 0.05 else f"{seconds:.1g} s"
    if whole < 120:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{int(seconds / 60 + 0.5) // 60} h {int(seconds / 60 + 0.5) % 60:02d} min"


@dataclass(frozen=True)
class Section:
    """A part of a report, which appears if the run wrote the file.

    kind     how the file is shown: as a figure; a table (from CSV or JSON records); bars (the
             names in a CSV's first column, the lengths in its second); a matrix of counts (CSV
             with names on both sides); photos (JSON records, each with a `data:` URL)
    caption  a description of what the section shows
    """

    title: str
    file: str
    kind: str = ""
    caption: str = ""

    def __post_init__(self) -> None:
        kind = self.kind or _OF_ENDING.get(self.file.rpartition(".")[2].lower(), "figure")
        if kind not in KINDS:
            raise ValueError(f"sections.kind is {kind!r}, not one of {', '.join(KINDS)}")
        object.__setattr__(self, "kind", kind)


@dataclass(frozen=True)
class Shown:
    """What a project wants to show first for its runs.

    score       what ranks the runs: a key of `metrics.json`, or, for a run that writes none, what
                it prints before the number; "" for no ranking
    minimize    whether a lower score is better
    parameters  the columns that distinguish runs in a table
    measures    {key of `metrics.json`: its label}, most important first
    sections    the sections of a report, in this order
    """

    score: str = ""
    parameters: tuple[str, ...] = ()
    measures: Mapping[str, str] = field(default_factory=dict)
    sections: tuple[Section, ...] = ()
    minimize: bool = False

    @classmethod
    def read(cls, settings: Mapping[str, Any]) -> Shown:
        """Read the table from `pyproject.toml`, or the output of `as_json`.

        Raises `ValueError` for an invalid one, with the key and what is wrong with it.
        """
        return typed.read(cls, settings)

    def as_json(self) -> str:
        """The settings as JSON text, for a session's environment variable `KERNELKIT_SHOWN`."""
        return json.dumps(asdict(self))

    def labels(self, names: Collection[str]) -> Mapping[str, str]:
        """{name: label} of the measures to show where there are these.

        They are those that the project names, and its score; if it names none, all of them.
        """
        labels = self.measures or {name: name.replace("_", " ") for name in names}
        if self.score in names and self.score not in labels:
            labels = {self.score: self.score.replace("_", " "), **labels}
        return labels

    def texts(self, metrics: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
        """{name: (label, formatted value)} of the measures to show, of those in `metrics`."""
        texts = {}
        for name, label in self.labels(metrics).items():
            value = metrics.get(name)
            if isinstance(value, int | float) and not isinstance(value, bool):
                texts[name] = ("time" if name == "seconds" else label, measure(name, value))
        return texts
