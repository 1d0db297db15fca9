"""What flowers are put together from: a plant's own colours, petals, filaments and seeds."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from petals.prepare.flowers.canvas import Canvas, Colour, Frame, Rng, blend, colour, direction
from petals.prepare.flowers.flora import COLOURS, Traits

UP = -90.0  # degrees
GOLDEN = 137.508  # degrees between one seed and the next in a flower head
WHITE = colour(0.96, 0.95, 0.88)
GOLD = COLOURS["gold"]


@dataclass(frozen=True)
class Plant:
    """One plant: its traits, and its own shades of its class's colours."""

    traits: Traits
    tip: Colour
    base: Colour
    accent: Colour
    heart: Colour
    green: Colour


def grow(traits: Traits, rng: Rng) -> Plant:
    """A plant of a class; its colours differ a little from those of others of its class."""
    shift = colour(*(rng.between(-0.1, 0.1) for _ in range(3)))
    pale = rng.between(0.0, 0.24)

    def shade(name: str) -> Colour:
        return blend(COLOURS[name] + shift, colour(0.8, 0.8, 0.8), pale)

    tip = rng.pick(traits.tip.split("/"))
    green = colour(rng.between(0.16, 0.5), rng.between(0.4, 0.68), rng.between(0.12, 0.42))
    return Plant(
        traits, shade(tip), shade(traits.base), shade(traits.accent), shade(traits.heart), green
    )


def petal(canvas: Canvas, frame: Frame, plant: Plant, fade: float = 0.0) -> None:
    """A petal as the plant has them; `fade` 0..1 mixes in its base colour: petals behind."""
    traits = plant.traits
    tip = blend(plant.tip, plant.base, fade)
    canvas.petal(frame, traits.outline, plant.base, tip, traits.mark, plant.accent)


def stem(
    canvas: Canvas,
    frame: Frame,
    plant: Plant,
    degrees: float,
    length: float,
    width: float,
    at: tuple[float, float],
) -> None:
    """A green stem from `at` along an angle."""
    canvas.petal(frame.turned(degrees, length, width, at=at), "strap", plant.green, plant.green)


def shadow(canvas: Canvas, frame: Frame, radius: float, opacity: float = 0.4) -> None:
    """Darken what lies behind, most in the middle, so that what comes next stands out."""
    black = colour(0.05, 0.05, 0.08)
    canvas.disc(frame.turned(0.0, radius), black, black, "glow", opacity)


def dot(canvas: Canvas, frame: Frame, x: float, y: float, radius: float, paint: Colour) -> None:
    """A small ball at (x, y) of a frame."""
    canvas.disc(frame.turned(0.0, radius, at=(x, y)), paint, 0.75 * paint)


def rays(
    canvas: Canvas,
    frame: Frame,
    count: int,
    length: float,
    width: float,
    paint: Colour,
    rng: Rng,
    *,
    dots: float = 0.0,
    spread: float = 360.0,
    towards: float = 0.0,
) -> None:
    """Thin filaments from the middle of a frame, each with a ball of radius `dots` at its end.

    They share out `spread` degrees around the direction `towards`.
    """
    for k in range(count):
        angle = towards + spread * (k / count - 0.5) + rng.between(-6.0, 6.0)
        ray = frame.turned(angle, length * rng.between(0.85, 1.0), width)
        canvas.petal(ray, "strap", blend(paint, WHITE, 0.35), paint)
        if dots:
            end = Frame(*ray.point(0.95, 0.0), frame.ax, frame.ay, frame.bx, frame.by)
            dot(canvas, end, 0.0, 0.0, dots, paint)


def seeds(count: int, radius: float) -> Iterator[tuple[float, float, float]]:
    """Places of seeds in a head, from the rim inwards: (degrees, x, y) within `radius`."""
    for k in range(count, 0, -1):
        cos, sin = direction(GOLDEN * k % 360.0)
        away = radius * math.sqrt(k / count)
        yield GOLDEN * k % 360.0, away * cos, away * sin
