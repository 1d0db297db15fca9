"""Kaggle's machines: their names in the API, the limits of an account.

The facts are in `kaggle.toml`; `image` says what the machines' images hold.
"""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from kernelkit.errors import PreflightError, nearest

Kind = Literal["tpu", "gpu", "cpu"]


@dataclass(frozen=True)
class Machine:
    """A machine that a push can request: its `shape` in the API (empty for the plain CPU)."""

    shape: str
    kind: Kind
    words: str
    common: bool = True  # whether every account may request it


@dataclass(frozen=True)
class SessionLimits:
    """The limits of one account for one kind of machine."""

    sessions: int
    hours_per_session: float
    hours_per_week: float | None = None


_FACTS = tomllib.loads(Path(__file__).with_name("kaggle.toml").read_text("utf-8"))

MACHINES = tuple(Machine(**facts) for facts in _FACTS["machines"])
BY_SHAPE = {machine.shape: machine for machine in MACHINES}
RETIRED: dict[str, str] = _FACTS["retired"]  # the shapes, and what runs in their place
NOT_FOR_USERS: dict[str, str] = _FACTS["not_for_users"]  # the shapes, and what to use instead
LIMITS: dict[Kind, SessionLimits] = {
    kind: SessionLimits(**facts) for kind, facts in _FACTS["limits"].items()
}
# The shape that each kind means today.
TODAY = {machine.kind: machine.shape for machine in reversed(MACHINES)} | {"none": ""}

# Python versions of Kaggle's images: 3.12 until September 2026; 3.13 was reported in October.
PYTHONS = ((3, 13), (3, 12))
NEWEST_PYTHON = max(PYTHONS)


def named(name: str) -> Machine:
    """The machine that `tpu`, `gpu`, `cpu` or a shape means.

    Raises `PreflightError` for a retired or unknown shape; the message names the one to use.
    """
    shape = TODAY.get(name.lower(), name)
    if shape not in BY_SHAPE:
        raise PreflightError(unlisted_because(shape))
    return BY_SHAPE[shape]


def unlisted_because(shape: str) -> str:
    """Why a shape is not listed here, and the one to use."""
    if shape in RETIRED:
        instead = BY_SHAPE[RETIRED[shape]]
        name = instead.shape or "cpu"
        return (
            f"machine shape {shape} is retired, and Kaggle would run on {instead.words} instead "
            f"without saying so: use {name}"
        )
    if shape in NOT_FOR_USERS:
        return (
            f"machine shape {shape} is Kaggle's own and not for users: use {NOT_FOR_USERS[shape]}"
        )
    hint = nearest(shape, [*LIMITS, *filter(None, BY_SHAPE)])
    meant = [each for each in MACHINES if each.shape and plain(shape) in plain(each.words)]
    if meant and plain(shape) and not hint.startswith("did you mean"):
        hint = f"{meant[0].words} is {meant[0].shape}"
    return f"no machine shape is called {shape!r}: {hint}"


def plain(name: str) -> str:
    """The letters and digits of a machine's name, in which people write them: `gpu_t4_x2`."""
    return re.sub(r"[\W_]", "", name.lower())


def is_kind(shape: str) -> bool:
    """Whether a shape is only the name of a kind, such as "Gpu", which `kernels pull -m` writes."""
    return shape.lower() in LIMITS


def unlisted(shape: str) -> Machine:
    """The machine for a shape that is not listed here; its name tells its kind."""
    kinds: dict[str, Kind] = {"tpu": "tpu", "nvi": "gpu", "gpu": "gpu"}
    words = f"a {shape.upper()} of Kaggle's choice" if is_kind(shape) else shape
    return Machine(shape, kinds.get(shape[:3].lower(), "cpu"), words, common=False)
