"""A whole picture of a flower: one or two plants of a class, somewhere, in some light."""

import io

import numpy as np
from PIL import Image

from draw_flowers.canvas import Canvas, Rng, clip, colour, direction
from draw_flowers.flora import FLORA
from draw_flowers.forms import FORMS, TURNS
from draw_flowers.plants import Flower, grow
from draw_flowers.scenery import draw_background, draw_leaves, draw_light
from petals.errors import SettingError


def draw_flower(label: int, index: int, size: int) -> np.ndarray:
    """Draw one picture of a flower, the same on every machine.

    Args:
        label: the class, 0..103.
        index: which picture of the class, any number >= 0.
        size: width and height in pixels, at least 8; the flower is the same at every size.

    Returns:
        uint8 (size, size, 3), red green blue.

    Raises:
        SettingError: for a size below 8.
    """
    if size < 8:
        raise SettingError(f"image_size={size}: flowers are drawn from 8 pixels on")
    rng = Rng(0, label, index)
    canvas = Canvas(size, direction(rng.between(-150.0, -30.0)))
    draw_background(canvas, rng)
    flower = grow(FLORA[label], canvas, rng)
    if rng.between(0.0, 1.0) < 0.3:
        angle = rng.between(0.0, 360.0)
        _draw_plant(flower, rng.between(0.12, 0.2), 0.38 * direction(angle))
    _draw_plant(flower, rng.between(0.31, 0.45), 0.07 * direction(rng.between(0.0, 360.0)))
    draw_light(canvas, rng)
    pixels = np.floor(clip(canvas.pixels) * np.float32(255.0) + np.float32(0.5))
    return np.ascontiguousarray(pixels.astype(np.uint8).transpose(1, 2, 0))


def flower_jpeg(label: int, index: int, size: int, quality: int) -> bytes:
    """The picture of `draw_flower` as a JPEG of this quality, 1 to 95."""
    file = io.BytesIO()
    picture = Image.fromarray(draw_flower(label, index, size))
    picture.save(file, "JPEG", quality=quality, optimize=True)
    return file.getvalue()


def _draw_plant(flower: Flower, radius: float, offset: complex) -> None:
    """A plant beside the middle of the canvas: shadow, leaves and flower, tilted a little."""
    between = flower.rng.between
    middle = 0.5 + 0.5j + offset
    form = flower.traits.form
    turn = between(*TURNS[form])
    tilt = between(0.0, 180.0)
    tilted = flower.turned(tilt, radius, radius * between(0.72, 1.0), middle)
    below = middle - 0.08 * flower.canvas.light
    flower.turned(0.0, radius * 1.35, at=below).glow(colour(0.02, 0.03, 0.03), 0.55)
    placed = tilted.turned(turn - tilt)
    draw_leaves(placed)
    FORMS[form](placed)
