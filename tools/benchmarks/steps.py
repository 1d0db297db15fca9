"""What a training step costs on JAX beside its arithmetic: by hand, by `fit`, with `Epochs`."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.runtimes import jax_devices, measure

CLASSES = 104
# name: (backbone, pixels, images a step, steps a round, rounds)
NETWORKS = {
    "tiny": ("SmallNet", 32, 8, 60, 15),
    "small": ("SmallNet", 96, 16, 32, 11),
    "large": ("MobileNet-0.75", 96, 16, 4, 7),
}
# The same on a GPU, which computes a step of a small network faster than Python begins the next.
NETWORKS_OF_A_GPU = {
    "MobileNet-0.75 x 16": ("MobileNet-0.75", 192, 16, 160, 7),
    "MobileNet-0.75 x 128": ("MobileNet-0.75", 192, 128, 48, 7),
    "EfficientNetB0 x 16": ("EfficientNetB0", 192, 16, 96, 7),
    "EfficientNetB0 x 128": ("EfficientNetB0", 192, 128, 48, 7),
}
TOGETHER_ON_A_CPU = 4  # steps in one program
TINY = 32  # pixels: on a CPU, XLA computes convolutions in a loop on a single core, and slowly
COMPILING = 3600  # seconds for a network; two idle cores take less than five minutes
Seconds = tuple[float, float]  # of a clock, and of all processors
CLOCKS = ("", "cpu_")


def run() -> dict[str, Any]:
    """For networks on one JAX device, a GPU or else a CPU, in a process of its own each:

    bare        milliseconds of a step, compiled by `jax.jit` and called in a loop
    fit         … by `fit` without a callback at each step
    epochs      … by `fit` with `petals.training.callbacks.Epochs`, as 02_train calls it
    threads     … with Keras's own list of callbacks, which takes a thread for each step
    waiting     … with an `Epochs` for which Keras waits for the device after each step
    together    … with `Epochs` and several steps in one program (`run_together`): eight on a GPU,
                as 02_train has them there, and four on a CPU, of the tiny network only
    cpu_…       the same in milliseconds of all processors' time
    to_fit      `epochs` as a multiple of `fit`: the middle round, and the middle half of them
    to_bare     … of `bare`
    compiled    how often the training step was compiled, over two epochs with `Epochs`

    All ways take turns on the same batch, and each round begins with another one. A ratio is taken
    within a round, where other work on the machine disturbs both alike; of the milliseconds the
    middle round counts. What `fit` does before its first step is not part of a step.
    """
    on_gpu = _platform() == "gpu"
    networks = NETWORKS_OF_A_GPU if on_gpu else NETWORKS
    device = {} if on_gpu else jax_devices(1)
    rows = {}
    with tempfile.TemporaryDirectory() as programs:
        for name, network in networks.items():
            environment = {**device, "JAX_COMPILATION_CACHE_DIR": programs}
            row = measure("steps", environment, *map(str, network), timeout=COMPILING)
            rows[name] = row
            columns = "  ".join(f"{key} {value}" for key, value in row.items())
            print(f"  {name:8} {columns}", flush=True)
    return rows


def _platform() -> str:
    """What JAX computes on; asked in a process of its own, so that this one holds no GPU."""
    asked = [sys.executable, "-c", "import jax; print(jax.default_backend())"]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


def _worker(
    begun: float, backbone: str, size: str, batch: str, steps: str, rounds: str
) -> dict[str, Any]:
    # A loop by hand and `fit` share a program.
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    from petals.accelerators.detect import detect

    device = detect(backend="jax")
    import jax
    import numpy as np
    import tensorflow as tf
    from tensorflow import keras

    from petals.models.build import build
    from petals.training.callbacks import Epochs, Phase, Training, without_waiting
    from petals.training.optimization import TOGETHER, compile_model, set_seed

    set_seed(0, repeatable=False)
    side, images, count = int(size), int(batch), int(steps)
    model = build(backbone, side, CLASSES, weights="none").model
    compile_model(model, np.full(count, 1e-4))
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (images, side, side, 3), np.uint8)
    labels = np.eye(CLASSES, dtype=np.float32)[rng.integers(0, CLASSES, images)]
    dataset = tf.data.Dataset.from_tensors((pixels, labels)).repeat().prefetch(4)
    answers = np.eye(CLASSES, dtype=np.float32)

    class Waiting(Epochs):
        async_safe = False

    class Clock(keras.callbacks.Callback):
        """The time of an epoch's steps, until the device has finished them."""

        def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
            if batch == 0:
                self.begun = _now()

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            self.taken = _since(self.begun)

    def keras_list(callbacks: list[Any], model: Any) -> list[Any]:
        return callbacks

    def by_fit(
        kind: type | None,
        epochs: int = 1,
        model: Any = model,
        listed: Callable[..., Any] = keras_list,
    ) -> Seconds:
        phase = Phase("fine-tune", epochs, count, images)
        clock = Clock()
        callbacks: list[Any] = [clock]
        if kind is not None:
            callbacks.append(kind(phase, Training(), np.arange(CLASSES), lambda: answers))
        model.fit(
            dataset,
            epochs=epochs,
            steps_per_epoch=count,
            shuffle=False,
            verbose=0,
            callbacks=listed(callbacks, model),
        )
        return clock.taken

    compilations = _Compilations()
    by_fit(Epochs, epochs=2, listed=without_waiting)
    row: dict[str, Any] = {"compiled": compilations.of("train_step")}

    step = jax.jit(model.train_step, donate_argnums=0)
    names = ("trainable", "non_trainable", "optimizer", "metrics")
    parts = {f"{name}_variables": True for name in names}

    def by_hand() -> Seconds:
        state = jax.tree.map(jax.numpy.copy, model._get_jax_state(**parts))
        batches = iter(dataset.as_numpy_iterator())
        before = _now()
        for _ in range(count):
            _, state = step(state, jax.device_put(next(batches)))
        jax.block_until_ready(state)
        return _since(before)

    ways: dict[str, Callable[[], Seconds]] = {
        "bare": by_hand,
        "fit": lambda: by_fit(None),
        "epochs": lambda: by_fit(Epochs, listed=without_waiting),
        "threads": lambda: by_fit(Epochs),
        "waiting": lambda: by_fit(Waiting),
    }
    if side <= TINY or not device.on_cpu:
        together = TOGETHER_ON_A_CPU if device.on_cpu else TOGETHER
        joined = build(backbone, side, CLASSES, weights="none").model
        compile_model(joined, np.full(count, 1e-4), steps_per_execution=together)
        ways["together"] = lambda: by_fit(Epochs, model=joined, listed=without_waiting)
    for way in ways.values():  # compiles what is not compiled yet
        way()
    taken: list[dict[str, Seconds]] = []
    for number in range(int(rounds)):
        first = number % len(ways)
        order = [*ways][first:] + [*ways][:first]
        taken.append({way: ways[way]() for way in order})
    return row | compared(taken, count)


def compared(rounds: Sequence[dict[str, Seconds]], steps: int) -> dict[str, Any]:
    """Milliseconds of a step by each way, and the ratios of `run`, from the rounds' seconds."""
    row: dict[str, Any] = {}
    for clock, prefix in enumerate(CLOCKS):
        for way in rounds[0]:
            middle = statistics.median(each[way][clock] for each in rounds)
            row[prefix + way] = round(1e3 * middle / steps, 2)
        for other in ("fit", "bare"):
            ratios = [each["epochs"][clock] / each[other][clock] for each in rounds]
            low, middle, high = statistics.quantiles(ratios, n=4)
            row[f"{prefix}to_{other}"] = f"{middle:.3f} ({low:.3f} to {high:.3f})"
    return row


def _now() -> Seconds:
    return time.perf_counter(), time.process_time()


def _since(before: Seconds) -> Seconds:
    wall, processors = _now()
    return wall - before[0], processors - before[1]


class _Compilations:
    """Counts what JAX says that it compiles, by the name of the function."""

    def __init__(self) -> None:
        import logging

        import jax

        self.messages: list[str] = []
        handler = logging.Handler(logging.DEBUG)
        handler.emit = lambda record: self.messages.append(record.getMessage())  # type: ignore
        logging.getLogger("jax").addHandler(handler)
        jax.config.update("jax_log_compiles", True)

    def of(self, name: str) -> int:
        return sum(text.startswith("Compiling") and name in text for text in self.messages)


if __name__ == "__main__":
    print(json.dumps(_worker(float(sys.argv[1]), *sys.argv[2:])))
