"""Every runtime on this machine: head extraction, fine-tuning, and what eight replicas cost."""

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from kernelkit.errors import KernelkitError

BACKBONE = "SmallNet"
SIZE = 96
CLASSES = 104
BATCH = 256  # over all replicas: 32 for each of eight, as 02_train has it
TIMEOUT = 900  # seconds of a measurement; an idle machine takes a tenth of it
STEPS, EPOCHS = 4, 3  # an epoch's steps, and the epochs of each number of steps a call


@dataclass(frozen=True)
class Runtime:
    """One way to run Keras; `alone` is the same with one replica, to compare eight with."""

    name: str
    environment: dict[str, str] = field(default_factory=dict)
    alone: str = ""


def jax_devices(count: int) -> dict[str, str]:
    """The environment of JAX on so many CPU devices, as a rehearsed TPU session has it."""
    return {
        "KAGGLE_REHEARSAL": "tpu",
        "XLA_FLAGS": f"--xla_force_host_platform_device_count={count}",
        "JAX_PLATFORMS": "cpu",
    }


def _mirrored(kind: str, count: int) -> dict[str, str]:
    return {"KAGGLE_REHEARSAL": f"{kind}:{count}"}


# Those of `petals.accelerators.detect`, on CPU devices.
RUNTIMES = (
    Runtime("TensorFlow"),
    Runtime("TensorFlow, mirrored x8", _mirrored("gpu", 8), "TensorFlow"),
    Runtime("JAX x1", jax_devices(1)),
    Runtime("JAX x8", jax_devices(8), "JAX x1"),
    Runtime("tf_keras, mirrored x1", _mirrored("tpu-tensorflow", 1)),
    Runtime("tf_keras, mirrored x8", _mirrored("tpu-tensorflow", 8), "tf_keras, mirrored x1"),
)


def run() -> dict[str, Any]:
    """For each runtime, in a process of its own:

    head              images a second of feature extraction
    tune_1, tune_4    images a second of fine-tuning, with so many steps a call
    cpu_ms_1, …       milliseconds of all processors' time that one of those images takes
    first_step        seconds from the process's start to the end of the first step
    first_step_cpu    the processors' part of it
    memory_mb         resident after the second and after the last epoch
    overhead          of eight replicas over one at the same batch, in processors' time, which
                      other work on the machine hardly changes
    """
    from petals.data.source import find_source

    data = find_source("embedded", SIZE).root
    rows: dict[str, dict[str, Any]] = {}
    for runtime in RUNTIMES:
        with tempfile.TemporaryDirectory() as cache:
            environment = {"PETALS_CACHE": cache, **runtime.environment}
            row = measure("runtimes", environment, data)
        if runtime.alone:
            row["overhead"] = _overhead(row, rows[runtime.alone])
        rows[runtime.name] = row
        print(f"  {runtime.name:24} " + "  ".join(f"{k} {v}" for k, v in row.items()), flush=True)
    return rows


def measure(module: str, environment: dict[str, str], *arguments: str) -> dict[str, Any]:
    """What `python -m benchmarks.<module>` prints as JSON in its last line.

    A runtime is chosen once, before Keras is imported, so each has a process of its own. It gets
    the present time and these arguments. `environment` is added to this process's environment
    without the variables that choose a device or a backend.
    """
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("KERAS_", "XLA_", "JAX_"))}
    path = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
    try:
        done = subprocess.run(
            [sys.executable, "-m", f"benchmarks.{module}", str(time.time()), *arguments],
            env={**kept, "PYTHONPATH": path, "TF_CPP_MIN_LOG_LEVEL": "3", **environment},
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
        )
    except subprocess.TimeoutExpired:
        raise KernelkitError(
            f"benchmarks.{module} {' '.join(arguments)} took over {TIMEOUT} s: is the machine busy?"
        ) from None
    if done.returncode:
        raise KernelkitError(f"benchmarks.{module} {' '.join(arguments)} failed:\n{done.stderr}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def _overhead(eight: dict[str, Any], single: dict[str, Any]) -> str:
    def least(row: dict[str, Any]) -> float:
        return min(value for name, value in row.items() if name.startswith("cpu_ms"))

    return f"{least(eight) / least(single) - 1:+.0%}"


def _worker(begun: float, data: str) -> dict[str, Any]:
    from petals.accelerators.detect import detect

    rehearsed = os.environ.get("KAGGLE_REHEARSAL", "")
    device = detect("auto" if rehearsed else "cpu")
    import numpy as np

    from petals.data import pipeline
    from petals.data.shards import Split
    from petals.models.build import build
    from petals.training.features import FeatureExtractor
    from petals.training.optimization import compile_model, set_seed

    set_seed(0, repeatable=False)
    with device.scope():
        classifier = build(BACKBONE, SIZE, CLASSES, weights="none")
    train = Split.find(data, SIZE, "train")
    model = classifier.model
    row: dict[str, Any] = {}
    rates = np.full(EPOCHS * STEPS, 1e-3)
    for steps in (1, STEPS):
        watch = _Watch()
        try:
            with device.scope():
                compile_model(model, rates, steps_per_execution=steps)
            dataset = pipeline.Batches(train, BATCH, CLASSES, deterministic=True).dataset()
            model.fit(
                dataset,
                epochs=EPOCHS,
                steps_per_epoch=STEPS,
                verbose=0,
                callbacks=[watch.callback()],
            )
        except Exception as error:  # what a runtime cannot do is a result
            row[f"tune_{steps}"] = type(error).__name__
            continue
        row[f"tune_{steps}"] = round(watch.rate)
        if steps == 1:
            row["first_step"] = round(watch.first - begun, 1)
            row["first_step_cpu"] = round(watch.first_cpu, 1)
            row["memory_mb"] = watch.memory
        row[f"cpu_ms_{steps}"] = round(1e3 * watch.cpu, 2)
    extract = FeatureExtractor(classifier.features, "benchmark", device)
    extract(Split.find(data, SIZE, "val"))  # traced and compiled
    before = time.perf_counter()
    extracted = extract(train)
    row["head"] = round(len(extracted.values) / (time.perf_counter() - before))
    return row


class _Watch:
    """Times a fit: the best epoch from the second on, its processors' time, its memory."""

    def __init__(self) -> None:
        self.first = self.first_cpu = 0.0
        self.memory: list[int] = []
        self._wall: list[float] = []
        self._cpu: list[float] = []

    @property
    def rate(self) -> float:
        return BATCH * STEPS / min(_differences(self._wall)[1:])

    @property
    def cpu(self) -> float:
        return min(_differences(self._cpu)[1:]) / (BATCH * STEPS)

    def callback(self) -> Any:
        import psutil
        from tensorflow import keras

        def batch(number: int, logs: Any) -> None:
            self.first = self.first or time.time()
            self.first_cpu = self.first_cpu or time.process_time()

        def epoch(number: int, logs: Any) -> None:
            self._mark()
            if number in (1, EPOCHS - 1):
                self.memory.append(round(psutil.Process().memory_info().rss / 1e6))

        return keras.callbacks.LambdaCallback(
            on_train_begin=lambda logs: self._mark(), on_train_batch_end=batch, on_epoch_end=epoch
        )

    def _mark(self) -> None:
        self._wall.append(time.perf_counter())
        self._cpu.append(time.process_time())


def _differences(marks: list[float]) -> list[float]:
    return [after - before for before, after in pairwise(marks)]


if __name__ == "__main__":
    print(json.dumps(_worker(float(sys.argv[1]), *sys.argv[2:])))
