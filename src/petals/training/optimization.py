"""How training computes: the seed, the schedule, the optimizer, the loss.

A schedule is a table with one rate per step, so that it can be plotted exactly as it will run. A
table works in the same way under every Keras: the device only looks up the step.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow import keras

from petals.accelerators import keras_backend
from petals.accelerators.detect import Accelerator
from petals.training.layer_decay import LayerWiseAdamW, rate_shares

# The tutorial's values: ramp from 1e-5 to 5e-5 per replica in 5 epochs, then x 0.8 per epoch
# towards 1e-5 (Kaggle, "Create your first submission", 2020).
RAMP_FROM = 1e-5
RAMP_TO = 5e-5
RAMP_EPOCHS = 5
DECAY = 0.8
CROSS_ENTROPY = "cross_entropy"  # the metric that history.csv has as the loss
TOGETHER = 8  # steps in one call of a GPU
WHOLE = 32  # calls of an epoch, at least, where they take several steps


@dataclass(frozen=True)
class Schedule:
    """The default peak rates of a schedule, and its shape: (epoch, epochs) -> share of the peak.

    `peak` is for fine-tuning on one replica, `head_peak` for a head on stored features.
    """

    peak: float
    shape: Callable[[np.ndarray, float], np.ndarray]
    head_peak: float = 1e-2


def _ramp(epoch: np.ndarray, epochs: float) -> np.ndarray:
    ramp = min(RAMP_EPOCHS, epochs / 3)
    low = RAMP_FROM / RAMP_TO
    rising = low + (1 - low) * epoch / ramp
    falling = low + (1 - low) * DECAY ** (epoch - ramp)
    return np.where(epoch < ramp, rising, falling)


def _cosine(epoch: np.ndarray, epochs: float) -> np.ndarray:
    warm_up = min(1.0, 0.1 * epochs)
    progress = np.clip((epoch - warm_up) / max(epochs - warm_up, 1e-9), 0, 1)
    return np.where(epoch < warm_up, epoch / warm_up, 0.5 * (1 + np.cos(math.pi * progress)))


SCHEDULES = {
    "ramp": Schedule(RAMP_TO, _ramp),
    "cosine": Schedule(1e-4, _cosine),
    # down to a hundredth by the end, however many epochs
    "exponential": Schedule(1e-4, lambda epoch, epochs: 0.01 ** (epoch / epochs), head_peak=0.005),
    "constant": Schedule(1e-4, lambda epoch, epochs: np.ones_like(epoch)),
}


def learning_rates(
    name: str,
    epochs: int,
    steps_per_epoch: int,
    *,
    learning_rate: float = 0.0,
    replicas: int = 1,
) -> np.ndarray:
    """The rate of each step, float32 (epochs * steps_per_epoch,).

    `learning_rate` is the peak for one replica, 0 = the schedule's own; it is multiplied by
    `replicas`, as the global batch is. `petals.settings` refuses an unknown `name`.
    """
    schedule = SCHEDULES[name]
    epoch = np.arange(1, epochs * steps_per_epoch + 1) / steps_per_epoch
    peak = (learning_rate or schedule.peak) * replicas
    return (peak * schedule.shape(epoch, float(epochs))).astype(np.float32)


@keras.utils.register_keras_serializable("petals")
class RateTable(keras.optimizers.schedules.LearningRateSchedule):
    """A Keras schedule that looks up the step's rate; past the end it returns the last."""

    def __init__(self, values: np.ndarray | list[float]) -> None:
        self.values = [float(value) for value in values]

    def __call__(self, step):
        if hasattr(keras, "ops"):
            last = len(self.values) - 1
            index = keras.ops.minimum(keras.ops.cast(step, "int32"), last)
            return keras.ops.take(keras.ops.convert_to_tensor(self.values, "float32"), index)
        index = tf.minimum(tf.cast(step, tf.int32), len(self.values) - 1)
        return tf.gather(tf.constant(self.values, tf.float32), index)

    def get_config(self) -> dict:
        """What Keras needs to save and rebuild it."""
        return {"values": self.values}


def set_seed(seed: int, repeatable: bool = True) -> None:
    """Seed Python, numpy and Keras; `repeatable` makes TensorFlow's ops deterministic.

    That is slower on a GPU, and costs nothing measurable on a CPU.
    """
    keras.utils.set_random_seed(seed)
    if repeatable:
        tf.config.experimental.enable_op_determinism()


def compile_model(
    model: keras.Model,
    rates: np.ndarray,
    *,
    weight_decay: float = 0.0,
    label_smoothing: float = 0.0,
    steps_per_execution: int = 1,
    network: keras.Model | None = None,
    layer_decay: float = 1.0,
) -> None:
    """AdamW on cross-entropy over one-hot labels, with the rates of a schedule.

    `layer_decay` in (0, 1]: of the blocks of `network`, the backbone in the model.

    The metric `cross_entropy` is
    the loss without label smoothing, which a validation loss can be compared with. Weight decay
    (Loshchilov & Hutter, 2019) excludes biases and normalisation. `steps_per_execution`: the steps
    that one call of the device takes, which must divide those of an epoch; on JAX they are one
    program, as `run_together` says and `steps_of_epoch` chooses.
    """
    with keras_backend.scope(model):
        if layer_decay < 1:
            shares = rate_shares(network, layer_decay)
            optimizer = LayerWiseAdamW(RateTable(rates), shares, weight_decay=weight_decay)
        else:
            optimizer = keras.optimizers.AdamW(RateTable(rates), weight_decay=weight_decay)
        optimizer.exclude_from_weight_decay(var_names=["bias", "gamma", "beta"])
        model.compile(
            optimizer,
            loss=keras.losses.CategoricalCrossentropy(label_smoothing=label_smoothing),
            metrics=[
                keras.metrics.CategoricalAccuracy(name="accuracy"),
                keras.metrics.CategoricalCrossentropy(name=CROSS_ENTROPY),
            ],
            steps_per_execution=steps_per_execution,
            jit_compile=suits_xla(model),
        )
    if steps_per_execution > 1 and keras_backend.is_jax():
        run_together(model)


def steps_of_epoch(images: int, batch: int, device: Accelerator) -> tuple[int, int]:
    """(steps of an epoch of so many images, how many of them one call of the device takes).

    `batch`: images of a step, on all replicas. On a GPU, the host begins a step of a small network
    more slowly than the device computes it, so on JAX a call takes up to `TOGETHER` steps: on an
    H200 that made steps of 16 and 128 images 1.3 to 1.6 times as fast (tools/benchmark.py steps).
    The steps are then a multiple of these, and an epoch leaves out up to a 32nd of the images.
    Elsewhere a call takes one step. On TensorFlow four gained 8 %, and Keras 3 cannot under
    MirroredStrategy. For a TPU, eight compiled twice as long, and by the compiler's estimate each
    of them took 8 % longer.
    """
    steps = max(1, images // batch)
    together = 1
    if device.kind == "gpu" and device.backend == keras_backend.JAX and not device.on_cpu:
        while together < TOGETHER and steps >= 2 * together * WHOLE:
            together *= 2
    return steps // together * together, together


def run_together(model: keras.Model) -> None:
    """Make one program of a compiled model's steps of an execution, on JAX.

    By itself Keras calls the program of a single step so many times, which spares the host little:
    for a small model it takes longer to begin a step than the device to finish it. The numbers are
    the same. Call it after each `compile`; the steps of an epoch must be a multiple of those.
    """
    import jax

    def steps(state: Any, batches: list[Any]) -> tuple[Any, Any]:
        stacked = jax.tree.map(lambda *parts: jax.numpy.stack(parts), *batches)

        def step(state: Any, batch: Any) -> tuple[Any, Any]:
            logs, state = model.train_step(state, batch)
            return state, logs

        state, logs = jax.lax.scan(step, state, stacked)
        return jax.tree.map(lambda values: values[-1], logs), state

    compiled: list[Callable[..., Any]] = []

    def train_function(state: Any, batches: Iterator[Any]) -> tuple[Any, Any]:
        taken = list(islice(batches, model.steps_per_execution))
        if not compiled:  # only now are all variables there, each in its place
            places = jax.tree.map(lambda array: array.sharding, state)
            shared = keras_backend.replicas(model) > 1
            places = (None, places) if shared else None
            compiled.append(jax.jit(steps, donate_argnums=0, out_shardings=places))
        return compiled[0](state, taken)

    model.train_function = train_function


def suits_xla(model: keras.Model) -> bool:
    """Whether XLA should compile the model's training step: on JAX, and on a single GPU."""
    # XLA harms convolutions on a CPU: 11 images a second where TensorFlow's own kernels did 400
    # (MobileNet-0.75 at 192 px, 2 cores). It cannot compile the step that several devices of
    # tf.distribute share; Keras's own default knows that.
    if hasattr(keras, "config") and keras.config.backend() == "jax":
        return True
    return bool(tf.config.list_physical_devices("GPU")) and keras_backend.replicas(model) == 1
