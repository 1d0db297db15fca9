"""Where a flower stands and in which light: backgrounds, leaves, exposure."""

from __future__ import annotations

import numpy as np

from petals.prepare.flowers.canvas import Canvas, Colour, Frame, Rng, blend, clip, colour, direction
from petals.prepare.flowers.flora import COLOURS
from petals.prepare.flowers.plants import UP, Plant

# Leaves in a ring: outline, number, degrees apart and degrees they sway, length, width, where each
# starts.
_LEAVES = {
    "oval": ("oval", 4, 90.0, 20, 1.3, 0.34, 0.0),
    "narrow": ("lance", 7, 51.0, 15, 1.45, 0.1, 0.0),
    "heart": ("broad", 3, 120.0, 20, 1.4, 0.62, 0.0),
    "round": ("fan", 4, 90.0, 20, 0.75, 0.4, 0.5),
}


def draw_leaves(canvas: Canvas, frame: Frame, plant: Plant, rng: Rng) -> None:
    """The leaves that show behind a flower: their shape is part of what tells a class."""
    kind, dark = plant.traits.leaf, 0.6 * plant.green
    bright = 1.2 * plant.green

    def leaf(outline, angle, length, width, **place):
        canvas.petal(
            frame.turned(angle, length, width, **place),
            outline,
            dark,
            bright,
            "veins",
            0.8 * plant.green,
        )

    first = rng.between(0.0, 360.0)
    if kind in _LEAVES:
        outline, count, step, sway, length, width, start = _LEAVES[kind]
        for k in range(count):
            leaf(outline, first + step * k + rng.between(-sway, sway), length, width, start=start)
    elif kind == "sword":
        for k in range(4):
            leaf("lance", UP + 32.0 * (k - 1.5) + rng.between(-8, 8), 2.4, 0.13, at=(0.0, 1.2))
    elif kind == "pad":
        pad = frame.turned(first, 1.3, 1.2, at=(0.15, 0.2))
        canvas.disc(pad, 1.1 * plant.green, 0.8 * plant.green)
        for k in range(9):
            canvas.petal(pad.turned(40.0 * k, 0.95, 0.02), "strap", dark, dark)
    elif kind == "fern":
        for k in range(4):
            angle = first + 90.0 * k + rng.between(-20, 20)
            frond = frame.turned(angle, 1.5)
            canvas.petal(frond.turned(0.0, 1.0, 0.02), "strap", dark, dark)
            for j in range(8):
                along, side = 0.5 + 0.12 * (j // 2), (-1.0, 1.0)[j % 2]
                canvas.petal(
                    frond.turned(48.0 * side, 0.3, 0.05, at=(along, 0.0)), "lance", dark, bright
                )


def _spread(values: np.ndarray, size: int) -> np.ndarray:
    """A coarse grid of numbers, (n, n), drawn out smoothly to (size, size)."""
    last = values.shape[0] - 1
    places = (np.arange(size, dtype=np.float32) + np.float32(0.5)) / np.float32(size) * last
    low = np.minimum(np.floor(places), last - 1).astype(np.int64)
    share = places - low.astype(np.float32)
    share = share * share * (3.0 - 2.0 * share)  # no creases where the squares meet
    wide = values[:, low] + share * (values[:, low + 1] - values[:, low])
    return wide[low] + share[:, None] * (wide[1:] - wide[:-1])[low]


def draw_background(canvas: Canvas, rng: Rng) -> None:
    """Fill the canvas with a meadow, sky, soil, foliage or a blur, none of which tells a class."""
    kind = rng.pick(("meadow", "sky", "soil", "foliage", "blur", "blur"))
    upper, lower = {
        "meadow": (colour(0.62, 0.78, 0.42), colour(0.2, 0.44, 0.14)),
        "sky": (colour(0.42, 0.62, 0.9), colour(0.86, 0.92, 0.96)),
        "soil": (colour(0.6, 0.46, 0.34), colour(0.38, 0.27, 0.19)),
        "foliage": (colour(0.22, 0.42, 0.22), colour(0.11, 0.24, 0.13)),
        "blur": (_any_colour(rng, 0.75), _any_colour(rng, 0.5)),
    }[kind]
    down = _spread(rng.grid(5, 5), canvas.size) * 0.6 + canvas.grid[:, None] - 0.3
    canvas.pixels[:] = upper + clip(down) * (lower - upper)
    canvas.pixels *= 0.84 + 0.32 * _spread(rng.grid(11, 11), canvas.size)
    _draw_things(canvas, kind, rng)


def _draw_things(canvas: Canvas, kind: str, rng: Rng) -> None:
    """Draw clouds, grass, stones or leaves, and spots of light everywhere but in the sky."""
    whole = Frame(0.0, 0.0, 1.0, 0.0, 0.0, 1.0)
    if kind == "sky":
        for _ in range(5):
            cloud = whole.turned(
                0.0,
                rng.between(0.15, 0.4),
                rng.between(0.06, 0.14),
                at=(rng.between(0.0, 1.0), rng.between(0.0, 1.0)),
            )
            canvas.disc(cloud, colour(1, 1, 1), colour(1, 1, 1), "glow", 0.7)
    elif kind == "meadow":
        for k in range(26):
            blade = whole.turned(
                UP + rng.between(-22.0, 22.0),
                rng.between(0.3, 0.7),
                0.012,
                at=(rng.between(0.0, 1.0), 0.5 + 0.7 * k / 26),
            )
            green = colour(rng.between(0.15, 0.5), rng.between(0.4, 0.75), 0.15)
            canvas.petal(blade, "lance", 0.5 * green, green)
    elif kind == "soil":
        for _ in range(26):
            stone = whole.turned(
                rng.between(0.0, 180.0),
                rng.between(0.01, 0.045),
                0.02,
                at=(rng.between(0.0, 1.0), rng.between(0.0, 1.0)),
            )
            grey = colour(0.5, 0.42, 0.34) * rng.between(0.5, 1.2)
            canvas.disc(stone, grey, 0.7 * grey)
    elif kind == "foliage":
        for _ in range(12):
            place = (rng.between(0.0, 1.0), rng.between(0.0, 1.0))
            leaf = whole.turned(rng.between(0.0, 360.0), rng.between(0.2, 0.45), 0.08, at=place)
            green = colour(0.19, 0.44, 0.2) * rng.between(0.6, 1.4)
            canvas.petal(leaf, "oval", 0.6 * green, green)
    if kind != "sky":
        for _ in range(10):
            spot = whole.turned(
                0.0, rng.between(0.05, 0.16), at=(rng.between(0.0, 1.0), rng.between(0.0, 1.0))
            )
            shine = _any_colour(rng, 0.9)
            canvas.disc(spot, shine, shine, "glow", rng.between(0.3, 0.8))


def _any_colour(rng: Rng, brightness: float) -> Colour:
    """A colour of other flowers, out of focus: it keeps colours from telling the class."""
    shade = COLOURS[rng.pick(tuple(COLOURS))]
    return brightness * blend(shade, colour(0.35, 0.55, 0.3), rng.between(0.0, 0.5))


def draw_light(canvas: Canvas, rng: Rng) -> None:
    """Exposure, warmth, a brighter side, darker corners and now and then a cast shadow."""
    warmth, tint = rng.between(-0.21, 0.21), rng.between(-0.07, 0.07)
    exposure, haze = rng.between(0.85, 1.35), rng.between(0.0, 0.14)
    x, y = canvas.grid - np.float32(0.5), (canvas.grid - np.float32(0.5))[:, None]
    towards = rng.between(0.1, 0.4)
    glow = 1.0 + x * (towards * canvas.light[0]) + y * (towards * canvas.light[1])
    glow = glow - 0.5 * (x * x + y * y)
    if rng.chance(0.3):
        cos, sin = direction(rng.between(0.0, 360.0))
        edge = rng.between(-0.2, 0.2)
        glow = glow * (1.0 - 0.33 * clip((x * cos + y * sin + edge) * 9.0))
    gains = colour(exposure * (1 + warmth), exposure * (1 + tint), exposure * (1 - warmth))
    canvas.pixels *= (1.0 - haze) * gains * glow
    canvas.pixels += haze * gains
