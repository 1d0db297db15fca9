"""Kaggle's machines: their names in the API, the limits of an account, the modules of their images.

Kaggle publishes neither the shapes nor the limits. They come from `kernels push --accelerator`,
public threads (Kaggle/kaggle-cli #1197) and the site's own limits as of November 2026. The modules
are listed in `image.toml`.
"""

from __future__ import annotations

import sys
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

# The machine that the server silently substitutes for a retired shape.
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

BY_SHAPE = {machine.shape: machine for machine in MACHINES}

# Python versions of Kaggle's images: 3.12 until September 2026; 3.13 was reported in October.
PYTHONS = ((3, 13), (3, 12))

_STDLIB = sys.stdlib_module_names - {"asynchat", "asyncore", "imp", "smtpd"}  # gone in Python 3.12
_IMAGE = tomllib.loads(Path(__file__).with_name("image.toml").read_text(encoding="utf-8"))
_TPU = frozenset([*_IMAGE["tpu"], *_IMAGE["brought_along"], *_STDLIB])
_OTHERS = _TPU.union(_IMAGE["cpu_and_gpu"])

# The top-level modules that a session can import, by the kind of its machine.
MODULES: dict[Kind, frozenset[str]] = {"tpu": _TPU, "gpu": _OTHERS, "cpu": _OTHERS}


def named(name: str) -> Machine:
    """The machine that `tpu`, `gpu`, `cpu` or a shape means.

    Raises `PreflightError` for a retired or unknown shape; the message names the one to use.
    """
    shape = TODAY.get(name.lower(), name)
    if shape in RETIRED:
        instead = BY_SHAPE[RETIRED[shape]]
        raise PreflightError(
            f"machine shape {name} is retired, and Kaggle would run on {instead.words} instead "
            f"without saying so: use {instead.shape or 'cpu'}, or tpu for the current TPU"
        )
    if shape not in BY_SHAPE:
        shapes = ["tpu", "gpu", "cpu", *filter(None, BY_SHAPE)]
        raise PreflightError(f"no machine shape is called {name!r}: {nearest(name, shapes)}")
    return BY_SHAPE[shape]


def unlisted(shape: str) -> Machine:
    """The machine for a shape that is not listed here; its name tells its kind."""
    kinds: dict[str, Kind] = {"tpu": "tpu", "nvi": "gpu", "gpu": "gpu"}
    return Machine(shape, kinds.get(shape[:3].lower(), "cpu"), shape, common=False)


def distribution(module: str) -> str:
    """The name under which pip installs a top-level module, such as grpcio for grpc."""
    return str(_IMAGE["distributions"].get(module, module.replace("_", "-")))
