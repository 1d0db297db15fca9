"""The hearts of flowers: buttons, seed heads, stamens, tubes and what else insects look for."""

from __future__ import annotations

from petals.prepare.flowers.canvas import Canvas, Frame, Rng
from petals.prepare.flowers.flora import COLOURS
from petals.prepare.flowers.plants import GOLD, WHITE, Plant, dot, rays, seeds, shadow

HEADS = {"button", "seeds", "dome", "ring", "pod"}  # these sit on a disc of seeds


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
