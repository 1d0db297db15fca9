"""The TPUs that programs are compiled for: what the compiler calls them, and what they can do.

Figures are Google's, of one device: a chip, or of v3 a core (cloud.google.com/tpu/docs).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kernelkit.errors import ParameterError, choice_of


@dataclass(frozen=True)
class TpuMachine:
    """A machine with all chips on one host, as Kaggle has them.

    `shape` is Kaggle's name of it; `flops` a second in bfloat16 and `bandwidth` in bytes a second
    are the peaks of one device, `clock` its cycles a second: the FLOPs over those that its matrix
    units can do in a cycle (v5e has four of 128 x 128, a core of v3 two); 0 where these figures
    do not agree.
    """

    name: str
    shape: str
    topology: str
    bounds: tuple[int, int, int]
    accelerator_type: str
    devices: int
    flops: float
    bandwidth: float
    hbm: int
    clock: float

    def request(self) -> dict[str, Any]:
        """What the project's command needs to know of it."""
        return {
            "topology": self.topology,
            "bounds": list(self.bounds),
            "accelerator_type": self.accelerator_type,
        }


_GIB = 2**30
_MATRIX_UNIT = 2 * 128 * 128  # FLOPs a cycle: one multiplies and adds 128 x 128 pairs
TPUS = {
    machine.name: machine
    for machine in (
        TpuMachine(
            "v5e-8",
            "TpuV5E8",
            "v5e:2x4",
            (2, 4, 1),
            "v5litepod-8",
            8,
            197e12,
            819e9,
            16 * _GIB,
            197e12 / (4 * _MATRIX_UNIT),
        ),
        TpuMachine(
            "v6e-8", "TpuV6E8", "v6e:2x4", (2, 4, 1), "v6e-8", 8, 918e12, 1640e9, 32 * _GIB, 0.0
        ),
        TpuMachine(
            "v3-8",
            "TpuV38",
            "v3:2x2",
            (2, 2, 1),
            "v3-8",
            8,
            61e12,
            450e9,
            16 * _GIB,
            61e12 / (2 * _MATRIX_UNIT),
        ),
    )
}


def machine_named(name: str) -> TpuMachine:
    """The machine called `v5e-8`, or by Kaggle's shape; raises `ParameterError` for another."""
    for machine in TPUS.values():
        if name in (machine.name, machine.shape):
            return machine
    raise ParameterError(f"no TPU is called {name!r}: it is {choice_of(TPUS)}")
