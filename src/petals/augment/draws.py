"""Draw a few numbers on the host for each image of a batch, from a seed, a step and a level."""

import itertools
import math
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

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
    *(f"erase_{edge}" for edge in range(4)),
    "share",
    *(f"paste_{edge}" for edge in range(4)),
)
Draws = dict[str, Any]  # a column (n,) by name


@dataclass(frozen=True)
class Strength:
    """The limits of the changes; each image draws its own values within them."""

    flip: float = 0.5  # probability of the mirror image
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
        """The natural logarithm of the largest ratio between the scales of height and width."""
        return 0.25 * math.log1p(self.zoom)

    @property
    def shapes(self) -> float:
        """The natural logarithm of the largest ratio between the sides of a crop, 4 / 3."""
        return 0.288 if self.crop < 1 else 0.0

    def shifted(self, size: int) -> tuple[int, int]:
        """Bounds in pixels: rows and columns of a picture of this size are shifted by less."""
        if not self.turns:
            return 0, 0
        turn = math.radians(self.rotation)
        shear = math.tan(math.radians(self.shear))
        cos, sin = math.cos(turn), math.sin(turn)
        lowest = math.sqrt(self.crop * math.exp(-self.shapes))  # of crops, as a share of the size
        rows = (shear * cos + sin) * (1 + self.zoom) / lowest
        columns = sin * math.exp(self.stretch) / (cos - shear * sin)
        return math.ceil(rows * size / 2) + 1, math.ceil(columns * size / 2) + 1


LEVELS = {
    "none": Strength(flip=0.0),
    "flip": Strength(),
    "crop": Strength(crop=0.6, colour=0.2),
    "light": Strength(rotation=10, zoom=0.1, shift=0.05, colour=0.1, saturation=0.1),
    "strong": Strength(
        rotation=25, shear=8, zoom=0.25, shift=0.12, colour=0.25, saturation=0.25, erasing=0.5
    ),
}
MIXES = ("none", "mixup", "cutmix")


def drawn(strength: Strength, key: tf.Tensor, count: int | tf.Tensor, size: int) -> tf.Tensor:
    """How to change each image, within the strength of a level: float32 (count, columns)."""
    draw = Draw(key, count)
    columns = {"flip": tf.cast(draw.uniform(0, 1) < strength.flip, tf.float32)}
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
        self.count = count
        self._keys = (key + tf.constant([0, k], key.dtype) * 1_000_003 for k in itertools.count(1))

    def uniform(self, low: float, high: float) -> tf.Tensor:
        """float32 (count,), evenly between `low` and `high`."""
        return tf.random.stateless_uniform([self.count], next(self._keys), low, high, alg="philox")

    def beta(self, alpha: float) -> tf.Tensor:
        """From Beta(alpha, alpha), the larger of x and 1 - x."""
        x, y = (tf.random.stateless_gamma([self.count], next(self._keys), alpha) for _ in range(2))
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
    # A pixel (u, v) of the result comes from (a u + b v, c u + d v). The pass along columns, which
    # comes second, takes row c u + d v = d (v + c/d u) of the first one's; the rest is the first's.
    cos, sin = tf.cos(angle), tf.sin(angle)
    row_by_u = sin * zoom_x  # c
    row_by_v = (shear * sin + cos) * zoom_y  # d
    # A crop of a random share of the area and a random shape, as in Szegedy et al., 2014
    area = draw.uniform(strength.crop, 1)
    shape = tf.exp(draw.uniform(-strength.shapes, strength.shapes))
    height = tf.minimum(tf.sqrt(area / shape), 1)
    width = tf.minimum(tf.sqrt(area * shape), 1)

    def centre(side: tf.Tensor) -> tf.Tensor:
        """How far the middle of the result is from that of the image, in pixels of one axis."""
        shift = draw.uniform(-strength.shift, strength.shift)
        return size * (shift + draw.uniform(-0.5, 0.5) * (1 - side))

    down = centre(height)
    right = centre(width)
    slope_x = (shear * cos - sin) / zoom_x / height
    scale_x = zoom_x * zoom_y / row_by_v * width
    return {
        "slope_x": slope_x,
        "scale_x": flip * scale_x,
        "centre_x": flip * (right - slope_x * scale_x * down),
        "slope_y": row_by_u / row_by_v,
        "scale_y": row_by_v * height,
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
