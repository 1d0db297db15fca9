"""Where a flower stands and in which light: backgrounds, leaves, exposure."""

import numpy as np

from draw_flowers.canvas import Canvas, Colour, Frame, Rng, blend, clip, colour, direction
from draw_flowers.flora import COLOURS
from draw_flowers.plants import UP, Flower

# Outline, number, degrees apart and degrees they sway, length, width, how far from the middle each
# starts.
_LEAVES = {
    "oval": ("oval", 4, 90.0, 20, 1.3, 0.34, 0.0),
    "narrow": ("lance", 7, 51.0, 15, 1.45, 0.1, 0.0),
    "heart": ("broad", 3, 120.0, 20, 1.4, 0.62, 0.0),
    "round": ("fan", 4, 90.0, 20, 0.75, 0.4, 0.5),
    "sword": ("lance", 4, 32.0, 8, 2.4, 0.13, 0.0),
}
_SCENES = {  # the colours above and below
    "meadow": (colour(0.62, 0.78, 0.42), colour(0.2, 0.44, 0.14)),
    "sky": (colour(0.42, 0.62, 0.9), colour(0.86, 0.92, 0.96)),
    "soil": (colour(0.6, 0.46, 0.34), colour(0.38, 0.27, 0.19)),
    "foliage": (colour(0.22, 0.42, 0.22), colour(0.11, 0.24, 0.13)),
}


def draw_leaves(flower: Flower) -> None:
    """The leaves that show behind a flower: their shape is part of what tells a class."""
    kind = flower.traits.leaf
    between = flower.rng.between
    dark, bright = 0.6 * flower.green, 1.2 * flower.green
    first = between(0.0, 360.0)
    middle = 0j
    if kind == "sword":  # grows upwards from below the flower, the others in a ring around it
        first = UP - 48.0
        middle = 1.2j
    if kind in _LEAVES:
        outline, count, step, sway, length, width, start = _LEAVES[kind]
        for k in range(count):
            angle = first + step * k + between(-sway, sway)
            leaf = flower.turned(angle, length, width, middle, start)
            leaf.stroke(outline, dark, bright, "veins", 0.8 * flower.green)
    elif kind == "fern":
        for k in range(4):
            frond = flower.turned(first + 90.0 * k + between(-20, 20), 1.5)
            frond.turned(0.0, 1.0, 0.02).stroke("strap", dark, dark)
            for j in range(8):
                leaf = frond.turned((-48.0, 48.0)[j % 2], 0.3, 0.05, 0.5 + 0.12 * (j // 2))
                leaf.stroke("lance", dark, bright)


def _clouds(canvas: Canvas, rng: Rng, cells: int) -> np.ndarray:
    """Smooth noise in 0..1, float32 (size, size): a coarse grid of random numbers, drawn out."""
    values = rng.random((cells, cells)).astype(np.float32)
    last = cells - 1
    places = canvas.grid * last
    low = np.minimum(np.floor(places), last - 1).astype(np.int64)
    share = places - low.astype(np.float32)
    share = share * share * (3.0 - 2.0 * share)  # no creases where the squares meet
    wide = values[:, low] + share * (values[:, low + 1] - values[:, low])
    return wide[low] + share[:, None] * (wide[low + 1] - wide[low])


def draw_background(canvas: Canvas, rng: Rng) -> None:
    """Fill the canvas with a meadow, sky, soil, foliage or a blur, none of which tells a class."""
    kind = rng.pick((*_SCENES, "blur", "blur"))
    blur = _any_colour(rng, 0.75), _any_colour(rng, 0.5)
    upper, lower = _SCENES.get(kind, blur)
    down = _clouds(canvas, rng, 5) * 0.6 + canvas.grid[:, None] - 0.3
    canvas.pixels[:] = upper + clip(down) * (lower - upper)
    canvas.pixels *= 0.84 + 0.32 * _clouds(canvas, rng, 11)
    _draw_things(Frame(canvas), kind, rng)


def _draw_things(whole: Frame, kind: str, rng: Rng) -> None:
    """Draw clouds, grass, stones or leaves, and spots of light everywhere but in the sky."""
    between = rng.between
    if kind == "sky":
        for _ in range(5):
            cloud = whole.turned(0.0, between(0.15, 0.4), between(0.06, 0.14), rng.place())
            cloud.glow(colour(1, 1, 1), 0.7)
        return
    if kind == "meadow":
        for k in range(26):
            angle = UP + between(-22.0, 22.0)
            length = between(0.3, 0.7)
            at = complex(between(0.0, 1.0), 0.5 + 0.7 * k / 26)
            green = colour(between(0.15, 0.5), between(0.4, 0.75), 0.15)
            whole.turned(angle, length, 0.012, at).stroke("lance", 0.5 * green, green)
    elif kind == "soil":
        for _ in range(26):
            stone = whole.turned(between(0.0, 180.0), between(0.01, 0.045), 0.02, rng.place())
            grey = colour(0.5, 0.42, 0.34) * between(0.5, 1.2)
            stone.disc(grey, 0.7 * grey)
    elif kind == "foliage":
        for _ in range(12):
            at = rng.place()
            leaf = whole.turned(between(0.0, 360.0), between(0.2, 0.45), 0.08, at)
            green = colour(0.19, 0.44, 0.2) * between(0.6, 1.4)
            leaf.stroke("oval", 0.6 * green, green)
    for _ in range(10):
        spot = whole.turned(0.0, between(0.05, 0.16), at=rng.place())
        spot.glow(_any_colour(rng, 0.9), between(0.3, 0.8))


def _any_colour(rng: Rng, brightness: float) -> Colour:
    """A colour of other flowers, out of focus: it keeps colours from telling the class."""
    shade = rng.pick([*COLOURS.values()])
    return brightness * blend(shade, colour(0.35, 0.55, 0.3), rng.between(0.0, 0.5))


def draw_light(canvas: Canvas, rng: Rng) -> None:
    """Exposure, warmth, a brighter side, darker corners and now and then a cast shadow."""
    between = rng.between
    warmth, tint = between(-0.21, 0.21), between(-0.07, 0.07)
    exposure, haze = between(0.85, 1.35), between(0.0, 0.14)
    x = canvas.grid - np.float32(0.5)
    y = x[:, None]
    towards = between(0.1, 0.4) * canvas.light
    glow = 1.0 + x * towards.real + y * towards.imag
    glow = glow - 0.5 * (x * x + y * y)
    if between(0.0, 1.0) < 0.3:
        side = direction(between(0.0, 360.0))
        edge = between(-0.2, 0.2)
        glow = glow * (1.0 - 0.33 * clip((x * side.real + y * side.imag + edge) * 9.0))
    gains = colour(exposure * (1 + warmth), exposure * (1 + tint), exposure * (1 - warmth))
    canvas.pixels *= (1.0 - haze) * gains * glow
    canvas.pixels += haze * gains
