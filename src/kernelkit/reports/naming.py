"""Names of runs by what differs between them: a hash is for machines."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

SEED = "seed"
IGNORED = ("output",)  # where a run writes its files changes nothing else
_MADE_BY_KIT = re.compile(r"[0-9a-f]{12}|.+-\d{4}-\d{6}(-\d+)?")  # a sweep's id, a name with a time

Values = Mapping[str, Any]


def is_made_up(folder: str) -> bool:
    """Whether the kit chose a folder's name, and no person."""
    return _MADE_BY_KIT.fullmatch(folder) is not None


def varying(runs: Sequence[Values]) -> list[str]:
    """The parameters in which runs differ, in the order in which the runs have them."""
    names = dict.fromkeys(name for run in runs for name in run)
    values = {name: {json.dumps(run.get(name), default=str) for run in runs} for name in names}
    return [name for name in names if name not in IGNORED and len(values[name]) > 1]


def changed(values: Values, defaults: Values) -> dict[str, Any]:
    """The values that are not the defaults, of the parameters that have one."""
    return {
        name: value
        for name, value in values.items()
        if name in defaults and value != defaults[name] and name not in IGNORED
    }


def setting_text(values: Values, most: int = 0) -> str:
    """`augment=strong schedule=constant`, numbers to four digits: a search proposes sixteen.

    With `most` no more than so many are named, and how many more there are.
    """
    parts = [
        f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in values.items()
    ]
    if most and len(parts) > most:
        parts = [*parts[:most], f"and {len(parts) - most} more"]
    return " ".join(parts)
