"""A canvas for soft-edged strokes whose pixels are the same on every machine.

Only operations that IEEE 754 rounds exactly touch an array: + - * / sqrt floor min max, look-ups.
Sines and cosines are taken of single numbers and rounded, because C libraries differ in the last
bit. Sums over an axis, powers and matrix products are left out: their order or their fused steps
depend on the build of numpy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

Colour = np.ndarray  # float32 (3, 1, 1), red green blue in 0..1


def colour(red: float, green: float, blue: float) -> Colour:
    """A colour of three numbers in 0..1 as float32 (3, 1, 1), ready to spread over a patch."""
    return np.array([red, green, blue], np.float32).reshape(3, 1, 1)


def blend(first: Colour, second: Colour, share: float) -> Colour:
    """The colour `share` (0..1) of the way from `first` to `second`."""
    return first + share * (second - first)


def direction(degrees: float) -> tuple[float, float]:
    """The unit vector at an angle; 0 points right and 90 down, as rows grow downwards."""
    angle = math.radians(degrees)
    return round(math.cos(angle), 9), round(math.sin(angle), 9)


class Rng:
    """Random numbers from PCG64's uniform doubles alone, a stream that numpy keeps as it is."""

    def __init__(self, *key: int) -> None:
        """`key`: whole numbers >= 0; the same key throws the same numbers for ever."""
        self._random = np.random.Generator(np.random.PCG64(np.random.SeedSequence(key))).random

    def between(self, low: float, high: float) -> float:
        """A number in low..high."""
        return low + (high - low) * self._random()

    def chance(self, probability: float) -> bool:
        """True with the given probability."""
        return self._random() < probability

    def pick(self, choices: Sequence):
        """One of `choices`, each as likely."""
        return choices[int(self._random() * len(choices))]

    def grid(self, rows: int, columns: int) -> np.ndarray:
        """Numbers in 0..1, float32 (rows, columns)."""
        return self._random((rows, columns)).astype(np.float32)


@dataclass(frozen=True)
class Frame:
    """Where a shape lies: its point (u, v) is at (x + u·ax + v·bx, y + u·ay + v·by).

    The canvas is 1 wide and 1 high with (0, 0) at its upper left, whatever its size in pixels.
    """

    x: float
    y: float
    ax: float
    ay: float
    bx: float
    by: float

    def point(self, u: float, v: float) -> tuple[float, float]:
        """Where (u, v) lies on the canvas."""
        return self.x + u * self.ax + v * self.bx, self.y + u * self.ay + v * self.by

    def turned(
        self,
        degrees: float,
        length: float = 1.0,
        width: float | None = None,
        at: tuple[float, float] = (0.0, 0.0),
        start: float = 0.0,
    ) -> Frame:
        """A frame inside this one: from `at`, `start` along an angle, `length` by `width` large."""
        cos, sin = direction(degrees)
        width = length if width is None else width
        x, y = self.point(at[0] + start * cos, at[1] + start * sin)
        return Frame(
            x,
            y,
            length * (cos * self.ax + sin * self.bx),
            length * (cos * self.ay + sin * self.by),
            width * (cos * self.bx - sin * self.ax),
            width * (cos * self.by - sin * self.ay),
        )


def clip(values: np.ndarray) -> np.ndarray:
    """`values` held to 0..1."""
    held = np.maximum(values, 0.0)
    return np.minimum(held, 1.0, out=held)


def zigzag(values: np.ndarray) -> np.ndarray:
    """A wave of straight lines: 1 at whole numbers, 0 half-way between."""
    return np.abs(values - np.floor(values) - 0.5) * 2.0


def _broad(u: np.ndarray) -> np.ndarray:
    return 2.6 * u * np.sqrt(1.0 - u)


def _strap(u: np.ndarray) -> np.ndarray:
    square = u * u
    fourth = square * square
    return np.minimum(np.sqrt(4.0 * u), np.sqrt(1.0 - fourth * fourth))


def _fan(u: np.ndarray) -> np.ndarray:
    square = u * u
    return np.minimum(1.4 * u, 1.0) * np.sqrt(1.0 - square * square)


# How far inside the outline a point lies, in half widths: u runs 0..1 from base to tip, v is the
# distance from the axis; negative is outside.
OUTLINES: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "oval": lambda u, v: np.sqrt(4.0 * u * (1.0 - u)) - v,
    "broad": lambda u, v: _broad(u) - v,
    "fan": lambda u, v: _fan(u) - v,
    "lance": lambda u, v: 2.6 * np.sqrt(u) * (1.0 - u) - v,
    "kite": lambda u, v: np.minimum(2.2 * u, 1.83 * (1.0 - u)) - v,
    "strap": lambda u, v: _strap(u) - v,
    "heart": lambda u, v: _broad(clip(u + 0.24 * np.maximum(0.0, 1.0 - 2.4 * v))) - v,
    "toothed": lambda u, v: _fan(clip(u + 0.2 * zigzag(2.5 * v))) - v,
    "wavy": lambda u, v: _fan(u) * (0.82 + 0.18 * zigzag(4.5 * u)) - v,
}


class Canvas:
    """Square picture in the making: `pixels` float32 (3, size, size), colours in 0..1."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.grid = (np.arange(size, dtype=np.float32) + np.float32(0.5)) / np.float32(size)
        self.pixels = np.zeros((3, size, size), np.float32)
        self.light = direction(-120)  # where the light comes from

    def _patch(self, frame: Frame, least_u: float):
        """(u, v, part of the pixels) for the pixels that a frame's shape can touch, or None."""
        corners = [frame.point(u, v) for u in (least_u, 1.0) for v in (-1.0, 1.0)]
        (left, right), (top, bottom) = (
            (max(0, int(min(c) * self.size)), min(self.size, int(max(c) * self.size) + 1))
            for c in zip(*corners, strict=True)
        )
        determinant = frame.ax * frame.by - frame.ay * frame.bx
        if left >= right or top >= bottom or determinant == 0.0:
            return None
        x = self.grid[left:right] - np.float32(frame.x)
        y = (self.grid[top:bottom] - np.float32(frame.y))[:, None]
        u = x * (frame.by / determinant) + y * (-frame.bx / determinant)
        v = x * (-frame.ay / determinant) + y * (frame.ax / determinant)
        return u, v, self.pixels[:, top:bottom, left:right]

    def petal(
        self,
        frame: Frame,
        outline: str,
        base: Colour,
        tip: Colour,
        mark: str = "plain",
        accent: Colour | None = None,
    ) -> None:
        """Paint one petal or leaf: u runs 0..1 along it and v -1..1 across.

        `outline` is a key of `OUTLINES`; `mark` says where `accent` goes (see `_mark`), or for
        "eye" that the base's colour ends in a sharp edge.
        """
        patch = self._patch(frame, 0.0)
        if patch is None:
            return
        u, v, pixels = patch
        u, side = clip(u), np.abs(v)
        inside = OUTLINES[outline](u, side)
        half_width = math.sqrt(frame.bx * frame.bx + frame.by * frame.by)
        cover = clip(inside * max(1.0, 0.8 * half_width * self.size))
        # A rounded petal is brighter on the side that faces the light, and its rim is darker, so
        # that petals of one colour can be told apart where they overlap.
        slope = 0.16 * (frame.bx * self.light[0] + frame.by * self.light[1]) / (half_width + 1e-9)
        shade = (0.8 + 0.25 * u + slope * v) * (0.72 + 0.28 * clip(inside * 4.0))
        shade = shade - 0.1 * np.maximum(0.0, 1.0 - side * 9.0)
        paint = base + (clip(u * 7.0 - 2.4) if mark == "eye" else u) * (tip - base)
        if accent is not None and mark != "eye":
            paint = paint + _mark(mark, u, v, inside) * (accent - paint)
        _lay(pixels, paint * shade, cover)

    def disc(
        self, frame: Frame, middle: Colour, rim: Colour, texture: str = "smooth", opacity: float = 1
    ) -> None:
        """Paint a disc of radius 1 in the frame, `middle` to `rim`; "glow" fades out to nothing."""
        patch = self._patch(frame, -1.0)
        if patch is None:
            return
        u, v, pixels = patch
        square = u * u + v * v
        if texture == "glow":
            fade = np.maximum(0.0, 1.0 - square)
            pixels += (opacity * fade * fade) * (middle - pixels)
            return
        radius = np.sqrt(square)
        if texture == "ruffled":
            radius = radius * (1.0 + 0.12 * zigzag(4.0 * u) * zigzag(4.0 * v))
        half_width = math.sqrt(frame.bx * frame.bx + frame.by * frame.by)
        cover = clip((1.0 - radius) * max(1.0, 0.8 * half_width * self.size))
        lit = frame.ax * self.light[0] + frame.ay * self.light[1]
        lit_across = frame.bx * self.light[0] + frame.by * self.light[1]
        shade = 1.05 - 0.3 * square + (u * lit + v * lit_across) * (0.2 / (half_width + 1e-9))
        if texture == "seeds":
            shade = shade * (0.62 + 0.55 * zigzag(4.0 * (u + v)) * zigzag(4.0 * (u - v)))
        paint = middle + clip(radius) * (rim - middle)
        _lay(pixels, paint * shade, opacity * cover)


def _lay(pixels: np.ndarray, paint: np.ndarray, cover: np.ndarray) -> None:
    """Lay `paint`, which is used up, over `pixels`, as thick as `cover` says (0..1)."""
    paint -= pixels
    paint *= cover
    pixels += paint


def _mark(mark: str, u: np.ndarray, v: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """How much of the accent's colour shows, 0..1."""
    if mark == "rim":
        return clip(2.0 - inside * 7.0)
    if mark == "stripe":
        return clip(2.0 - np.abs(v) * 7.0)
    if mark == "veins":
        return clip(zigzag(2.5 * v / (u + 0.3)) * 4.0 - 2.8) * (1.1 - u)
    if mark == "spots":
        return clip(zigzag(5.0 * u) * zigzag(2.5 * v) * 6.0 - 2.6)
    if mark == "band":
        return clip(2.2 - np.abs(u - 0.5) * 14.0)
    if mark == "tips":
        return clip(u * 6.0 - 4.2)
    return clip(u * 0.0)
