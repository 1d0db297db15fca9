"""Augmentation: the host draws a few numbers for each image, the device changes the pixels.

The numbers are drawn from (seed, step) for the whole batch over all devices and hosts. An image is
therefore changed in the same way by both runtimes, on any number of devices, and in a resumed run.
`Augmentation.apply` changes the pixels, with the same functions on TensorFlow and on JAX.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import tensorflow as tf

from petals.augment.draws import LEVELS, MIXES, Draws, Strength, by_name, drawn
from petals.augment.resampling import COLUMNS, ROWS, ArrayOps, Pass, of, rounded
from petals.errors import SettingError

GREY = 128  # of what is erased
Stage = Callable[[Any, Any], Any]


def augmentation(level: str, mix: str = "none") -> Augmentation | None:
    """The augmentation with these names; None if both are "none".

    Raises `SettingError` for a name that is not in `LEVELS` or `MIXES`.
    """
    if level not in LEVELS:
        raise SettingError(f"augment {level!r}: choose one of {', '.join(LEVELS)}")
    if mix not in MIXES:
        raise SettingError(f"mix {mix!r}: choose one of {', '.join(MIXES)}")
    return None if (level, mix) == ("none", "none") else Augmentation(level, mix)


@dataclass(frozen=True)
class Augmentation:
    """An augmentation: one of `LEVELS` together with one of `MIXES`."""

    level: str = "none"
    mix: str = "none"

    def draw(self, key: tf.Tensor, count: int | tf.Tensor, size: int) -> tf.Tensor:
        """Draw on the host how to change each image of a batch: float32 (count, columns).

        `key`: int64 (2,), a seed and a step; `count`: the number of images in the batch over all
        devices and hosts; `size`: their side in pixels.
        """
        return drawn(LEVELS[self.level], key, count, size)

    def apply(
        self, images: Any, changes: Any, *, dense: bool = False, dtype: str = "float32"
    ) -> Any:
        """Change images, uint8 (n, size, size, 3), by their rows of `draw`; same shape and dtype.

        Works with TensorFlow and JAX, on any device. `dense`: use the method of
        `petals.augment.resampling` that suits a TPU; `dtype`: the type of the pixels in between.
        With a mix, n must be even, because images are changed in pairs.
        """
        for stage in self._stages(dense, dtype):
            images = stage(images, changes)
        return images

    def compiled(self) -> Callable[[tf.Tensor, tf.Tensor], tf.Tensor]:
        """`apply` for TensorFlow on a CPU, compiled by XLA: up to five times as fast as op by op.

        Each stage is a separate program. In a single program, XLA would compute the first pass over
        the pixels again for each pixel that the second pass looks up.
        """
        stages = [
            tf.function(stage, jit_compile=True, autograph=False)
            for stage in self._stages(dense=False, dtype="float32")
        ]

        def apply(images: tf.Tensor, changes: tf.Tensor) -> tf.Tensor:
            for stage in stages:
                images = stage(images, changes)
            return images

        return tf.function(apply, autograph=False)

    def _stages(self, dense: bool, dtype: str) -> list[Stage]:
        """The functions of (uint8 images, rows of draws) that are applied one after another."""
        strength = LEVELS[self.level]
        stages = list[Stage]()
        if strength.scales:
            move = partial(_moved, strength=strength, dense=dense, dtype=dtype)
            stages += [partial(move, axis=ROWS), partial(move, axis=COLUMNS)]
        elif strength.flip:
            stages.append(_flipped)
        if strength.colour or strength.saturation or strength.erasing:
            stages.append(partial(_recoloured, strength=strength, dtype=dtype))
        if self.mix != "none":
            stages.append(partial(_mixed, mix=self.mix, dtype=dtype))
        return stages

    def labels(self, labels: tf.Tensor, changes: tf.Tensor, size: int) -> tf.Tensor:
        """Blend one-hot labels (n, classes) on the host, as `apply` blends the pixels."""
        if self.mix == "none":
            return labels
        draws = by_name(changes)
        share = draws["share"]
        if self.mix == "cutmix":
            top, left, bottom, right = (draws[f"paste_{k}"] for k in range(4))
            share = 1 - (bottom - top) * (right - left) / size**2
        share = share[:, None]
        return share * labels + (1 - share) * _partner(of(labels), labels)


def augmented(images: np.ndarray, change: Augmentation | None, seed: int) -> list[np.ndarray]:
    """Three augmented versions of the images, uint8 (n, size, size, 3) each, for display."""
    if change is None:
        return [images] * 3
    draws = [
        change.draw(tf.constant([seed, time], tf.int64), len(images), images.shape[1])
        for time in range(3)
    ]
    return [change.apply(tf.constant(images), changes).numpy() for changes in draws]


def _flipped(images: Any, changes: Any) -> Any:
    flip = _wide(by_name(changes)["flip"])
    return of(images).where(flip > 0.5, images[:, :, ::-1], images)


def _moved(
    images: Any, changes: Any, *, axis: int, strength: Strength, dense: bool, dtype: str
) -> Any:
    """One half of flipping, cropping, zooming, shifting, rotating and shearing."""
    draws = by_name(changes)
    name = "x" if axis == ROWS else "y"
    bound = strength.shifted(images.shape[1])["xy".index(name)]
    how = (draws[f"{what}_{name}"] for what in ("slope", "scale", "centre"))
    return Pass(axis, bound, dense, dtype).move(images, *how)


def _recoloured(images: Any, changes: Any, *, strength: Strength, dtype: str) -> Any:
    """Change the saturation, contrast and brightness of each image, and blank a rectangle."""
    ops = of(images)
    draws = by_name(changes)
    saturation, contrast, brightness = (
        ops.cast(_wide(draws[name]), dtype) for name in ("saturation", "contrast", "brightness")
    )
    mean = ops.cast(ops.mean(ops.cast(images, "float32")), dtype)
    pixels = ops.cast(images, dtype)
    grey = (pixels[..., 0:1] + pixels[..., 1:2] + pixels[..., 2:3]) * (1 / 3)
    pixels = grey + (pixels - grey) * saturation
    pixels = (mean + (pixels - mean) * contrast) * brightness
    if strength.erasing:
        # A sum of products: with XLA's `where` this whole function takes twice as long on a CPU.
        rows, columns = (ops.cast(part, dtype) for part in _rectangle(pixels, draws, "erase"))
        outside = 1 - rows * columns
        pixels = pixels * outside + GREY * (1 - outside)
    return rounded(ops, pixels)


def _mixed(images: Any, changes: Any, *, mix: str, dtype: str) -> Any:
    """Blend each image with its partner, or paste a rectangle of the partner."""
    ops = of(images)
    draws = by_name(changes)
    other = _partner(ops, images)
    if mix == "cutmix":
        rows, columns = _rectangle(images, draws, "paste")
        return ops.where(rows & columns, other, images)
    share = ops.cast(_wide(draws["share"]), dtype)
    return rounded(ops, ops.cast(images, dtype) * share + ops.cast(other, dtype) * (1 - share))


def _rectangle(pixels: Any, draws: Draws, name: str) -> tuple[Any, Any]:
    """bool (n, size, 1, 1) and (n, 1, size, 1): the rows and columns of the rectangle `name`."""
    at = np.arange(pixels.shape[1], dtype=np.float32)[None, :]
    top, left, bottom, right = (draws[f"{name}_{k}"][:, None] for k in range(4))
    rows, columns = (top <= at) & (bottom > at), (left <= at) & (right > at)
    return rows[:, :, None, None], columns[:, None, :, None]


def _partner(ops: ArrayOps, rows: Any) -> Any:
    """The other image of each pair of neighbours, which is always on the same device."""
    pairs = ops.reshape(rows, (-1, 2, *rows.shape[1:]))
    return ops.reshape(pairs[:, ::-1], (-1, *rows.shape[1:]))


def _wide(values: Any) -> Any:
    return values[:, None, None, None]
