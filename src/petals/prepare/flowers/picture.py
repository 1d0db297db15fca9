"""A whole picture of a flower: one or two plants of a class, somewhere, in some light."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from petals.errors import SettingError
from petals.prepare.flowers import heads, stalks
from petals.prepare.flowers.canvas import Canvas, Frame, Rng, clip, colour, direction
from petals.prepare.flowers.flora import FLORA
from petals.prepare.flowers.plants import Plant, grow
from petals.prepare.flowers.scenery import draw_background, draw_leaves, draw_light

FORMS: dict[str, Callable[[Canvas, Frame, Plant, Rng], None]] = {
    "open": heads.draw_open,
    "cluster": heads.draw_cluster,
    "globe": heads.draw_globe,
    "orchid": heads.draw_orchid,
    "pansy": heads.draw_pansy,
    "iris": heads.draw_iris,
    "half": heads.draw_half,
    "spathe": heads.draw_spathe,
    "spike": stalks.draw_spike,
    "bell": stalks.draw_bell,
    "cone": stalks.draw_cone,
    "plume": stalks.draw_plume,
    "tuft": stalks.draw_tuft,
    "quill": stalks.draw_quill,
    "fan": stalks.draw_fan,
    "cup": stalks.draw_cup,
    "spire": stalks.draw_spike,
}
UPRIGHT = {"bell", "spike", "spire", "fan", "cone", "plume", "tuft", "quill", "cup", "spathe"}
NEARLY_UPRIGHT = {"orchid", "pansy", "iris", "half"}


def draw_flower(label: int, index: int, size: int) -> np.ndarray:
    """Draw one picture of a flower, the same on every machine.

    Args:
        label: the class, 0..103.
        index: which picture of the class, any number >= 0.
        size: width and height in pixels; the flower is the same at every size.

    Returns:
        uint8 (size, size, 3), red green blue.

    Raises:
        SettingError: for a label outside 0..103, a negative index, or a size below 8.
    """
    if not 0 <= label < len(FLORA) or index < 0 or size < 8:
        raise SettingError(
            f"no flower has label {label}, index {index} at {size} pixels: labels are "
            f"0..{len(FLORA) - 1}, indices 0 or more, sizes 8 or more"
        )
    rng = Rng(0, label, index)
    canvas = Canvas(size)
    canvas.light = direction(rng.between(-150.0, -30.0))
    draw_background(canvas, rng)
    plant = grow(FLORA[label], rng)
    if rng.chance(0.3):
        angle = rng.between(0.0, 360.0)
        _plant(canvas, plant, rng, rng.between(0.12, 0.2), _offset(angle, 0.38))
    _plant(canvas, plant, rng, rng.between(0.31, 0.45), _offset(rng.between(0.0, 360.0), 0.07))
    draw_light(canvas, rng)
    pixels = np.floor(clip(canvas.pixels) * np.float32(255.0) + np.float32(0.5))
    return np.ascontiguousarray(pixels.astype(np.uint8).transpose(1, 2, 0))


def _offset(degrees: float, away: float) -> tuple[float, float]:
    cos, sin = direction(degrees)
    return 0.5 + away * cos, 0.5 + away * sin


def _plant(canvas: Canvas, plant: Plant, rng: Rng, radius: float, at: tuple[float, float]) -> None:
    """One plant with its shadow, leaves and flower, tilted away from the viewer."""
    whole = Frame(0.0, 0.0, 1.0, 0.0, 0.0, 1.0)
    turn = _turn(plant.traits.form, rng)
    tilt = rng.between(0.0, 180.0)
    upright = whole.turned(tilt, radius, radius * rng.between(0.72, 1.0), at=at)
    frame = upright.turned(turn - tilt)
    black = colour(0.02, 0.03, 0.03)
    below = (at[0] - 0.08 * canvas.light[0], at[1] - 0.08 * canvas.light[1])
    canvas.disc(whole.turned(0.0, radius * 1.35, at=below), black, black, "glow", 0.55)
    draw_leaves(canvas, frame, plant, rng)
    FORMS[plant.traits.form](canvas, frame, plant, rng)


def _turn(form: str, rng: Rng) -> float:
    """By how many degrees a flower is turned: any angle, unless it grows upwards."""
    if form in UPRIGHT:
        return rng.between(-24.0, 24.0)
    return rng.between(-40.0, 40.0) if form in NEARLY_UPRIGHT else rng.between(0.0, 360.0)
