"""The measures, parameters and report sections that a project wants shown of its runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

KINDS = ("figure", "table", "bars", "matrix", "photos")
_OF_ENDING = {"csv": "table", "json": "photos"}


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
    parameters  those that tell runs apart in a table
    measures    {name in `metrics.json`: what people call it}, the most telling first
    sections    what a report shows of the run's files, in this order
    """

    score: str = ""
    parameters: tuple[str, ...] = ()
    measures: Mapping[str, str] = field(default_factory=dict)
    sections: tuple[Section, ...] = ()

    @classmethod
    def read(cls, settings: Mapping[str, Any]) -> Shown:
        """From the table in `pyproject.toml`, or what `as_json` made of it.

        Raises `ValueError` or `TypeError` for a section that is none.
        """
        return cls(
            score=str(settings.get("score", "")),
            parameters=tuple(settings.get("parameters", ())),
            measures=dict(settings.get("measures", {})),
            sections=tuple(Section(**one) for one in settings.get("sections", ())),
        )

    def as_json(self) -> str:
        """The same as text, for the variable `SHOWN` of a session."""
        return json.dumps(asdict(self))

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
