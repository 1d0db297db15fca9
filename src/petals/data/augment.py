"""Augmentation of whole uint8 batches with plain TensorFlow ops, inside tf.data.

On the host and in tf.data it runs the same under every backend. All randomness is stateless:
the same key gives the same pictures.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import tensorflow as tf

from petals.errors import SettingError


@dataclass(frozen=True)
class Strength:
    """How far a batch may be changed; every image draws its own values within these."""

    rotation: float = 0.0  # degrees, either way
    shear: float = 0.0  # degrees, either way
    zoom: float = 0.0  # 0.1 = sizes from 1 / 1.1 to 1.1
    shift: float = 0.0  # share of the side, either way
    colour: float = 0.0  # 0.1 = brightness, contrast and saturation within ± 10 %
    erasing: float = 0.0  # probability that a rectangle is blanked

    @property
    def moves(self) -> bool:
        """Whether the geometry changes beyond a flip."""
        return any((self.rotation, self.shear, self.zoom, self.shift))


LEVELS = {
    "none": None,
    "flip": Strength(),
    "light": Strength(rotation=10, zoom=0.1, shift=0.05, colour=0.1),
    "strong": Strength(rotation=25, shear=8, zoom=0.25, shift=0.12, colour=0.25, erasing=0.5),
}
MIXES = ("none", "mixup", "cutmix")


def augmentation(level: str):
    """The function (uint8 (batch, size, size, 3), key int64 (2,)) -> the same shape and dtype.

    None for "none". Raises `SettingError` for a name that is not in `LEVELS`.
    """
    if level not in LEVELS:
        raise SettingError(f"augment {level!r}: one of {', '.join(LEVELS)}")
    strength = LEVELS[level]
    if strength is None:
        return None

    def apply(images: tf.Tensor, key: tf.Tensor) -> tf.Tensor:
        keys = iter(_keys(key, 4))
        images = flip(images, next(keys))
        if strength.moves:
            images = move(images, next(keys), strength)
        if strength.colour:
            images = recolour(images, next(keys), strength.colour)
        if strength.erasing:
            images = erase(images, next(keys), strength.erasing)
        return images

    return apply


def _keys(key: tf.Tensor, count: int) -> list[tf.Tensor]:
    return [key + tf.constant([0, 1 + i], key.dtype) * 1_000_003 for i in range(count)]


def _uniform(key: tf.Tensor, images: tf.Tensor, low: float, high: float, salt: int) -> tf.Tensor:
    key = key + tf.constant([salt, 0], key.dtype)
    return tf.random.stateless_uniform([tf.shape(images)[0]], key, low, high)


def flip(images: tf.Tensor, key: tf.Tensor) -> tf.Tensor:
    """Mirror each image left to right, or not, with equal chance."""
    mirrored = tf.cast(_uniform(key, images, 0.0, 1.0, 1) < 0.5, tf.int32)
    rows = tf.shape(images)[0]
    # Choosing whole images copies memory; tf.where on pixels takes twenty times as long.
    return tf.gather(tf.concat([images, mirror(images)], axis=0), tf.range(rows) + rows * mirrored)


def mirror(images: tf.Tensor) -> tf.Tensor:
    """Every image left to right; as rows of pixels, for which TensorFlow has a fast path."""
    shape = tf.shape(images)
    pixels = tf.reshape(images, [-1, shape[2], shape[3]])
    return tf.reshape(tf.reverse(pixels, axis=[1]), shape)


def move(images: tf.Tensor, key: tf.Tensor, strength: Strength) -> tf.Tensor:
    """Rotate, shear, zoom and shift each image about its centre in one resampling.

    What comes in from outside the picture is its reflection.
    """
    size = tf.cast(tf.shape(images)[1], tf.float32)
    degree = math.pi / 180
    angle = _uniform(key, images, -strength.rotation, strength.rotation, 2) * degree
    shear = tf.tan(_uniform(key, images, -strength.shear, strength.shear, 3) * degree)
    reach = math.log1p(strength.zoom)
    zoom_x = tf.exp(_uniform(key, images, -reach, reach, 4))
    zoom_y = zoom_x * tf.exp(_uniform(key, images, -reach, reach, 5) * 0.25)
    dx = _uniform(key, images, -strength.shift, strength.shift, 6) * size
    dy = _uniform(key, images, -strength.shift, strength.shift, 7) * size
    cos, sin = tf.cos(angle), tf.sin(angle)
    a, b = cos * zoom_x, (shear * cos - sin) * zoom_y
    c, d = sin * zoom_x, (shear * sin + cos) * zoom_y
    middle = (size - 1) / 2
    zeros = tf.zeros_like(a)
    transforms = tf.stack(
        [a, b, middle - (a + b) * middle + dx, c, d, middle - (c + d) * middle + dy, zeros, zeros],
        axis=1,
    )
    return tf.raw_ops.ImageProjectiveTransformV3(
        images=images,
        transforms=transforms,
        output_shape=tf.shape(images)[1:3],
        fill_value=0.0,
        interpolation="BILINEAR",
        fill_mode="REFLECT",
    )


def recolour(images: tf.Tensor, key: tf.Tensor, amount: float) -> tf.Tensor:
    """Change brightness, contrast and saturation of each image by up to `amount`."""

    def factor(salt: int) -> tf.Tensor:
        return _uniform(key, images, 1 - amount, 1 + amount, salt)[:, None, None, None]

    pixels = tf.cast(images, tf.float32)
    grey = tf.reduce_mean(pixels, axis=3, keepdims=True)
    pixels = grey + (pixels - grey) * factor(8)
    mean = tf.reduce_mean(grey, axis=[1, 2], keepdims=True)
    pixels = (mean + (pixels - mean) * factor(9)) * factor(10)
    return _to_uint8(pixels)


def erase(images: tf.Tensor, key: tf.Tensor, probability: float) -> tf.Tensor:
    """Blank one rectangle of 2 to 25 % of the image with grey (Zhong et al., 2017)."""
    chosen = _uniform(key, images, 0.0, 1.0, 11) < probability
    area = _uniform(key, images, 0.02, 0.25, 12)
    inside = _rectangle(images, key, area) & chosen[:, None, None, None]
    return tf.where(inside, tf.constant(128, tf.uint8), images)


def _rectangle(images: tf.Tensor, key: tf.Tensor, area: tf.Tensor) -> tf.Tensor:
    """bool (batch, size, size, 1): a rectangle of the given share of each image."""
    size = tf.cast(tf.shape(images)[1], tf.float32)
    ratio = tf.exp(_uniform(key, images, -0.7, 0.7, 13))
    height = tf.minimum(tf.sqrt(area * ratio), 1.0) * size
    width = tf.minimum(tf.sqrt(area / ratio), 1.0) * size
    top = _uniform(key, images, 0.0, 1.0, 14) * (size - height)
    left = _uniform(key, images, 0.0, 1.0, 15) * (size - width)
    at = tf.range(size)[None, :]

    def within(start: tf.Tensor, length: tf.Tensor) -> tf.Tensor:
        return (at >= start[:, None]) & (at < (start + length)[:, None])

    return (within(top, height)[:, :, None] & within(left, width)[:, None, :])[..., None]


def mixing(name: str):
    """The function (images, one-hot labels, key) -> the same, mixed; None for "none"."""
    if name not in MIXES:
        raise SettingError(f"mix {name!r}: one of {', '.join(MIXES)}")
    return {"none": None, "mixup": mixup, "cutmix": cutmix}[name]


def mixup(
    images: tf.Tensor, labels: tf.Tensor, key: tf.Tensor, alpha: float = 0.2
) -> tuple[tf.Tensor, tf.Tensor]:
    """Blend each image and its label with its neighbour's, by Beta(alpha, alpha).

    Zhang et al., "mixup: Beyond Empirical Risk Minimization", 2018; alpha 0.2 as for ImageNet.
    """
    rows = tf.shape(images)[0]
    first, second = _keys(key, 6)[4:]
    x = tf.random.stateless_gamma([rows], first, alpha)
    y = tf.random.stateless_gamma([rows], second, alpha)
    # Gamma(0.2) draws underflow to zero in pairs about once in a million
    share = tf.math.divide_no_nan(x, x + y)
    share = tf.maximum(share, 1 - share)
    pixels = tf.cast(images, tf.float32)
    wide = share[:, None, None, None]
    mixed = _to_uint8(wide * pixels + (1 - wide) * tf.roll(pixels, 1, axis=0))
    return mixed, _blend(labels, share)


def cutmix(images: tf.Tensor, labels: tf.Tensor, key: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Paste a rectangle of the neighbour into each image; labels follow the pixels' shares.

    Yun et al., "CutMix", 2019; the rectangle's area is uniform in [0, 1].
    """
    key = _keys(key, 7)[6]
    inside = _rectangle(images, key, _uniform(key, images, 0.0, 1.0, 16))
    mixed = tf.where(inside, tf.roll(images, 1, axis=0), images)
    share = 1 - tf.reduce_mean(tf.cast(inside, tf.float32), axis=[1, 2, 3])
    return mixed, _blend(labels, share)


def _blend(labels: tf.Tensor, share: tf.Tensor) -> tf.Tensor:
    return share[:, None] * labels + (1 - share)[:, None] * tf.roll(labels, 1, axis=0)


def _to_uint8(pixels: tf.Tensor) -> tf.Tensor:
    return tf.cast(tf.clip_by_value(tf.round(pixels), 0, 255), tf.uint8)
