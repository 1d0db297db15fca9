"""Kaggle's machines: the names its API takes, and what one account may use of them.

Kaggle publishes neither list. The shapes come from `kernels push --accelerator`, public
threads (Kaggle/kaggle-cli #1197) and the site's own limits as of November 2026.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Literal

from kernelkit.errors import PreflightError

Kind = Literal["tpu", "gpu", "cpu"]


@dataclass(frozen=True)
class Machine:
    """One machine to ask for: its `shape` in the API (empty for the plain CPU)."""

    shape: str
    kind: Kind
    words: str
    common: bool = True  # whether any account may ask for it


@dataclass(frozen=True)
class SessionLimits:
    """What one account may use of one kind of machine."""

    sessions: int
    hours_per_session: float
    hours_per_week: float | None


MACHINES = (
    Machine("", "cpu", "CPU"),
    Machine("TpuV5E8", "tpu", "TPU v5e-8"),
    Machine("TpuV6E8", "tpu", "TPU v6e-8", common=False),
    Machine("NvidiaTeslaT4", "gpu", "GPU T4 x2"),
    Machine("NvidiaTeslaT4Highmem", "gpu", "GPU T4 x2, high memory", common=False),
    Machine("NvidiaTeslaA100", "gpu", "GPU A100", common=False),
    Machine("NvidiaL4", "gpu", "GPU L4 x4", common=False),
    Machine("NvidiaL4X1", "gpu", "GPU L4", common=False),
    Machine("NvidiaH100", "gpu", "GPU H100", common=False),
    Machine("NvidiaRtxPro6000", "gpu", "GPU RTX Pro 6000", common=False),
)

TODAY = {"tpu": "TpuV5E8", "gpu": "NvidiaTeslaT4", "cpu": "", "none": ""}

# What the server puts in the place of a retired shape, without a word.
RETIRED = {
    "NvidiaTeslaP100": "NvidiaTeslaT4",
    "TpuV38": "TpuV5E8",
    "Tpu1VmV38": "TpuV5E8",
    "TpuV232": "",
    "TpuV2256": "",
}

LIMITS: dict[Kind, SessionLimits] = {
    "tpu": SessionLimits(sessions=1, hours_per_session=9, hours_per_week=20),
    "gpu": SessionLimits(sessions=2, hours_per_session=12, hours_per_week=30),
    "cpu": SessionLimits(sessions=5, hours_per_session=12, hours_per_week=None),
}

_BY_SHAPE = {machine.shape: machine for machine in MACHINES}


def named(name: str) -> Machine:
    """The machine that `tpu`, `gpu`, `cpu` or a shape means.

    Raises `PreflightError` for a retired or an unknown shape, naming the one to ask for.
    """
    if name.lower() in TODAY:
        return _BY_SHAPE[TODAY[name.lower()]]
    if name in RETIRED:
        instead = _BY_SHAPE[RETIRED[name]]
        raise PreflightError(
            f"machine shape {name} is retired and Kaggle would run on {instead.words} without "
            f"a word: ask for {instead.shape or 'cpu'} or, for today's TPU, for tpu"
        )
    if name in _BY_SHAPE:
        return _BY_SHAPE[name]
    shapes = [shape for shape in _BY_SHAPE if shape]
    lowered = {shape.lower(): shape for shape in [*shapes, *TODAY]}
    near = difflib.get_close_matches(name.lower(), lowered, n=1)
    hint = f"did you mean {lowered[near[0]]}?" if near else f"it is one of tpu, gpu, cpu, {shapes}"
    raise PreflightError(f"no machine shape is called {name!r}: {hint}")
