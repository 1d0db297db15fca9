"""The hearts of flowers: buttons, seed heads, stamens, tubes and what else insects look for."""

from __future__ import annotations

from collections.abc import Callable

from petals.prepare.flowers.canvas import Canvas, Frame, Rng, colour
from petals.prepare.flowers.flora import COLOURS
from petals.prepare.flowers.plants import GOLD, WHITE, Plant, dot, rays, seeds, shadow


def draw_centre(canvas: Canvas, frame: Frame, plant: Plant, rng: Rng) -> None:
    """Draw the centre of a flower that fills the circle of radius 1 of a frame."""
    kind = plant.traits.centre
    if kind in _HEADS:
        shadow(canvas, frame, plant.traits.radius * 1.35, 0.5)
        canvas.disc(_middle(frame, plant), plant.heart, 0.8 * plant.heart, "seeds")
    if kind in CENTRES:
        CENTRES[kind](canvas, frame, plant, rng)


def _middle(frame: Frame, plant: Plant, share: float = 1.0) -> Frame:
    return frame.turned(0.0, share * plant.traits.radius)


def _button(canvas: Canvas, frame: Frame, plant: Plant, rng: Rng) -> None:
    canvas.disc(_middle(frame, plant, 0.5), 1.05 * plant.heart, 0.9 * plant.heart)


def _seeds(canvas: Canvas, frame: Frame, plant: Plant, rng: Rng) -> None:
    canvas.disc(_middle(frame, plant, 0.55), 0.45 * plant.heart, 0.6 * plant.heart, "seeds")


def _dome(canvas: Canvas, frame: Frame, plant: Plant, rng: Rng) -> None:
    canvas.disc(_middle(frame, plant, 0.8), 1.3 * plant.heart + 0.06, 0.8 * plant.heart, "seeds")
    canvas.disc(_middle(frame, plant, 0.6), WHITE, WHITE, "glow", 0.35)


def _ring(canvas: Canvas, frame: Frame, plant: Plant, rng: Rng) -> None:
    for k in range(16):
        ball = frame.turned(22.5 * k, 0.2 * plant.traits.radius, start=0.9 * plant.traits.radius)
        dot(canvas, ball, 0.0, 0.0, 1.0, GOLD)


def _pod(canvas: Canvas, frame: Frame, plant: Plant, rng: Rng) -> None:
    for _, x, y in seeds(7, 0.7):
        dot(canvas, _middle(frame, plant), x, y, 0.13, colour(*COLOURS["brown"]))
    rays(canvas, frame, 18, plant.traits.radius * 1.6, 0.012, GOLD, rng, dots=0.03)


def _stamens(canvas: Canvas, frame: Frame, plant: Plant, rng: Rng) -> None:
    rays(canvas, frame, 9, plant.traits.radius, 0.016, plant.heart, rng, dots=0.055)


def _column(canvas: Canvas, frame: Frame, plant: Plant, rng: Rng) -> None:
    rays(canvas, frame, 1, plant.traits.radius * 1.1, 0.05, plant.heart, rng, dots=0.07)
    dot(canvas, frame, 0.0, 0.0, 0.06, plant.heart)


def _tube(canvas: Canvas, frame: Frame, plant: Plant, rng: Rng) -> None:
    canvas.disc(_middle(frame, plant, 1.15), plant.base, 1.1 * plant.heart, "ruffled")
    canvas.disc(_middle(frame, plant, 0.75), 0.35 * plant.heart, 0.8 * plant.heart)


def _star(canvas: Canvas, frame: Frame, plant: Plant, rng: Rng) -> None:
    for k in range(5):
        ray = _middle(frame, plant).turned(72.0 * k, 1.0, 0.35)
        canvas.petal(ray, "kite", 0.8 * plant.heart, plant.heart)


def _corona(canvas: Canvas, frame: Frame, plant: Plant, rng: Rng) -> None:
    rays(canvas, frame, 36, plant.traits.radius, 0.03, plant.heart, rng)
    canvas.disc(frame.turned(0.0, 0.26), 0.5 * plant.heart, 0.7 * plant.heart)
    lime = colour(*COLOURS["lime"])
    for k in range(5):
        canvas.petal(frame.turned(72.0 * k, 0.36, 0.12), "kite", 0.8 * lime, lime)


def _mist(canvas: Canvas, frame: Frame, plant: Plant, rng: Rng) -> None:
    rays(canvas, frame, 16, 1.12, 0.014, plant.green, rng)
    canvas.disc(_middle(frame, plant), plant.heart, 0.7 * plant.heart, "seeds")


def _pins(canvas: Canvas, frame: Frame, plant: Plant, rng: Rng) -> None:
    for _, x, y in seeds(26, 1.0):
        dot(canvas, _middle(frame, plant), x, y, 0.09, plant.heart)


_HEADS = {"button", "seeds", "dome", "ring", "pod"}  # these sit on a disc of seeds

CENTRES: dict[str, Callable[[Canvas, Frame, Plant, Rng], None]] = {
    "button": _button,
    "seeds": _seeds,
    "dome": _dome,
    "ring": _ring,
    "pod": _pod,
    "stamens": _stamens,
    "column": _column,
    "tube": _tube,
    "star": _star,
    "corona": _corona,
    "mist": _mist,
    "pins": _pins,
}
