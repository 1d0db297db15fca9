"""Augmentation: the host draws a few numbers for each image, the device changes the pixels.

The numbers are drawn from (seed, step) for the whole batch of all devices and hosts, so an image
is changed alike by each runtime, by any number of devices, and by a run that was resumed. The
pixels are changed by `Augmentation.apply`, one set of functions for TensorFlow and JAX.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import tensorflow as tf

from petals.data.array_ops import ArrayOps, of
from petals.data.resampling import Bounds, along_columns, along_rows
from petals.errors import SettingError


@dataclass(frozen=True)
class Strength:
    """How far a batch may be changed; every image draws its own values within these."""

    rotation: float = 0.0  # degrees, either way
    shear: float = 0.0  # degrees, either way
    zoom: float = 0.0  # 0.1 = sizes from 1 / 1.1 to 1.1
    shift: float = 0.0  # share of the side, either way
    crop: float = 1.0  # the least share of the area that a crop keeps; 1 = no crops
    colour: float = 0.0  # 0.1 = brightness and contrast within ± 10 %
    saturation: float = 0.0  # 0.1 = within ± 10 %
    erasing: float = 0.0  # probability that a rectangle is blanked

    @property
    def turns(self) -> bool:
        """Whether the picture is rotated or sheared."""
        return bool(self.rotation or self.shear)

    @property
    def scales(self) -> bool:
        """Whether the geometry changes beyond a flip."""
        return self.turns or self.crop < 1 or bool(self.zoom or self.shift)

    @property
    def stretch(self) -> float:
        """How much more height than width is scaled at most, either way: a natural logarithm."""
        return 0.25 * math.log1p(self.zoom)

    def bounds(self, size: int) -> tuple[Bounds, Bounds]:
        """How far the passes along rows and along columns look beyond a picture of this size."""
        signs = itertools.product((-1, 0, 1), repeat=3)
        shape = math.exp(SHAPES) if self.crop < 1 else 1.0
        zoom = (1 + self.zoom) * math.exp(self.stretch)
        corners = [
            _affine(
                math.radians(one * self.rotation),
                math.tan(math.radians(two * self.shear)),
                zoom,
                zoom * math.exp(three * self.stretch),
                math,
            )
            for one, two, three in signs
        ]
        found = []
        for slope, scale, widest in ((0, 1, shape), (2, 3, 1.0)):
            steepest = widest * max(abs(corner[slope]) for corner in corners)
            largest = max(abs(corner[scale]) for corner in corners)
            shift = self.shift * (1 + steepest)
            shear = math.ceil(steepest * size / 2) + 1 if self.turns else 0
            found.append(Bounds(shear, math.ceil(max(0.0, (largest - 1) / 2 + shift) * size)))
        return found[0], found[1]


LEVELS = {
    "none": None,
    "flip": Strength(),
    "crop": Strength(crop=0.6, colour=0.2),
    "light": Strength(rotation=10, zoom=0.1, shift=0.05, colour=0.1, saturation=0.1),
    "strong": Strength(
        rotation=25, shear=8, zoom=0.25, shift=0.12, colour=0.25, saturation=0.25, erasing=0.5
    ),
}
MIXES = ("none", "mixup", "cutmix")
SHAPES = 0.288  # of crops: the logarithm of 4 / 3
ALPHA = 0.2  # of mixup's Beta distribution, as for ImageNet
GREY = 128  # of what is erased
# What is drawn for an image. Slopes, scales and centres are those of `petals.data.resampling`;
# rectangles are (top, left, bottom, right) in pixels.
COLUMNS = (
    "flip", "slope_x", "scale_x", "centre_x", "slope_y", "scale_y", "centre_y",
    "saturation", "contrast", "brightness", "erase_0", "erase_1", "erase_2", "erase_3",
    "share", "paste_0", "paste_1", "paste_2", "paste_3",
)  # fmt: skip
Draws = dict[str, Any]  # a column (n,) by name


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
        draw = _Draw(key, count)
        strength = self.strength or Strength()
        columns = {"flip": tf.cast(draw.uniform(0, 1) < 0.5, tf.float32)}
        if self.strength is None:
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

    def apply(
        self, images: Any, changes: Any, *, dense: bool = False, dtype: str = "float32"
    ) -> Any:
        """uint8 (n, size, size, 3) and their rows of `draw` to uint8 of the same shape.

        TensorFlow or JAX, on any device. `dense`: the way of `petals.data.resampling` that suits
        a TPU; `dtype`: of the pixels in between. With a mix, n is even: images change in pairs.
        """
        for stage in self._stages(dense, dtype):
            images = stage(images, changes)
        return images

    def compiled(self) -> Callable[[tf.Tensor, tf.Tensor], tf.Tensor]:
        """`apply` for TensorFlow on a CPU: by XLA, up to five times as fast as op by op.

        Each stage is a program of its own. In one program, XLA computes the first pass over the
        pixels again for each of the pixels that the second one looks up.
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

    def _stages(self, dense: bool, dtype: str) -> list[Callable[[Any, Any], Any]]:
        strength = self.strength
        stages: list[Callable[[Any, Any], Any]] = []
        if strength is not None and strength.scales:
            stages = [
                partial(_rows_moved, strength=strength, dense=dense, dtype=dtype),
                partial(_columns_moved, strength=strength, dense=dense, dtype=dtype),
            ]
        elif strength is not None:
            stages.append(_flipped)
        if strength != Strength() or self.mix != "none":
            stages.append(partial(_changed, strength=strength, mix=self.mix, dtype=dtype))
        return stages

    def labels(self, labels: tf.Tensor, changes: tf.Tensor, size: int) -> tf.Tensor:
        """One-hot labels (n, classes), blended as `apply` blends the pixels; on the host."""
        if self.mix == "none":
            return labels
        draws = _by_name(changes)
        share = draws["share"]
        if self.mix == "cutmix":
            top, left, bottom, right = (draws[f"paste_{k}"] for k in range(4))
            share = 1 - (bottom - top) * (right - left) / size**2
        share = share[:, None]
        return share * labels + (1 - share) * _partner(of(labels), labels)


class _Draw:
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


def _geometry(draw: _Draw, strength: Strength, size: int, flip: tf.Tensor) -> Draws:
    """`flip`: -1 for images that are mirrored, else 1."""
    degree = math.pi / 180
    angle = draw.uniform(-strength.rotation, strength.rotation) * degree
    shear = tf.tan(draw.uniform(-strength.shear, strength.shear) * degree)
    most = math.log1p(strength.zoom)
    zoom_x = tf.exp(draw.uniform(-most, most))
    zoom_y = zoom_x * tf.exp(draw.uniform(-strength.stretch, strength.stretch))
    slope_x, scale_x, slope_y, scale_y = _affine(angle, shear, zoom_x, zoom_y, tf)
    # A crop of a random share of the area and a random shape, as in Szegedy et al., 2014
    area, shape = draw.uniform(strength.crop, 1), tf.exp(draw.uniform(-SHAPES, SHAPES))
    height = tf.minimum(tf.sqrt(area / shape), 1) if strength.crop < 1 else tf.ones_like(area)
    width = tf.minimum(tf.sqrt(area * shape), 1) if strength.crop < 1 else tf.ones_like(area)
    down, right = (
        size
        * (draw.uniform(-strength.shift, strength.shift) + draw.uniform(-0.5, 0.5) * (1 - side))
        for side in (height, width)
    )
    slope_x, scale_x = slope_x * width / height, scale_x * width
    return {
        "slope_x": flip * slope_x, "scale_x": flip * scale_x,
        "centre_x": flip * (right - slope_x * down),
        "slope_y": slope_y * height, "scale_y": scale_y * height, "centre_y": down,
    }  # fmt: skip


def _affine(angle: Any, shear: Any, zoom_x: Any, zoom_y: Any, ops: Any) -> tuple[Any, ...]:
    """(slope x, scale x, slope y, scale y) of the two passes that rotate, shear and zoom.

    A pixel (u, v) of the result comes from (a u + b v, c u + d v). The pass along columns, which
    comes second, takes row c u + d v of the first one's; the rest is the first one's. `angle` in
    radians, `shear` as a tangent.
    """
    cos, sin = ops.cos(angle), ops.sin(angle)
    b, c, d = (shear * cos - sin) * zoom_y, sin * zoom_x, (shear * sin + cos) * zoom_y
    return b / d, zoom_x * zoom_y / d, c, d


def _rectangle(draw: _Draw, name: str, area: tf.Tensor, size: int) -> Draws:
    """The edges of a rectangle of the given share of each image, in whole pixels."""
    ratio = tf.exp(draw.uniform(-0.7, 0.7))
    height = tf.minimum(tf.sqrt(area * ratio), 1.0) * size
    width = tf.minimum(tf.sqrt(area / ratio), 1.0) * size
    top, left = draw.uniform(0, 1) * (size - height), draw.uniform(0, 1) * (size - width)
    edges = (top, left, top + height, left + width)
    return {f"{name}_{number}": tf.round(edge) for number, edge in enumerate(edges)}


def _by_name(changes: Any) -> Draws:
    return {name: changes[:, number] for number, name in enumerate(COLUMNS)}


def _flipped(images: Any, changes: Any) -> Any:
    flip = _wide(_by_name(changes)["flip"])
    return of(images).where(flip > 0.5, images[:, :, ::-1], images)


def _rows_moved(images: Any, changes: Any, *, strength: Strength, dense: bool, dtype: str) -> Any:
    """The first half of flipping, cropping, zooming, shifting, rotating and shearing."""
    draws, bounds = _by_name(changes), strength.bounds(images.shape[1])[0]
    given = (draws["slope_x"], draws["scale_x"], draws["centre_x"])
    pixels = along_rows(images, *given, bounds, dense, dtype)
    return _rounded(of(images), pixels)  # the second pass moves a byte where it moved two or four


def _columns_moved(
    images: Any, changes: Any, *, strength: Strength, dense: bool, dtype: str
) -> Any:
    draws, bounds = _by_name(changes), strength.bounds(images.shape[1])[1]
    given = (draws["slope_y"], draws["scale_y"], draws["centre_y"])
    return along_columns(images, *given, bounds, dense, dtype)


def _changed(pixels: Any, changes: Any, *, strength: Strength | None, mix: str, dtype: str) -> Any:
    """All that leaves the pixels where they are, and back to uint8."""
    ops, draws = of(pixels), _by_name(changes)
    pixels = ops.cast(pixels, dtype)
    if strength is not None and (strength.colour or strength.saturation):
        pixels = _recoloured(ops, pixels, draws)
    if strength is not None and strength.erasing:
        grey = ops.cast(0 * _wide(draws["share"]) + GREY, dtype)
        pixels = ops.where(_inside(ops, pixels, draws, "erase"), grey, pixels)
    if mix == "mixup":
        share = ops.cast(_wide(draws["share"]), dtype)
        pixels = pixels * share + _partner(ops, pixels) * (1 - share)
    elif mix == "cutmix":
        pixels = ops.where(_inside(ops, pixels, draws, "paste"), _partner(ops, pixels), pixels)
    return _rounded(ops, pixels)


def _rounded(ops: ArrayOps, pixels: Any) -> Any:
    return ops.cast(ops.round(ops.minimum(ops.maximum(pixels, 0), 255)), "uint8")


def _recoloured(ops: ArrayOps, pixels: Any, draws: Draws) -> Any:
    """Change the saturation, contrast and brightness of each image."""
    dtype = str(getattr(pixels.dtype, "name", pixels.dtype))
    saturation, contrast, brightness = (
        ops.cast(_wide(draws[name]), dtype) for name in ("saturation", "contrast", "brightness")
    )
    mean = ops.cast(ops.mean(ops.cast(pixels, "float32"), (1, 2, 3)), dtype)
    grey = (pixels[..., 0:1] + pixels[..., 1:2] + pixels[..., 2:3]) * (1 / 3)
    pixels = grey + (pixels - grey) * saturation
    return (mean + (pixels - mean) * contrast) * brightness


def _inside(ops: ArrayOps, pixels: Any, draws: Draws, name: str) -> Any:
    """bool (n, size, size, 1): where the rectangle of that name is."""
    at = ops.arange(pixels.shape[1])[None, :]
    top, left, bottom, right = (draws[f"{name}_{k}"][:, None] for k in range(4))
    rows, columns = (at >= top) & (at < bottom), (at >= left) & (at < right)
    return (rows[:, :, None] & columns[:, None, :])[..., None]


def _partner(ops: ArrayOps, rows: Any) -> Any:
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
