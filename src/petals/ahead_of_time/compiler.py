"""The TPU's own compiler on a machine without a TPU: a program in, its figures out.

`libtpu` compiles for a topology that is described. Import this module after `prepare_environment`.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from petals.ahead_of_time import hlo, hlo_cost
from petals.errors import AcceleratorError, SettingError

if TYPE_CHECKING:
    from petals.ahead_of_time.programs import Program

OUT_OF_MEMORY = "RESOURCE_EXHAUSTED"
_SIZE = r"([\d.]+)([KMGT]?)"
TOO_LARGE = (  # how versions of libtpu put it; the last names a single array
    rf"\({_SIZE}\) exceeds available HBM \({_SIZE}\)",
    rf"Used {_SIZE} of {_SIZE} hbm",
    rf"\(size={_SIZE}\) would exceed memory \(size={_SIZE}\)",
)
# What would change the program and is no part of the run: a rehearsal's, then JAX's efforts, which
# a push does not take along.
FOREIGN = (
    "XLA_FLAGS",
    "LIBTPU_INIT_ARGS",
    "KAGGLE_REHEARSAL",
    "JAX_OPTIMIZATION_LEVEL",
    "JAX_EXEC_TIME_OPTIMIZATION_EFFORT",
    "JAX_MEMORY_FITTING_LEVEL",
    "JAX_MEMORY_FITTING_EFFORT",
)


@dataclass(frozen=True)
class Chips:
    """A machine's chips as libtpu describes them: `topology` such as "v5e:2x4"."""

    topology: str
    bounds: tuple[int, ...]  # chips of one host along each axis
    accelerator_type: str

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Chips:
        """The chips of a request."""
        return cls(values["topology"], tuple(values["bounds"]), values["accelerator_type"])


def prepare_environment(chips: Chips) -> None:
    """Set what JAX and libtpu read when they are imported.

    No TPU is looked for, no metadata server is asked, and another process may hold libtpu, too.
    """
    os.environ |= {
        "JAX_PLATFORMS": "cpu",
        "TPU_SKIP_MDS_QUERY": "1",
        "TPU_ACCELERATOR_TYPE": chips.accelerator_type,
        "TPU_WORKER_HOSTNAMES": "localhost",
        "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
    }
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    for name in FOREIGN:
        os.environ.pop(name, None)


class Compiler:
    """Compiles programs for the chips of one machine, all of them on one host."""

    def __init__(self, chips: Chips) -> None:
        import jax
        import numpy as np
        from jax._src.interpreters import pxla
        from jax.experimental import topologies
        from jax.sharding import Mesh, NamedSharding, PartitionSpec

        # After compiling, JAX asks the client of the devices for their default layouts. Devices
        # that are only described have none in libtpu 0.0.17, and the process would crash.
        pxla.is_default_layout = lambda *_: True
        try:
            described = topologies.get_topology_desc(
                platform="tpu",
                topology_name=chips.topology,
                chips_per_host_bounds=chips.bounds,
            )
        except Exception as error:  # jaxlib raises kinds of its own
            raise AcceleratorError(f"libtpu does not know {chips.topology}: {error}") from None
        self._jax = jax
        self.devices = len(described.devices)
        self.name = str(described.devices[0].device_kind)
        mesh = Mesh(np.array(described.devices), ("batch",))
        self._shared = NamedSharding(mesh, PartitionSpec("batch"))  # along the first axis
        self._whole = NamedSharding(mesh, PartitionSpec())

    def lower(self, program: Program) -> Any:
        """The program traced for these devices, not compiled yet.

        Raises `SettingError` for a batch that the devices cannot share.
        """
        import jax

        for array in jax.tree.leaves(program.batch):
            if array.shape[0] % self.devices:
                raise SettingError(
                    f"{program.name}: a batch of {array.shape[0]} images cannot be shared by "
                    f"{self.devices} devices: give a multiple of {self.devices}"
                )
        _note_shardings(program.model, self._whole)
        state = self._placed(program.structure, self._whole)
        batch = self._placed(program.batch, self._shared)
        step = jax.jit(
            program.function,
            donate_argnums=0,
            out_shardings=(None, jax.tree.map(lambda array: array.sharding, state)),
        )
        return step.lower(state, batch)

    def _placed(self, arrays: Any, sharding: Any) -> Any:
        return self._jax.tree.map(
            lambda array: self._jax.ShapeDtypeStruct(array.shape, array.dtype, sharding=sharding),
            arrays,
        )


def _note_shardings(model: Any, sharding: Any) -> None:
    # Until 3.12 Keras holds a step's new state to shardings that `fit` notes on the model.
    if not hasattr(model, "_enforce_jax_state_sharding"):
        return
    for kind in ("trainable", "non_trainable", "metrics"):
        count = len(getattr(model, f"{kind}_variables"))
        setattr(model, f"_{kind}_variable_shardings", [sharding] * count)
    optimizer = getattr(model, "optimizer", None)
    count = len(optimizer.variables) if optimizer else 0
    model._optimizer_variable_shardings = [sharding] * count


def digest(lowered: Any, *environment: str) -> str:
    """A key for what the compiler says: the program's text, and with what it is compiled."""
    text = "\n".join([*environment, str(lowered.as_text())])
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def figures(program: Program, lowered: Any) -> dict[str, Any]:
    """Compile a program; what the compiler says of it, all sizes in bytes of one chip.

    A program that does not fit, or that the compiler refuses otherwise, has `fits` false, and
    its `message` is the compiler's own.
    """
    facts: dict[str, Any] = {
        "program": program.name,
        "images": program.images,
        "steps": program.steps,
        "parameters": program.model.count_params(),
        "trainable": sum(program.trainable),
        **{f"{kind}_bytes": _bytes(arrays) for kind, arrays in program.state.items()},
    }
    begun, busy = time.monotonic(), time.process_time()
    try:
        compiled, refused = lowered.compile(), ""
    except Exception as error:  # jaxlib raises XlaRuntimeError for all that XLA refuses
        compiled, refused = None, str(error)
    facts |= {
        "seconds": round(time.monotonic() - begun, 1),
        "cpu_seconds": round(time.process_time() - busy, 1),  # other work hardly changes these
    }
    if compiled is None:
        return facts | {"fits": False, **refusal(refused)}
    facts |= {"fits": True, "message": ""}
    text = compiled.as_text()
    collectives = hlo.collectives(text, program.trainable, program.images)
    cost = hlo_cost.cost(text)
    return facts | {
        **_memory(compiled.memory_analysis()),
        "flops": int(compiled.cost_analysis().get("flops", 0)),
        "bytes": cost.hbm_bytes,
        "cycles": cost.cycles,
        "collectives": [asdict(collective) for collective in collectives],
        "float32_convolutions": hlo.float32_convolutions(text),
    }


def refusal(message: str) -> dict[str, Any]:
    """Why a program was refused: the compiler's first lines, and the memory it names in bytes."""
    lines = [line.strip() for line in message.strip().splitlines() if line.strip()]
    sizes = {}
    if match := next(filter(None, (re.search(pattern, message) for pattern in TOO_LARGE)), None):
        unit = {letter: 1024**power for power, letter in enumerate(("", *"KMGT"))}
        needed, needed_unit, available, available_unit = match.groups()
        sizes = {
            "needed_bytes": round(float(needed) * unit[needed_unit]),
            "available_bytes": round(float(available) * unit[available_unit]),
        }
    reason = "memory" if OUT_OF_MEMORY in message else "compiler"
    return {"message": "\n".join(lines[:2])[:600], "reason": reason, **sizes}


def _bytes(arrays: Sequence[Any]) -> int:
    return sum(array.size * array.dtype.itemsize for array in arrays)


def _memory(analysis: Any) -> dict[str, int]:
    arrays = (
        analysis.argument_size_in_bytes
        + analysis.output_size_in_bytes
        - analysis.alias_size_in_bytes
    )
    peak = int(getattr(analysis, "peak_memory_in_bytes", 0) or 0)
    return {
        "argument_bytes": analysis.argument_size_in_bytes,
        "working_bytes": analysis.temp_size_in_bytes,  # activations and the compiler's own buffers
        "code_bytes": analysis.generated_code_size_in_bytes,
        "peak_bytes": max(peak, arrays + analysis.temp_size_in_bytes),
    }
