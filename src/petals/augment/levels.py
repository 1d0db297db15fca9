"""The levels of augmentation: the limits of the changes, by name."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

SHAPES = 0.288  # of crops: the logarithm of 4 / 3


@dataclass(frozen=True)
class Strength:
    """The limits of the changes; each image draws its own values within them."""

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

    def shifted(self, size: int) -> tuple[int, int]:
        """Bounds in pixels: rows and columns of a picture of this size are shifted by less."""
        if not self.turns:
            return 0, 0
        zoom = 1 + self.zoom
        corners = [
            affine(
                math.radians(turn * self.rotation),
                math.tan(math.radians(shear * self.shear)),
                zoom**enlarge,
                zoom**enlarge * math.exp(stretch * self.stretch),
                math,
            )
            for turn, shear, enlarge, stretch in itertools.product((-1, 1), repeat=4)
        ]
        lowest = math.sqrt(self.crop * math.exp(-SHAPES)) if self.crop < 1 else 1.0  # of crops
        rows = max(abs(corner[0]) for corner in corners) / lowest
        columns = max(abs(corner[2]) for corner in corners)
        return math.ceil(rows * size / 2) + 1, math.ceil(columns * size / 2) + 1


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


def affine(angle: Any, shear: Any, zoom_x: Any, zoom_y: Any, ops: Any) -> tuple[Any, ...]:
    """(slope x, scale x, slope y, scale y) of the two passes that rotate, shear and zoom.

    A pixel (u, v) of the result comes from (a u + b v, c u + d v). The pass along columns, which
    comes second, takes row c u + d v = d (v + c/d u) of the first one's; the rest is the first
    one's. `angle` in radians, `shear` as a tangent.
    """
    cos, sin = ops.cos(angle), ops.sin(angle)
    c, d = sin * zoom_x, (shear * sin + cos) * zoom_y
    return (shear * cos - sin) / zoom_x, zoom_x * zoom_y / d, c / d, d
