"""python -m petals.ahead_of_time.check: compile a run's programs for a TPU that is not there.

Reads one JSON object from standard input:

    {"parameters": {…}, "chips": {"topology", "bounds", "accelerator_type"}, "programs": [names]}

and writes one JSON object per line: {"event": "compiling" | "program" | "error", …}. An empty
`programs` means all that the run has. `libtpu`, the TPU's own compiler, compiles for a topology
that is described.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from petals.accelerators import keras_backend
from petals.ahead_of_time.hlo import CompiledText
from petals.errors import AcceleratorError, PetalsError, SettingError

if TYPE_CHECKING:
    from petals.ahead_of_time.programs import Program

PACKAGES = ("jax", "libtpu", "keras")
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


def run(request: Mapping[str, Any], tell: Callable[..., None]) -> None:
    """Compile what the request asks for, and `tell(event, **facts)` what comes of it."""
    prepare_environment(request["chips"])
    compiler = Compiler(request["chips"])
    keras_backend.choose(keras_backend.JAX)
    from petals.ahead_of_time import programs  # imports Keras

    settings = request["parameters"]
    device = programs.device_for(compiler.devices, compiler.name, settings)
    versions = {name: importlib.metadata.version(name) for name in PACKAGES}
    tell("environment", devices=compiler.devices, name=compiler.name, versions=versions)
    for program in programs.of_run(settings, device, request["programs"]):
        tell("compiling", program=program.name)
        tell("program", **figures(program, compiler.lower(program)), versions=versions)


def prepare_environment(chips: Mapping[str, Any]) -> None:
    """Set what JAX and libtpu read when they are imported.

    No TPU is looked for, no metadata server is asked, and another process may hold libtpu, too.
    """
    os.environ |= {
        "JAX_PLATFORMS": "cpu",
        "TPU_SKIP_MDS_QUERY": "1",
        "TPU_ACCELERATOR_TYPE": chips["accelerator_type"],
        "TPU_WORKER_HOSTNAMES": "localhost",
        "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
    }
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    for name in FOREIGN:
        os.environ.pop(name, None)


class Compiler:
    """Compiles programs for the chips of one machine, all of them on one host.

    `chips`: as libtpu describes them, `topology` such as "v5e:2x4", and `bounds`, the chips of the
    host along each axis. Call `prepare_environment` before the first one.
    """

    def __init__(self, chips: Mapping[str, Any]) -> None:
        import numpy as np
        from jax._src.interpreters import pxla
        from jax.experimental import topologies
        from jax.sharding import Mesh, NamedSharding, PartitionSpec

        # After compiling, JAX asks the client of the devices for their default layouts. Devices
        # that are only described have none in libtpu 0.0.17, and the process would crash.
        pxla.is_default_layout = lambda *_: True
        topology = chips["topology"]
        try:
            described = topologies.get_topology_desc(
                platform="tpu", topology_name=topology, chips_per_host_bounds=tuple(chips["bounds"])
            )
        except Exception as error:  # jaxlib raises kinds of its own
            raise AcceleratorError(f"libtpu does not know {topology}: {error}") from None
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

        if program.images % self.devices:
            raise SettingError(
                f"{program.name}: a batch of {program.images} images cannot be shared by "
                f"{self.devices} devices: give a multiple of {self.devices}"
            )
        _note_shardings(program.model, self._whole)
        state = placed(program.state, self._whole)
        batch = placed(program.batch, self._shared)
        step = jax.jit(
            program.function,
            donate_argnums=0,
            out_shardings=(None, jax.tree.map(lambda array: array.sharding, state)),
        )
        return step.lower(state, batch)


def placed(arrays: Any, sharding: Any) -> Any:
    """The shapes of a tree of arrays, with a sharding."""
    import jax

    return jax.tree.map(
        lambda array: jax.ShapeDtypeStruct(array.shape, array.dtype, sharding=sharding), arrays
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


def figures(program: Program, lowered: Any) -> dict[str, Any]:
    """Compile a program; what the compiler says of it, all sizes in bytes of one chip.

    A program that does not fit, or that the compiler refuses otherwise, has `fits` false, and
    its `message` is the compiler's own.
    """
    trained, others, *optimizer = program.state
    facts: dict[str, Any] = {
        "program": program.name,
        "images": program.images,
        "steps": program.steps,
        "parameters": program.model.count_params(),
        "parameters_bytes": _bytes([*trained, *others]),
        "optimizer_bytes": _bytes(optimizer[0] if optimizer else ()),
    }
    begun, busy = time.monotonic(), time.process_time()
    try:
        compiled = lowered.compile()
        refused = ""
    except Exception as error:  # jaxlib raises XlaRuntimeError for all that XLA refuses
        compiled = None
        refused = str(error)
    facts |= {
        "seconds": round(time.monotonic() - begun, 1),
        "cpu_seconds": round(time.process_time() - busy, 1),  # other work hardly changes these
    }
    if compiled is None:
        return facts | {"fits": False, **refusal(refused)}
    text = CompiledText(compiled.as_text())
    cost = text.cost()
    return facts | {
        "fits": True,
        "message": "",
        **_memory(compiled.memory_analysis()),
        "flops": int(compiled.cost_analysis().get("flops", 0)),
        "bytes": cost.hbm_bytes,
        "cycles": cost.cycles,
        "collectives": text.collectives(),
        "float32_convolutions": text.float32_convolutions(),
    }


def refusal(message: str) -> dict[str, Any]:
    """Why a program was refused: the compiler's first lines, and the memory it names in bytes."""
    lines = [line.strip() for line in message.strip().splitlines() if line.strip()]
    facts: dict[str, Any] = {"message": "\n".join(lines[:2])[:600]}
    for pattern in TOO_LARGE:
        match = re.search(pattern, message)
        if match:
            needed, available = (_in_bytes(*size) for size in re.findall(_SIZE, match[0]))
            facts["needed_bytes"] = needed
            facts["available_bytes"] = available
            break
    return facts | {"reason": "memory" if OUT_OF_MEMORY in message else "compiler"}


def _in_bytes(number: str, unit: str) -> int:
    """A size such as 1.5 G, in bytes."""
    return round(float(number) * 1024 ** (1 + "KMGT".find(unit or "-")))


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
        "working_bytes": analysis.temp_size_in_bytes,  # activations and the compiler's own buffers
        "code_bytes": analysis.generated_code_size_in_bytes,
        "peak_bytes": max(peak, arrays + analysis.temp_size_in_bytes),
    }


def main() -> int:
    """Answer the request on standard input; returns the exit code."""
    request = json.loads(sys.stdin.read())
    # Libraries print as they like: what they write to standard output goes to standard error.
    events = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def tell(event: str, **facts: Any) -> None:
        events.write(json.dumps({"event": event, **facts}) + "\n")
        events.flush()

    try:
        run(request, tell)
    except PetalsError as error:
        tell("error", kind=type(error).__name__, text=str(error))
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
