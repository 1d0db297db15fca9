"""The TPUs that programs are compiled for: what the compiler calls them, and what they can do.

Figures are Google's, of one device: a chip, or of v3 a core (cloud.google.com/tpu/docs).
"""

from dataclasses import dataclass

from kernelkit.errors import ParameterError, choice_of


@dataclass(frozen=True)
class TpuMachine:
    """A machine with all chips on one host, as Kaggle has them.

    shape             Kaggle's name of it
    topology          with `bounds` and `accelerator_type`, what the compiler calls it
    flops, bandwidth  the peaks of one device: operations in bfloat16, and bytes, a second
    hbm               the bytes of a device's memory
    clock             a device's cycles a second: its `flops` by the operations of its matrix units
                      in a cycle, each of which multiplies and adds 128 x 128 pairs; 0 where that
                      gives no clock
    """

    name: str
    shape: str
    topology: str
    bounds: tuple[int, int, int]
    accelerator_type: str
    flops: float
    bandwidth: float
    hbm: int
    clock: float


_GIB = 2**30
TPUS = (
    TpuMachine(
        "v5e-8", "TpuV5E8", "v5e:2x4", (2, 4, 1), "v5litepod-8", 197e12, 819e9, 16 * _GIB, 1.503e9
    ),
    TpuMachine("v6e-8", "TpuV6E8", "v6e:2x4", (2, 4, 1), "v6e-8", 918e12, 1640e9, 32 * _GIB, 0.0),
    TpuMachine("v3-8", "TpuV38", "v3:2x2", (2, 2, 1), "v3-8", 61e12, 450e9, 16 * _GIB, 0.931e9),
)


def machine_named(name: str) -> TpuMachine:
    """The machine called `v5e-8`, or by Kaggle's shape; raises `ParameterError` for another."""
    for machine in TPUS:
        if name in (machine.name, machine.shape):
            return machine
    names = choice_of(machine.name for machine in TPUS)
    raise ParameterError(f"no TPU is called {name!r}: choose {names}")
