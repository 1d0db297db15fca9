"""Augmentation: the host draws a few numbers for each image, the device changes the pixels.

The numbers are drawn from (seed, step) for the whole batch of all devices and hosts, so an image
is changed alike by each runtime, by any number of devices, and by a run that was resumed. The
pixels are changed by `Augmentation.apply`, one set of functions for TensorFlow and JAX.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from petals.data.array_ops import of
from petals.data.augment_draws import by_name, drawn
from petals.data.augment_levels import LEVELS, MIXES, Strength
from petals.data.augment_pixels import partner, stages_of
from petals.errors import SettingError


def augmentation(level: str, mix: str = "none") -> Augmentation | None:
    """The augmentation of these names; None where both are "none".

    Raises `SettingError` for a name that is not in `LEVELS` or `MIXES`.
    """
    if level not in LEVELS:
        raise SettingError(f"augment {level!r}: one of {', '.join(LEVELS)}")
    if mix not in MIXES:
        raise SettingError(f"mix {mix!r}: one of {', '.join(MIXES)}")
    return None if (level, mix) == ("none", "none") else Augmentation(level, mix)


@dataclass(frozen=True)
class Augmentation:
    """One of `LEVELS` and one of `MIXES`."""

    level: str = "none"
    mix: str = "none"

    @property
    def strength(self) -> Strength | None:
        """What the level stands for."""
        return LEVELS[self.level]

    def draw(self, key: tf.Tensor, count: int | tf.Tensor, size: int) -> tf.Tensor:
        """What to do to each image of a batch: float32 (count, columns), on the host.

        `key`: int64 (2,), a seed and a step; `count`: images of the batch over all devices and
        hosts; `size`: their side in pixels.
        """
        return drawn(self.strength, key, count, size)

    def apply(
        self, images: Any, changes: Any, *, dense: bool = False, dtype: str = "float32"
    ) -> Any:
        """uint8 (n, size, size, 3) and their rows of `draw` to uint8 of the same shape.

        TensorFlow or JAX, on any device. `dense`: the way of `petals.data.resampling` that suits
        a TPU; `dtype`: of the pixels in between. With a mix, n is even: images change in pairs.
        """
        for stage in stages_of(self.strength, self.mix, dense, dtype):
            images = stage(images, changes)
        return images

    def compiled(self) -> Callable[[tf.Tensor, tf.Tensor], tf.Tensor]:
        """`apply` for TensorFlow on a CPU: by XLA, up to five times as fast as op by op.

        Each stage is a program of its own. In one program, XLA computes the first pass over the
        pixels again for each of the pixels that the second one looks up.
        """
        stages = [
            tf.function(stage, jit_compile=True, autograph=False)
            for stage in stages_of(self.strength, self.mix, dense=False, dtype="float32")
        ]

        def apply(images: tf.Tensor, changes: tf.Tensor) -> tf.Tensor:
            for stage in stages:
                images = stage(images, changes)
            return images

        return tf.function(apply, autograph=False)

    def labels(self, labels: tf.Tensor, changes: tf.Tensor, size: int) -> tf.Tensor:
        """One-hot labels (n, classes), blended as `apply` blends the pixels; on the host."""
        if self.mix == "none":
            return labels
        draws = by_name(changes)
        share = draws["share"]
        if self.mix == "cutmix":
            top, left, bottom, right = (draws[f"paste_{k}"] for k in range(4))
            share = 1 - (bottom - top) * (right - left) / size**2
        share = share[:, None]
        return share * labels + (1 - share) * partner(of(labels), labels)


def augmented(
    images: np.ndarray, change: Augmentation | None, seed: int, times: int = 3
) -> list[np.ndarray]:
    """uint8 (n, size, size, 3) as they are after each of several changes, to look at."""
    if change is None:
        return [images] * times
    draws = [
        change.draw(tf.constant([seed, time], tf.int64), len(images), images.shape[1])
        for time in range(times)
    ]
    return [change.apply(tf.constant(images), changes).numpy() for changes in draws]
