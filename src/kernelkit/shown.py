"""What pages and lines tell of a run first, as its project wants it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Shown:
    """What a project wants shown of its runs first.

    score       the measure of `metrics.json` that runs are ranked by; "" where none is named
    parameters  those that tell runs apart in a table
    measures    {name in `metrics.json`: what people call it}, the most telling first
    """

    score: str = ""
    parameters: tuple[str, ...] = ()
    measures: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, settings: Mapping[str, Any]) -> Shown:
        """From the table in `pyproject.toml`, or what `as_json` made of it."""
        return cls(
            score=str(settings.get("score", "")),
            parameters=tuple(settings.get("parameters", ())),
            measures=dict(settings.get("measures", {})),
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
