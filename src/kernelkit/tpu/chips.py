"""The TPUs that programs are compiled for: what the compiler calls them, and what they can do.

Figures are Google's, of one device: a chip, or of v3 a core (cloud.google.com/tpu/docs).
"""

from dataclasses import dataclass

from kernelkit.errors import ParameterError, choice_of

_MATRIX_UNIT = 2 * 128 * 128  # FLOPs a cycle: one multiplies and adds 128 x 128 pairs


@dataclass(frozen=True)
class TpuMachine:
    """A machine with all chips on one host, as Kaggle has them.

    `shape` is Kaggle's name of it; `flops` a second in bfloat16 and `bandwidth` in bytes a second
    are the peaks of one device, `hbm` the bytes of its memory, `matrix_units` those that it has; 0
    where `flops` is no multiple of theirs.
    """

    name: str
    shape: str
    topology: str
    bounds: tuple[int, int, int]
    accelerator_type: str
    flops: float
    bandwidth: float
    hbm: int
    matrix_units: int

    @property
    def clock(self) -> float:
        """The cycles a second of one device; 0 where they are not known."""
        return self.flops / (self.matrix_units * _MATRIX_UNIT) if self.matrix_units else 0.0


_GIB = 2**30
TPUS = (
    TpuMachine(
        "v5e-8", "TpuV5E8", "v5e:2x4", (2, 4, 1), "v5litepod-8", 197e12, 819e9, 16 * _GIB, 4
    ),
    TpuMachine("v6e-8", "TpuV6E8", "v6e:2x4", (2, 4, 1), "v6e-8", 918e12, 1640e9, 32 * _GIB, 0),
    TpuMachine("v3-8", "TpuV38", "v3:2x2", (2, 2, 1), "v3-8", 61e12, 450e9, 16 * _GIB, 2),
)


def machine_named(name: str) -> TpuMachine:
    """The machine called `v5e-8`, or by Kaggle's shape; raises `ParameterError` for another."""
    for machine in TPUS:
        if name in (machine.name, machine.shape):
            return machine
    names = choice_of(machine.name for machine in TPUS)
    raise ParameterError(f"no TPU is called {name!r}: choose {names}")
