"""Names of runs by what tells them apart: a hash is for machines.

Every page calls a run by `run_name`, which depends on the run and its sweep alone: no page knows
the runs that another one shows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kernelkit.reports import trail

SEED = "seed"
MOST_NAMED = 4  # parameters in the name of a run that no person named
IGNORED = ("output",)  # where a run writes its files changes nothing else
_MADE_BY_KIT = re.compile(r"[0-9a-f]{12}|.+-\d{4}-\d{6}(-\d+)?")  # a sweep's id, a name with a time

Values = Mapping[str, Any]


def run_name(
    folder: Path, read: Callable[[], tuple[Values, Values]], first: Sequence[str]
) -> tuple[str, str]:
    """A run's name, and its setting in full, which is what it sets besides the seed.

    A run of a sweep is named by what differs among the sweep's runs. A name that a person gave a
    folder stays. Any other run is named by what it changes of its notebook's defaults, those named
    `first` before the others. `read` is called where these are needed, for all its values and for
    the defaults. Where nothing tells, it is the folder's name.
    """
    own, sweep = folder.resolve().name, trail.sweep_of(folder)
    if not sweep and not _MADE_BY_KIT.fullmatch(own):
        return own, own
    values, defaults = read()
    if sweep:
        return texts({n: values[n] for n in trail.varying(sweep) if n in values}, own)
    settings = changed(values, defaults)
    settings = dict(sorted(settings.items(), key=lambda item: item[0] not in first))
    return texts(settings, own, MOST_NAMED)


def texts(settings: Values, otherwise: str, most: int = 0) -> tuple[str, str]:
    """A name of at most so many settings, and all of them without the seed, as text."""
    unseeded = {name: value for name, value in settings.items() if name != SEED}
    return setting_text(settings, most) or otherwise, setting_text(unseeded) or otherwise


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
