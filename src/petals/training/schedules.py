"""Learning-rate schedules as tables: one rate a step, so that each can be drawn as it will run.

A table works alike under every Keras: looking up a step is the only thing done on the device.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from tensorflow import keras

from petals.errors import SettingError

# The tutorial's figures: ramp from 1e-5 to 5e-5 a replica in 5 epochs, then x 0.8 an epoch
# towards 1e-5 (Kaggle, "Create your first submission", 2020).
RAMP_FROM, RAMP_TO, RAMP_EPOCHS, HOLD_EPOCHS, DECAY = 1e-5, 5e-5, 5, 0, 0.8


@dataclass(frozen=True)
class Schedule:
    """A name, its default peak rates, and its shape: (epoch, epochs) -> share of the peak.

    `peak` is for fine-tuning on one replica, `head_peak` for a head on stored features.
    """

    name: str
    peak: float
    shape: Callable[[np.ndarray, float], np.ndarray]
    head_peak: float = 1e-2


def _ramp_hold_decay(epoch: np.ndarray, epochs: float) -> np.ndarray:
    ramp = min(RAMP_EPOCHS, epochs / 3)
    low = RAMP_FROM / RAMP_TO
    rising = low + (1 - low) * epoch / ramp
    falling = low + (1 - low) * DECAY ** (epoch - ramp - HOLD_EPOCHS)
    return np.where(epoch < ramp, rising, np.where(epoch < ramp + HOLD_EPOCHS, 1.0, falling))


def _cosine(epoch: np.ndarray, epochs: float) -> np.ndarray:
    warm_up = min(1.0, 0.1 * epochs)
    progress = np.clip((epoch - warm_up) / max(epochs - warm_up, 1e-9), 0, 1)
    return np.where(epoch < warm_up, epoch / warm_up, 0.5 * (1 + np.cos(math.pi * progress)))


def _exponential(epoch: np.ndarray, epochs: float) -> np.ndarray:
    return 0.01 ** (epoch / epochs)  # down to a hundredth by the end, however many epochs


def _constant(epoch: np.ndarray, epochs: float) -> np.ndarray:
    return np.ones_like(epoch)


SCHEDULES = {
    s.name: s
    for s in (
        Schedule("ramp", RAMP_TO, _ramp_hold_decay),
        Schedule("cosine", 1e-4, _cosine),
        Schedule("exponential", 1e-4, _exponential, head_peak=0.005),
        Schedule("constant", 1e-4, _constant),
    )
}


def find(name: str) -> Schedule:
    """The schedule of that name; raises `SettingError` that lists them."""
    if name not in SCHEDULES:
        raise SettingError(f"schedule {name!r}: one of {', '.join(SCHEDULES)}")
    return SCHEDULES[name]


def rates(
    name: str,
    epochs: int,
    steps_per_epoch: int,
    *,
    learning_rate: float = 0.0,
    replicas: int = 1,
) -> np.ndarray:
    """The rate of each step, float32 (epochs * steps_per_epoch,).

    `learning_rate` is the peak for one replica, 0 = the schedule's own; it is multiplied by
    `replicas`, as the global batch is. Raises `SettingError` for an unknown name or values
    out of range.
    """
    schedule = find(name)
    if epochs < 1 or steps_per_epoch < 1 or replicas < 1 or learning_rate < 0:
        raise SettingError(
            f"a schedule needs epochs, steps and replicas of at least 1 and a rate of at least 0, "
            f"not {epochs}, {steps_per_epoch}, {replicas} and {learning_rate}"
        )
    epoch = np.arange(1, epochs * steps_per_epoch + 1) / steps_per_epoch
    peak = (learning_rate or schedule.peak) * replicas
    return (peak * schedule.shape(epoch, float(epochs))).astype(np.float32)


@keras.utils.register_keras_serializable("petals")
class RateTable(keras.optimizers.schedules.LearningRateSchedule):
    """A Keras schedule that looks the step's rate up; past the end it keeps the last."""

    def __init__(self, values: np.ndarray | list[float]) -> None:
        self.values = [float(value) for value in values]

    def __call__(self, step):
        if hasattr(keras, "ops"):
            last = len(self.values) - 1
            index = keras.ops.minimum(keras.ops.cast(step, "int32"), last)
            return keras.ops.take(keras.ops.convert_to_tensor(self.values, "float32"), index)
        import tensorflow as tf

        index = tf.minimum(tf.cast(step, tf.int32), len(self.values) - 1)
        return tf.gather(tf.constant(self.values, tf.float32), index)

    def get_config(self) -> dict:
        """What Keras needs to save and rebuild it."""
        return {"values": self.values}
