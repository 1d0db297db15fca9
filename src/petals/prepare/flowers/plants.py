"""What flowers are put together from: a plant's own colours, petals, filaments, hearts."""

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
HEADS = {"button", "seeds", "dome", "ring", "pod"}  # these sit on a disc of seeds


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


def draw_centre(canvas: Canvas, frame: Frame, plant: Plant, rng: Rng) -> None:
    """Draw the centre of a flower that fills the circle of radius 1 of a frame.

    A centre that is not known here, such as an orchid's lip, is left to the form.
    """
    kind, radius, heart = plant.traits.centre, plant.traits.radius, plant.heart
    middle = frame.turned(0.0, radius)
    if kind in HEADS:
        shadow(canvas, frame, radius * 1.35, 0.5)
        canvas.disc(middle, heart, 0.8 * heart, "seeds")
    match kind:
        case "button":
            canvas.disc(frame.turned(0.0, 0.5 * radius), 1.05 * heart, 0.9 * heart)
        case "seeds":
            canvas.disc(frame.turned(0.0, 0.55 * radius), 0.45 * heart, 0.6 * heart, "seeds")
        case "dome":
            dome = frame.turned(0.0, 0.8 * radius)
            canvas.disc(dome, 1.3 * heart + 0.06, 0.8 * heart, "seeds")
            canvas.disc(frame.turned(0.0, 0.6 * radius), WHITE, WHITE, "glow", 0.35)
        case "ring":
            for k in range(16):
                ball = frame.turned(22.5 * k, 0.2 * radius, start=0.9 * radius)
                dot(canvas, ball, 0.0, 0.0, 1.0, GOLD)
        case "pod":
            for _, x, y in seeds(7, 0.7):
                dot(canvas, middle, x, y, 0.13, COLOURS["brown"])
            rays(canvas, frame, 18, radius * 1.6, 0.012, GOLD, rng, dots=0.03)
        case "tube":
            canvas.disc(frame.turned(0.0, 1.15 * radius), plant.base, 1.1 * heart, "ruffled")
            canvas.disc(frame.turned(0.0, 0.75 * radius), 0.35 * heart, 0.8 * heart)
        case "pins":
            for _, x, y in seeds(26, 1.0):
                dot(canvas, middle, x, y, 0.09, heart)
        case _:
            _draw_rayed_centre(canvas, frame, plant, rng)


def _draw_rayed_centre(canvas: Canvas, frame: Frame, plant: Plant, rng: Rng) -> None:
    radius, heart = plant.traits.radius, plant.heart
    middle = frame.turned(0.0, radius)
    match plant.traits.centre:
        case "stamens":
            rays(canvas, frame, 9, radius, 0.016, heart, rng, dots=0.055)
        case "column":
            rays(canvas, frame, 1, radius * 1.1, 0.05, heart, rng, dots=0.07)
            dot(canvas, frame, 0.0, 0.0, 0.06, heart)
        case "star":
            for k in range(5):
                canvas.petal(middle.turned(72.0 * k, 1.0, 0.35), "kite", 0.8 * heart, heart)
        case "corona":
            rays(canvas, frame, 36, radius, 0.03, heart, rng)
            canvas.disc(frame.turned(0.0, 0.26), 0.5 * heart, 0.7 * heart)
            lime = COLOURS["lime"]
            for k in range(5):
                canvas.petal(frame.turned(72.0 * k, 0.36, 0.12), "kite", 0.8 * lime, lime)
        case "mist":
            rays(canvas, frame, 16, 1.12, 0.014, plant.green, rng)
            canvas.disc(middle, heart, 0.7 * heart, "seeds")
