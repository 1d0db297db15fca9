"""Kaggle's machines: their names in the API, the limits of an account, the modules of their images.

The facts are in `kaggle.toml`, and what the images hold in `image.toml`.
"""

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
    hours_per_week: float | None = None


_FACTS = tomllib.loads(Path(__file__).with_name("kaggle.toml").read_text("utf-8"))

MACHINES = tuple(Machine(**facts) for facts in _FACTS["machines"])
BY_SHAPE = {machine.shape: machine for machine in MACHINES}
RETIRED: dict[str, str] = _FACTS["retired"]  # the shapes, and what runs in their place
LIMITS: dict[Kind, SessionLimits] = {
    kind: SessionLimits(**facts) for kind, facts in _FACTS["limits"].items()
}
# The shape that each kind means today.
TODAY = {machine.kind: machine.shape for machine in reversed(MACHINES)} | {"none": ""}

# Python versions of Kaggle's images: 3.12 until September 2026; 3.13 was reported in October.
PYTHONS = ((3, 13), (3, 12))

_STDLIB = sys.stdlib_module_names - {"asynchat", "asyncore", "imp", "smtpd"}  # gone in Python 3.12
_IMAGE = tomllib.loads(Path(__file__).with_name("image.toml").read_text("utf-8"))


def _modules(table: str) -> frozenset[str]:
    return frozenset(module for brought in _IMAGE[table].values() for module in brought)


KAGGLES_OWN = frozenset(_FACTS["image"]["kaggles_own"])
_OWN = KAGGLES_OWN - {"kaggle_benchmarks", "kaggle_evaluation"}  # which some sessions alone have
_TPU = _STDLIB | _OWN | {*_FACTS["image"]["tpu"], *_FACTS["image"]["brought_along"]}
_CPU = _STDLIB | _OWN | _modules("cpu_and_gpu")

# The top-level modules that a session can import, by the kind of its machine.
MODULES: dict[Kind, frozenset[str]] = {"tpu": _TPU, "gpu": _CPU | _modules("gpu"), "cpu": _CPU}
# Distributions of the images by their modules, and those that no image has.
_DISTRIBUTIONS = {
    module: name
    for table in ("lacking", "tpu", "gpu", "cpu_and_gpu")
    for name, brought in _IMAGE[table].items()
    for module in brought
}
# Where several distributions bring a module, the one to install.
_DISTRIBUTIONS |= {"attr": "attrs", "cv2": "opencv-python-headless", "google": "protobuf"}


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
        return (
            f"machine shape {shape} is retired, and Kaggle would run on {instead.words} instead "
            f"without saying so: use {instead.shape or 'cpu'}, or tpu for the current TPU"
        )
    shapes = [*LIMITS, *filter(None, BY_SHAPE)]
    return f"no machine shape is called {shape!r}: {nearest(shape, shapes)}"


def is_kind(shape: str) -> bool:
    """Whether a shape is only the name of a kind, such as "Gpu", which `kernels pull -m` writes."""
    return shape.lower() in LIMITS


def unlisted(shape: str) -> Machine:
    """The machine for a shape that is not listed here; its name tells its kind."""
    kinds: dict[str, Kind] = {"tpu": "tpu", "nvi": "gpu", "gpu": "gpu"}
    words = f"a {shape.upper()} of Kaggle's choice" if is_kind(shape) else shape
    return Machine(shape, kinds.get(shape[:3].lower(), "cpu"), words, common=False)


def holds(module: str, kind: Kind) -> bool | None:
    """Whether the image of such a session has a top-level module; None if that is not known.

    It has not what another image or a public list has under a name that is known, and its own
    lists do not.
    """
    if module in MODULES[kind]:
        return True
    if module in _modules("gpu") and kind == "cpu":
        return None
    return False if module in _DISTRIBUTIONS else None


def distribution(module: str) -> str:
    """The name under which pip installs a top-level module, such as grpcio for grpc.

    Empty if it is not known to be one: whoever registers such a name at a package index would run
    code here.
    """
    return "" if module in KAGGLES_OWN else _DISTRIBUTIONS.get(module, "")


def distributions(kind: Kind) -> frozenset[str]:
    """The distributions of an image, by their normalised names, as far as they are known."""
    tables = {"tpu": (), "gpu": ("cpu_and_gpu", "gpu"), "cpu": ("cpu_and_gpu",)}[kind]
    listed = (name for table in tables for name in _IMAGE[table])
    return frozenset((*listed, *filter(None, map(distribution, MODULES[kind]))))
