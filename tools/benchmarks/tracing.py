"""What tracing a training step costs, and what loading the same step by `jax.export` costs."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.runtimes import jax_devices, measure
from kernelkit.project import find_project
from kernelkit.tpu import check

NOTEBOOK = Path(__file__).resolve().parents[2] / "notebooks" / "02_train.ipynb"
BACKBONES = ("MobileNet", "EfficientNetB0", "EfficientNetB7")
DEVICES, BATCH, SIZE = 8, 16, 192
PLATFORMS = ("cpu", "tpu")  # a desk would trace for a session's TPU


def run() -> dict[str, Any]:
    """For each backbone, seconds of processor time on eight CPU devices, in a process of its own:

    import, build, trace, lower   what a session does before XLA compiles a training step
    export, megabytes             the step serialised for CPUs and TPUs, once
    load, lower_loaded            what a session would do with it instead of tracing
    """
    rows = {}
    for backbone in BACKBONES:
        with tempfile.TemporaryDirectory() as folder:
            program = str(Path(folder, "step"))
            environment = jax_devices(DEVICES)
            rows[backbone] = measure("tracing", environment, backbone, program)
            rows[backbone] |= measure("tracing", environment, program)
        figures = "  ".join(f"{name} {value}" for name, value in rows[backbone].items())
        print(f"  {backbone:16} {figures}", flush=True)
    return rows


class _Clock:
    """Seconds of processor time that each piece of work took, by name."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def __call__(self, name: str, work: Callable[[], Any]) -> Any:
        begun = time.process_time()
        result = work()
        self.seconds[name] = round(time.process_time() - begun, 1)
        return result


def _trace(backbone: str, path: Path) -> dict[str, float]:
    clock = _Clock()
    device = clock("import", _device)
    import jax
    from jax import export
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    from petals.ahead_of_time import programs

    overrides = {"backbone": backbone, "image_size": SIZE, "batch_size": BATCH, "fine_tune": "all"}
    values = check.values_of(find_project(NOTEBOOK), NOTEBOOK, overrides)
    program = clock("build", lambda: next(programs.of_run(values, device, (check.TRAINING,))))
    mesh = Mesh(jax.devices(), ("batch",))

    def placed(arrays: Any, *axes: str) -> Any:
        place = NamedSharding(mesh, PartitionSpec(*axes))
        return jax.tree.map(
            lambda one: jax.ShapeDtypeStruct(one.shape, one.dtype, sharding=place), arrays
        )

    shapes = placed(program.state), placed(program.batch, "batch")
    step = jax.jit(program.function, donate_argnums=0)
    traced = clock("trace", lambda: step.trace(*shapes))
    clock("lower", traced.lower)
    exported = clock("export", lambda: export.export(step, platforms=PLATFORMS)(*shapes))
    content = exported.serialize()
    path.write_bytes(content)
    return clock.seconds | {"megabytes": round(len(content) / 1e6, 1)}


def _load(path: Path) -> dict[str, float]:
    import jax
    from jax import export

    clock = _Clock()
    exported = clock("load", lambda: export.deserialize(path.read_bytes()))
    shapes = exported.in_shardings_jax(jax.sharding.Mesh(jax.devices(), ("batch",)))
    arrays = [
        jax.ShapeDtypeStruct(one.shape, one.dtype, sharding=place)
        for one, place in zip(exported.in_avals, shapes, strict=True)
    ]
    args, keywords = jax.tree.unflatten(exported.in_tree, arrays)
    step = jax.jit(exported.call, donate_argnums=0)
    clock("lower_loaded", lambda: step.lower(*args, **keywords))
    return clock.seconds


def _device() -> Any:
    from petals.accelerators import detect

    return detect.detect("tpu", "mixed_bfloat16")


if __name__ == "__main__":
    arguments = sys.argv[2:]
    if len(arguments) == 2:
        result = _trace(arguments[0], Path(arguments[1]))
    else:
        result = _load(Path(arguments[0]))
    print(json.dumps(result))
