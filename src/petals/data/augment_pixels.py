"""What the device does to the pixels: one set of functions for TensorFlow and JAX."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import tensorflow as tf

from petals.data.array_ops import ArrayOps, of
from petals.data.augment_draws import Draws, by_name
from petals.data.augment_levels import Strength
from petals.data.resampling import along_columns, along_rows, rounded

GREY = 128  # of what is erased
Stage = Callable[[Any, Any], Any]


def stages_of(strength: Strength | None, mix: str, dense: bool, dtype: str) -> list[Stage]:
    """The functions of (uint8 images, their rows of draws) that are applied one after another."""
    stages: list[Stage] = []
    if strength is not None and strength.scales:
        stages = [
            partial(_rows_moved, strength=strength, dense=dense, dtype=dtype),
            partial(_columns_moved, strength=strength, dense=dense, dtype=dtype),
        ]
    elif strength is not None:
        stages.append(_flipped)
    if strength is not None and (strength.colour or strength.saturation or strength.erasing):
        stages.append(partial(_recoloured, strength=strength, dtype=dtype))
    if mix != "none":
        stages.append(partial(_mixed, mix=mix, dtype=dtype))
    return stages


def _flipped(images: Any, changes: Any) -> Any:
    flip = _wide(by_name(changes)["flip"])
    return of(images).where(flip > 0.5, images[:, :, ::-1], images)


def _rows_moved(images: Any, changes: Any, *, strength: Strength, dense: bool, dtype: str) -> Any:
    """The first half of flipping, cropping, zooming, shifting, rotating and shearing."""
    draws, bound = by_name(changes), strength.shifted(images.shape[1])[0]
    given = (draws["slope_x"], draws["scale_x"], draws["centre_x"])
    return along_rows(images, *given, bound, dense, dtype)


def _columns_moved(
    images: Any, changes: Any, *, strength: Strength, dense: bool, dtype: str
) -> Any:
    draws, bound = by_name(changes), strength.shifted(images.shape[1])[1]
    given = (draws["slope_y"], draws["scale_y"], draws["centre_y"])
    return along_columns(images, *given, bound, dense, dtype)


def _recoloured(images: Any, changes: Any, *, strength: Strength, dtype: str) -> Any:
    """Change the saturation, contrast and brightness of each image, and blank a rectangle."""
    ops, draws = of(images), by_name(changes)
    saturation, contrast, brightness = (
        ops.cast(_wide(draws[name]), dtype) for name in ("saturation", "contrast", "brightness")
    )
    mean = ops.cast(ops.mean(ops.cast(images, "float32"), (1, 2, 3)), dtype)
    pixels = ops.cast(images, dtype)
    grey = (pixels[..., 0:1] + pixels[..., 1:2] + pixels[..., 2:3]) * (1 / 3)
    pixels = grey + (pixels - grey) * saturation
    pixels = (mean + (pixels - mean) * contrast) * brightness
    if strength.erasing:
        # A sum of products: with XLA's `where` this whole function takes twice as long on a CPU.
        rows, columns = (ops.cast(part, dtype) for part in _rectangle(ops, pixels, draws, "erase"))
        kept = 1 - rows * columns
        pixels = pixels * kept + GREY * (1 - kept)
    return rounded(ops, pixels)


def _mixed(images: Any, changes: Any, *, mix: str, dtype: str) -> Any:
    """Blend each image with its partner, or paste a rectangle of the partner."""
    ops, draws = of(images), by_name(changes)
    other = partner(ops, images)
    if mix == "cutmix":
        rows, columns = _rectangle(ops, images, draws, "paste")
        return ops.where(rows & columns, other, images)
    share = ops.cast(_wide(draws["share"]), dtype)
    return rounded(ops, ops.cast(images, dtype) * share + ops.cast(other, dtype) * (1 - share))


def _rectangle(ops: ArrayOps, pixels: Any, draws: Draws, name: str) -> tuple[Any, Any]:
    """bool (n, size, 1, 1) and (n, 1, size, 1): the rows and columns of the rectangle `name`."""
    at = ops.arange(pixels.shape[1])[None, :]
    top, left, bottom, right = (draws[f"{name}_{k}"][:, None] for k in range(4))
    rows, columns = (at >= top) & (at < bottom), (at >= left) & (at < right)
    return rows[:, :, None, None], columns[:, None, :, None]


def partner(ops: ArrayOps, rows: Any) -> Any:
    """The other one of each pair of neighbours: both are always on the same device."""
    pairs = ops.reshape(rows, (-1, 2, *rows.shape[1:]))
    return ops.reshape(pairs[:, ::-1], (-1, *rows.shape[1:]))


def mirror(images: tf.Tensor) -> tf.Tensor:
    """Every image left to right; as rows of pixels, for which TensorFlow has a fast path."""
    shape = tf.shape(images)
    pixels = tf.reshape(images, [-1, shape[2], shape[3]])
    return tf.reshape(tf.reverse(pixels, axis=[1]), shape)


def _wide(values: Any) -> Any:
    return values[:, None, None, None]
