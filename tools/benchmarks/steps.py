"""What a training step costs on JAX beside its arithmetic: by hand, by `fit`, with `Epochs`."""

import json
import sys
import time
from typing import Any

from benchmarks.runtimes import jax_devices, measure

CLASSES = 104
# name: (backbone, pixels, images a step, steps a round)
NETWORKS = {
    "small": ("SmallNet", 32, 8, 200),
    "large": ("MobileNet-0.75", 64, 8, 8),
}
ROUNDS = 6
WAYS = ("bare", "fit", "epochs", "waiting", "together")
TOGETHER = 4  # steps in one program
Seconds = tuple[float, float]  # of a clock, and of all processors


def run() -> dict[str, Any]:
    """For a small and a large network on one JAX device, in a process of its own:

    bare        milliseconds of a step, compiled by `jax.jit` and called in a loop
    fit         … by `fit` without a callback
    epochs      … by `fit` with `petals.training.callbacks.Epochs`
    waiting     … with an `Epochs` for which Keras waits for the device after each step
    together    … with `Epochs` and four steps in one program (`run_together`)
    cpu_…       the same in milliseconds of all processors' time, which other work on the machine
                hardly changes
    ratio       of `epochs` to `fit`, and cpu_ratio
    compiled    how often the training step was compiled, over two epochs with `Epochs`

    All ways take turns on the same batch, and the fastest round of each counts.
    """
    rows = {}
    for name, network in NETWORKS.items():
        row = measure("steps", jax_devices(1), *map(str, network))
        rows[name] = row
        columns = "  ".join(f"{key} {value}" for key, value in row.items())
        print(f"  {name:8} {columns}", flush=True)
    return rows


def _worker(begun: float, backbone: str, size: str, batch: str, steps: str) -> dict[str, Any]:
    from petals.accelerators.detect import detect

    detect("tpu")
    import jax
    import numpy as np
    import tensorflow as tf

    from petals.models.build import build
    from petals.training.callbacks import Epochs, Phase, Training
    from petals.training.optimization import compile_model, set_seed

    set_seed(0, repeatable=False)
    side, images, count = int(size), int(batch), int(steps)
    model, joined = (build(backbone, side, CLASSES, weights="none").model for _ in range(2))
    compile_model(model, np.full(count, 1e-4))
    compile_model(joined, np.full(count, 1e-4), steps_per_execution=TOGETHER)
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (images, side, side, 3), np.uint8)
    labels = np.eye(CLASSES, dtype=np.float32)[rng.integers(0, CLASSES, images)]
    dataset = tf.data.Dataset.from_tensors((pixels, labels)).repeat().prefetch(4)
    answers = np.eye(CLASSES, dtype=np.float32)

    class Waiting(Epochs):
        async_safe = False

    def by_fit(kind: type | None, epochs: int = 1, model: Any = model) -> Seconds:
        phase = Phase("fine-tune", epochs, count, images)
        callbacks = []
        if kind is not None:
            callbacks = [kind(phase, Training(), np.arange(CLASSES), lambda: answers)]
        before = _now()
        model.fit(
            dataset,
            epochs=epochs,
            steps_per_epoch=count,
            shuffle=False,
            verbose=0,
            callbacks=callbacks,
        )
        return _since(before)

    compilations = _Compilations()
    by_fit(Epochs, epochs=2)
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

    ways = {
        "bare": by_hand,
        "fit": lambda: by_fit(None),
        "epochs": lambda: by_fit(Epochs),
        "waiting": lambda: by_fit(Waiting),
        "together": lambda: by_fit(Epochs, model=joined),
    }
    for way in ("bare", "together"):  # compiles it
        ways[way]()
    rounds: dict[str, list[Seconds]] = {way: [] for way in WAYS}
    for _ in range(ROUNDS):
        for way in WAYS:
            rounds[way].append(ways[way]())
    for prefix, clock in (("", 0), ("cpu_", 1)):
        best = {way: min(each[clock] for each in rounds[way]) for way in WAYS}
        row |= {prefix + way: round(1e3 * best[way] / count, 2) for way in WAYS}
        row[f"{prefix}ratio"] = round(best["epochs"] / best["fit"], 3)
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
