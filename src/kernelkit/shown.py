"""The measures, parameters and report sections that a project wants shown of its runs."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

KINDS = ("figure", "table", "bars", "matrix", "photos")
_SECONDS = re.compile("(^|_)seconds$")
_OF_ENDING = {"csv": "table", "json": "photos"}


def measure(name: str, value: float) -> str:
    """A measure of `metrics.json` as people write it.

    Its name says its unit: `seconds`, `..._seconds`, `..._per_second`; whole numbers are counts,
    and any other number is a score or a loss.
    """
    if _SECONDS.search(name):
        return duration(value)
    if "_per_second" in name:
        return f"{value:,.{0 if value >= 99.5 else 1 if value >= 9.95 else 2}f}"
    if isinstance(value, int) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.4f}" if abs(value) < 10 else f"{value:.2f}"


def duration(seconds: float) -> str:
    """A time as people write it: `0.004 s`, `8.2 s`, `88 s`, `2 min 46 s`, `1 h 05 min`."""
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
    """A part of a report that is there when the run left the file.

    kind     how the file is shown: as a figure; a table (of CSV, or of JSON records); bars of a
             CSV's second column for what its first one names; a matrix of counts (CSV with names
             on both sides); photos (JSON records with a picture as a `data:` address each)
    caption  what is seen, as text
    """

    title: str
    file: str
    kind: str = ""
    caption: str = ""

    def __post_init__(self) -> None:
        kind = self.kind or _OF_ENDING.get(self.file.rpartition(".")[2].lower(), "figure")
        if kind not in KINDS:
            raise ValueError(f"a section is of kind {', '.join(KINDS)}, not {kind!r}")
        object.__setattr__(self, "kind", kind)


@dataclass(frozen=True)
class Shown:
    """What a project wants shown of its runs first.

    score       the measure of `metrics.json` that runs are ranked by; "" where none is named
    minimize    whether a lower score is better
    parameters  those that tell runs apart in a table
    measures    {name in `metrics.json`: what people call it}, the most telling first
    sections    what a report shows of the run's files, in this order
    """

    score: str = ""
    parameters: tuple[str, ...] = ()
    measures: Mapping[str, str] = field(default_factory=dict)
    sections: tuple[Section, ...] = ()
    minimize: bool = False

    @classmethod
    def read(cls, settings: Mapping[str, Any]) -> Shown:
        """From the table in `pyproject.toml`, or what `as_json` made of it.

        Raises `ValueError` or `TypeError` for what is not a section.
        """
        return cls(
            score=str(settings.get("score", "")),
            parameters=tuple(settings.get("parameters", ())),
            measures=dict(settings.get("measures", {})),
            sections=tuple(Section(**section) for section in settings.get("sections", ())),
            minimize=bool(settings.get("minimize")),
        )

    def as_json(self) -> str:
        """The same as text, for the variable `SHOWN` of a session."""
        return json.dumps(asdict(self))

    def texts(self, metrics: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
        """{name: (label, value as people write it)} of the measures that `metrics` has."""
        return {
            name: ("time" if name == "seconds" else label, measure(name, value))
            for name, (label, value) in self.numbers(metrics).items()
        }

    def numbers(self, metrics: Mapping[str, Any]) -> dict[str, tuple[str, float]]:
        """{name: (label, value)} of the measures that `metrics` has.

        Where the project names no measures these are all plain numbers, in the file's order.
        """
        labels = self.measures or {name: name.replace("_", " ") for name in metrics}
        return {
            name: (label, value)
            for name, label in labels.items()
            if isinstance(value := metrics.get(name), int | float) and not isinstance(value, bool)
        }
