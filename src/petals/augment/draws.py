"""Draw a few numbers on the host for each image of a batch, from a seed and a step."""

from __future__ import annotations

import math
from typing import Any

import tensorflow as tf

from petals.augment.levels import SHAPES, Strength, affine

ALPHA = 0.2  # of mixup's Beta distribution, as for ImageNet
# What is drawn for an image. Slopes, scales and centres are those of `petals.augment.resampling`;
# rectangles are (top, left, bottom, right) in pixels.
COLUMNS = (
    "flip",
    "slope_x",
    "scale_x",
    "centre_x",
    "slope_y",
    "scale_y",
    "centre_y",
    "saturation",
    "contrast",
    "brightness",
    "erase_0",
    "erase_1",
    "erase_2",
    "erase_3",
    "share",
    "paste_0",
    "paste_1",
    "paste_2",
    "paste_3",
)
Draws = dict[str, Any]  # a column (n,) by name


def drawn(level: Strength | None, key: tf.Tensor, count: int | tf.Tensor, size: int) -> tf.Tensor:
    """How to change each image, within the strength of the level: float32 (count, columns)."""
    draw = Draw(key, count)
    strength = level or Strength()
    columns = {"flip": tf.cast(draw.uniform(0, 1) < 0.5, tf.float32)}
    if level is None:
        columns["flip"] = tf.zeros_like(columns["flip"])
    columns |= _geometry(draw, strength, size, 1 - 2 * columns["flip"])
    for name in ("saturation", "contrast", "brightness"):
        amount = strength.saturation if name == "saturation" else strength.colour
        columns[name] = draw.uniform(1 - amount, 1 + amount)
    chosen = tf.cast(draw.uniform(0, 1) < strength.erasing, tf.float32)
    columns |= _rectangle(draw, "erase", chosen * draw.uniform(0.02, 0.25), size)
    columns["share"] = draw.beta(ALPHA)
    columns |= _rectangle(draw, "paste", draw.uniform(0, 1), size)
    return tf.stack([columns[name] for name in COLUMNS], axis=1)


def by_name(changes: Any) -> Draws:
    """The columns (n,) of an array float32 (n, columns), by name."""
    return {name: changes[:, number] for number, name in enumerate(COLUMNS)}


class Draw:
    """Random numbers for the images of a batch, from one key."""

    def __init__(self, key: tf.Tensor, count: int | tf.Tensor) -> None:
        self.key, self.count, self._salt = key, count, 0

    def _next(self) -> tf.Tensor:
        self._salt += 1
        return self.key + tf.constant([0, self._salt], self.key.dtype) * 1_000_003

    def uniform(self, low: float, high: float) -> tf.Tensor:
        return tf.random.stateless_uniform([self.count], self._next(), low, high, alg="philox")

    def beta(self, alpha: float) -> tf.Tensor:
        """From Beta(alpha, alpha), the larger of x and 1 - x."""
        x, y = (tf.random.stateless_gamma([self.count], self._next(), alpha) for _ in range(2))
        # Gamma(0.2) draws underflow to zero in pairs about once in a million
        share = tf.math.divide_no_nan(x, x + y)
        return tf.maximum(share, 1 - share)


def _geometry(draw: Draw, strength: Strength, size: int, flip: tf.Tensor) -> Draws:
    """`flip`: -1 for images that are mirrored, else 1."""
    degree = math.pi / 180
    angle = draw.uniform(-strength.rotation, strength.rotation) * degree
    shear = tf.tan(draw.uniform(-strength.shear, strength.shear) * degree)
    most = math.log1p(strength.zoom)
    zoom_x = tf.exp(draw.uniform(-most, most))
    zoom_y = zoom_x * tf.exp(draw.uniform(-strength.stretch, strength.stretch))
    slope_x, scale_x, slope_y, scale_y = affine(angle, shear, zoom_x, zoom_y, tf)
    # A crop of a random share of the area and a random shape, as in Szegedy et al., 2014
    area, shape = draw.uniform(strength.crop, 1), tf.exp(draw.uniform(-SHAPES, SHAPES))
    height = tf.minimum(tf.sqrt(area / shape), 1) if strength.crop < 1 else tf.ones_like(area)
    width = tf.minimum(tf.sqrt(area * shape), 1) if strength.crop < 1 else tf.ones_like(area)
    down, right = (
        size
        * (draw.uniform(-strength.shift, strength.shift) + draw.uniform(-0.5, 0.5) * (1 - side))
        for side in (height, width)
    )
    slope_x, scale_x = slope_x / height, scale_x * width
    return {
        "slope_x": slope_x,
        "scale_x": flip * scale_x,
        "centre_x": flip * (right - slope_x * scale_x * down),
        "slope_y": slope_y,
        "scale_y": scale_y * height,
        "centre_y": down,
    }


def _rectangle(draw: Draw, name: str, area: tf.Tensor, size: int) -> Draws:
    """The edges of a rectangle of the given share of each image, in whole pixels."""
    ratio = tf.exp(draw.uniform(-0.7, 0.7))
    height = tf.minimum(tf.sqrt(area * ratio), 1.0) * size
    width = tf.minimum(tf.sqrt(area / ratio), 1.0) * size
    top, left = draw.uniform(0, 1) * (size - height), draw.uniform(0, 1) * (size - width)
    edges = (top, left, top + height, left + width)
    return {f"{name}_{number}": tf.round(edge) for number, edge in enumerate(edges)}
