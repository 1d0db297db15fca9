"""A canvas for soft-edged strokes whose pixels are the same on every machine.

Only operations that IEEE 754 rounds exactly touch an array: + - * / sqrt floor min max, look-ups.
Sines and cosines are taken of single numbers and rounded, because C libraries differ in the last
bit. Sums over an axis, powers and matrix products are left out: their order or their fused steps
depend on the build of numpy.

Places and directions are complex numbers, x + y i: 1 points right and 1j down, as rows grow
downwards. The canvas is 1 wide and 1 high with 0 at its upper left, whatever its size in pixels.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

Colour = np.ndarray  # float32 (3, 1, 1), red green blue in 0..1


def colour(red: float, green: float, blue: float) -> Colour:
    """A colour of three numbers in 0..1 as float32 (3, 1, 1), ready to spread over a patch."""
    return np.array([red, green, blue], np.float32).reshape(3, 1, 1)


def blend(first: Colour, second: Colour, share: float) -> Colour:
    """The colour `share` (0..1) of the way from `first` to `second`."""
    return first + share * (second - first)


def direction(degrees: float) -> complex:
    """The unit vector at an angle; 0 points right and 90 down."""
    angle = math.radians(degrees)
    return complex(round(math.cos(angle), 9), round(math.sin(angle), 9))


def dot(first: complex, second: complex) -> float:
    """The scalar product of two vectors."""
    return first.real * second.real + first.imag * second.imag


class Rng:
    """Random numbers from PCG64's uniform doubles alone, a stream that numpy keeps as it is."""

    def __init__(self, *key: int) -> None:
        """`key`: whole numbers >= 0; the same key throws the same numbers for ever."""
        self.random = np.random.Generator(np.random.PCG64(np.random.SeedSequence(key))).random

    def between(self, low: float, high: float) -> float:
        """A number in low..high."""
        return low + (high - low) * self.random()

    def pick(self, choices: Sequence):
        """One of `choices`, each as likely."""
        return choices[int(self.random() * len(choices))]

    def place(self) -> complex:
        """A place on the canvas, each as likely."""
        return complex(self.random(), self.random())


def clip(values: np.ndarray) -> np.ndarray:
    """`values` held to 0..1."""
    held = np.maximum(values, 0.0)
    return np.minimum(held, 1.0, out=held)


def zigzag(values: np.ndarray) -> np.ndarray:
    """A wave of straight lines: 1 at whole numbers, 0 half-way between."""
    return np.abs(values - np.floor(values) - 0.5) * 2.0


def _broad(u: np.ndarray) -> np.ndarray:
    return 2.6 * u * np.sqrt(1.0 - u)


def _fourth(u: np.ndarray) -> np.ndarray:
    return np.square(np.square(u))


def _fan(u: np.ndarray) -> np.ndarray:
    return np.minimum(1.4 * u, 1.0) * np.sqrt(1.0 - _fourth(u))


# Half the width of an outline in half widths of its frame, where u runs 0..1 from base to tip and v
# is the distance from the axis.
OUTLINES: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "oval": lambda u, v: np.sqrt(4.0 * u * (1.0 - u)),
    "broad": lambda u, v: _broad(u),
    "fan": lambda u, v: _fan(u),
    "lance": lambda u, v: 2.6 * np.sqrt(u) * (1.0 - u),
    "kite": lambda u, v: np.minimum(2.2 * u, 1.83 * (1.0 - u)),
    "strap": lambda u, v: np.minimum(np.sqrt(4.0 * u), np.sqrt(1.0 - _fourth(np.square(u)))),
    "heart": lambda u, v: _broad(clip(u + 0.24 * np.maximum(0.0, 1.0 - 2.4 * v))),
    "toothed": lambda u, v: _fan(clip(u + 0.2 * zigzag(2.5 * v))),
    "wavy": lambda u, v: _fan(u) * (0.82 + 0.18 * zigzag(4.5 * u)),
}
# How much of a stroke's accent shows, 0..1, at a point and so far inside the outline.
MARKS: dict[str, Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]] = {
    "rim": lambda u, v, inside: clip(2.0 - inside * 7.0),
    "stripe": lambda u, v, inside: clip(2.0 - np.abs(v) * 7.0),
    "veins": lambda u, v, inside: clip(zigzag(2.5 * v / (u + 0.3)) * 4.0 - 2.8) * (1.1 - u),
    "spots": lambda u, v, inside: clip(zigzag(5.0 * u) * zigzag(2.5 * v) * 6.0 - 2.6),
    "tips": lambda u, v, inside: clip(u * 6.0 - 4.2),
}


class Canvas:
    """A square picture in the making: `pixels` float32 (3, size, size), colours in 0..1."""

    def __init__(self, size: int, light: complex) -> None:
        """`light`: the direction from which the light comes."""
        self.size = size
        self.light = light
        self.grid = (np.arange(size, dtype=np.float32) + np.float32(0.5)) / np.float32(size)
        self.pixels = np.zeros((3, size, size), np.float32)


@dataclass(frozen=True)
class Frame:
    """Where a shape lies on a canvas: its point (u, v) is at origin + u * along + v * across."""

    canvas: Canvas
    origin: complex = 0j
    along: complex = 1 + 0j
    across: complex = 1j

    def point(self, u: float, v: float) -> complex:
        """Where (u, v) lies on the canvas."""
        return self.origin + u * self.along + v * self.across

    def turned(
        self,
        degrees: float,
        length: float = 1.0,
        width: float | None = None,
        at: complex = 0j,
        start: float = 0.0,
    ) -> Self:
        """A frame inside this one: from `at`, `start` along an angle, `length` by `width` large."""
        turn = direction(degrees)
        at += start * turn
        return replace(
            self,
            origin=self.point(at.real, at.imag),
            along=length * (turn.real * self.along + turn.imag * self.across),
            across=(width or length) * (turn.real * self.across - turn.imag * self.along),
        )

    def _patch(self, least_u: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(u, v, part of the pixels) for the pixels that the frame's shape can touch."""
        size = self.canvas.size
        grid = self.canvas.grid
        along = self.along
        across = self.across
        corners = [self.point(u, v) for u in (least_u, 1.0) for v in (-1.0, 1.0)]
        edges = [corner.real for corner in corners], [corner.imag for corner in corners]
        columns, rows = (
            slice(max(0, int(min(edge) * size)), max(0, int(max(edge) * size) + 1))
            for edge in edges
        )
        x = grid[columns] - np.float32(self.origin.real)
        y = (grid[rows] - np.float32(self.origin.imag))[:, None]
        determinant = along.real * across.imag - along.imag * across.real
        u = x * (across.imag / determinant) + y * (-across.real / determinant)
        v = x * (-along.imag / determinant) + y * (along.real / determinant)
        return u, v, self.canvas.pixels[:, rows, columns]

    def _lay(self, pixels: np.ndarray, paint: np.ndarray, inside: np.ndarray) -> None:
        """Lay `paint` over `pixels` where `inside` is above 0, with an edge a pixel wide."""
        cover = clip(inside * max(1.0, 0.8 * self.half_width * self.canvas.size))
        pixels += (paint - pixels) * cover

    @property
    def half_width(self) -> float:
        """Of the shape, as a share of the canvas."""
        return math.sqrt(dot(self.across, self.across))

    def stroke(
        self,
        outline: str,
        base: Colour,
        tip: Colour,
        mark: str = "plain",
        accent: Colour | None = None,
    ) -> None:
        """Paint one petal or leaf: u runs 0..1 along it and v -1..1 across.

        `outline` is a key of `OUTLINES`; `mark` says where `accent` goes: a key of `MARKS`, or
        "eye", for which the base's colour ends in a sharp edge.
        """
        u, v, pixels = self._patch(0.0)
        u = clip(u)
        side = np.abs(v)
        inside = OUTLINES[outline](u, side) - side
        # A rounded petal is brighter on the side that faces the light, and its rim is darker, so
        # that petals of one colour can be told apart where they overlap.
        slope = 0.16 * dot(self.across, self.canvas.light) / (self.half_width + 1e-9)
        shade = (0.8 + 0.25 * u + slope * v) * (0.72 + 0.28 * clip(inside * 4.0))
        shade = shade - 0.1 * np.maximum(0.0, 1.0 - side * 9.0)
        paint = base + (clip(u * 7.0 - 2.4) if mark == "eye" else u) * (tip - base)
        if mark in MARKS and accent is not None:
            paint = paint + MARKS[mark](u, v, inside) * (accent - paint)
        self._lay(pixels, paint * shade, inside)

    def ball(self, radius: float, middle: Colour, rim: Colour, texture: str = "smooth") -> None:
        """Paint a `disc` of another radius in the middle of the frame."""
        self.turned(0.0, radius).disc(middle, rim, texture)

    def disc(self, middle: Colour, rim: Colour, texture: str = "smooth") -> None:
        """Paint the disc of radius 1, `middle` to `rim`: smooth, ruffled or of seeds."""
        u, v, pixels = self._patch(-1.0)
        square = u * u + v * v
        radius = np.sqrt(square)
        if texture == "ruffled":
            radius = radius * (1.0 + 0.12 * zigzag(4.0 * u) * zigzag(4.0 * v))
        lit = u * dot(self.along, self.canvas.light) + v * dot(self.across, self.canvas.light)
        shade = 1.05 - 0.3 * square + lit * (0.2 / (self.half_width + 1e-9))
        if texture == "seeds":
            shade = shade * (0.62 + 0.55 * zigzag(4.0 * (u + v)) * zigzag(4.0 * (u - v)))
        paint = middle + clip(radius) * (rim - middle)
        self._lay(pixels, paint * shade, 1.0 - radius)

    def glow(self, paint: Colour, opacity: float) -> None:
        """Paint the disc so that it fades out from its middle to nothing."""
        u, v, pixels = self._patch(-1.0)
        fade = np.maximum(0.0, 1.0 - (u * u + v * v))
        pixels += (opacity * fade * fade) * (paint - pixels)
