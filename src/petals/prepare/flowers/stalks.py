"""Flowers seen from the side, on their stalk: spikes, bells, cones, plumes, thistles, cups."""

from __future__ import annotations

import math

from petals.prepare.flowers.canvas import Canvas, Frame, Rng
from petals.prepare.flowers.flora import COLOURS
from petals.prepare.flowers.plants import UP, Plant, draw_centre, petal, rays, shadow, stem


def draw_spike(canvas: Canvas, frame: Frame, plant: Plant, rng: Rng) -> None:
    """Florets along a stem, smaller towards its tip; a spire's hang down."""
    traits = plant.traits
    drooping = traits.form == "spire"
    stem(canvas, frame, plant, UP, 2.3, 0.05, (0.0, 1.3))
    for k in range(traits.petals):
        rise = k / (traits.petals - 1)
        side = (-1.0, 1.0, 0.0)[k % 3] if traits.petals > 10 else (-0.7, 0.7)[k % 2]
        size = (1.5 if traits.petals > 10 else 1.9) * (1.0 - 0.6 * rise) / math.sqrt(traits.petals)
        at = (0.55 * size * side, 0.85 - 1.75 * rise)
        angle = (90.0 - 40.0 * side) if drooping else UP + 48.0 * side
        size *= 1.75 if drooping else 1.15
        floret = frame.turned(angle + rng.between(-8.0, 8.0), size, at=at)
        shadow(canvas, floret, 0.9, 0.3)
        if traits.layers == 0:
            canvas.disc(floret.turned(0.0, 0.55), plant.tip, plant.base)
            canvas.disc(floret.turned(0.0, 0.15, at=(0.3, 0.0)), plant.accent, plant.accent)
            continue
        turn = 90.0 if traits.layers < 5 else 288.0
        for j in range(traits.layers):
            lean = turn * (j / (traits.layers - 1) - 0.5) if traits.layers > 1 else 0.0
            petal(canvas, floret.turned(lean, 1.0, traits.width), plant)
        draw_centre(canvas, floret, plant, rng)


def draw_bell(canvas: Canvas, frame: Frame, plant: Plant, rng: Rng) -> None:
    """One or several bells that hang side by side."""
    traits = plant.traits
    count = traits.petals
    size = 1.5 if count == 1 else 1.0
    stem(canvas, frame, plant, UP, 2.2, 0.05, (0.0, 1.4))
    for k in range(count):
        side = 0.0 if count == 1 else k / (count - 1) * 2.0 - 1.0
        at = (0.42 * side, -0.75 + 0.28 * (k % 2) + (0.1 if count > 1 else 0.0))
        angle = 90.0 - 38.0 * side + rng.between(-6.0, 6.0)
        bell = frame.turned(angle, size, at=at)
        shadow(canvas, bell.turned(0.0, 0.6, at=(0.5, 0.0)), 1.0, 0.3)
        for lean in (-26.0, 26.0, 0.0):
            petal(canvas, bell.turned(lean, 1.0, traits.width), plant, fade=0.3)
        canvas.petal(
            bell.turned(0.0, 0.92, traits.width * 1.25),
            "fan",
            plant.base,
            plant.tip,
            traits.mark,
            plant.accent,
        )
        for lean in (-20.0, 0.0, 20.0):
            lobe = bell.turned(lean, 0.34, 0.62 * traits.width, start=0.7)
            canvas.petal(lobe, "oval", 0.9 * plant.tip, 1.15 * plant.tip)
        canvas.petal(
            bell.turned(0.0, 0.25, 0.14, at=(-0.06, 0.0)), "oval", plant.green, plant.green
        )


def draw_cone(canvas: Canvas, frame: Frame, plant: Plant, rng: Rng) -> None:
    """Scales that overlap upwards like tiles."""
    traits = plant.traits
    stem(canvas, frame, plant, 90.0, 1.0, 0.09, (0.0, 0.7))
    shadow(canvas, frame, 1.1)
    rows = 6 if traits.petals > 20 else 4
    across = traits.petals // rows
    for row in range(rows):
        down = row / (rows - 1)
        swell = 1.0 - (1.6 * down - 0.8) * (1.6 * down - 0.8)
        for k in range(across):
            side = 2.0 * (k + 0.5 * (row % 2) + 0.25) / across - 1.0
            at = (0.7 * swell * side, 0.95 * down - 0.1)
            angle = UP + 30.0 * side + rng.between(-4.0, 4.0)
            length = 3.2 / rows
            petal(canvas, frame.turned(angle, length, traits.width * length * 0.9, at=at), plant)


def draw_plume(canvas: Canvas, frame: Frame, plant: Plant, rng: Rng) -> None:
    """A flame of many small petals."""
    stem(canvas, frame, plant, UP, 1.8, 0.06, (0.0, 1.4))
    shadow(canvas, frame, 1.0, 0.3)
    count = plant.traits.petals
    for k in range(count):
        rise = k / count
        lean = rng.between(-1.0, 1.0) * (1.0 - 0.7 * rise)
        at = (0.46 * lean, 0.85 - 1.4 * rise)
        length = 0.8 - 0.3 * rise
        petal(
            canvas,
            frame.turned(UP + 42.0 * lean, length, plant.traits.width * length, at=at),
            plant,
            fade=0.5 * (k % 2),
        )


def draw_tuft(canvas: Canvas, frame: Frame, plant: Plant, rng: Rng) -> None:
    """A thistle: a brush of petals out of a spiny ball."""
    traits = plant.traits
    stem(canvas, frame, plant, 90.0, 1.0, 0.07, (0.0, 0.6))
    for k in range(traits.petals):
        lean = 130.0 * (k * 7 % traits.petals / traits.petals - 0.5) + rng.between(-3.0, 3.0)
        length = rng.between(1.0, 1.2)
        petal(canvas, frame.turned(UP + lean, length, traits.width, at=(0.0, 0.15)), plant)
    for k in range(11):
        spike = frame.turned(UP + 26.0 * (k - 5), 0.66, 0.07, at=(0.0, 0.42))
        canvas.petal(spike, "kite", plant.green, 1.3 * plant.green)
    ball = frame.turned(0.0, traits.radius, traits.radius * 0.92, at=(0.0, 0.42))
    canvas.disc(ball, plant.heart, 0.6 * plant.heart, "seeds")


def draw_quill(canvas: Canvas, frame: Frame, plant: Plant, rng: Rng) -> None:
    """A feather of bracts with a flower on either side."""
    traits = plant.traits
    for side, rise in ((-1.0, 0.2), (1.0, 0.5)):
        for k in range(3):
            part = frame.turned(
                UP + side * (35.0 + 32.0 * k), 0.42, 0.16, at=(0.32 * side, 0.4 - 1.2 * rise)
            )
            canvas.petal(part, "oval", 0.8 * plant.heart, 1.2 * plant.heart)
    stem(canvas, frame, plant, UP, 1.2, 0.06, (0.0, 1.7))
    petal(canvas, frame.turned(UP, 0.6, traits.width, at=(0.0, -0.55)), plant)
    for k in range(traits.petals):
        rise = 1.0 - k / (traits.petals - 1)
        side = (-1.0, 1.0)[k % 2]
        length = 0.72 - 0.25 * rise + rng.between(-0.03, 0.03)
        scale = frame.turned(UP + 30.0 * side, length, traits.width, at=(0.0, 0.85 - 1.5 * rise))
        petal(canvas, scale, plant)


def draw_fan(canvas: Canvas, frame: Frame, plant: Plant, rng: Rng) -> None:
    """A bird of paradise: a crest over a beak."""
    traits = plant.traits
    low = (-0.35, 0.35)
    stem(canvas, frame, plant, 100.0, 1.3, 0.08, low)
    for k in range(traits.petals):
        angle = -142.0 + 96.0 * k / (traits.petals - 1) + rng.between(-5.0, 5.0)
        petal(canvas, frame.turned(angle, rng.between(1.1, 1.25), traits.width, at=low), plant)
    for angle in (-62.0, -24.0):
        canvas.petal(frame.turned(angle, 1.0, 0.1, at=low), "kite", plant.accent, plant.accent)
    beak = frame.turned(-8.0, 1.5, 0.16, at=(-0.6, 0.38))
    canvas.petal(beak, "lance", plant.green, COLOURS["crimson"])


def draw_cup(canvas: Canvas, frame: Frame, plant: Plant, rng: Rng) -> None:
    """A tulip: petals that stand upright, some behind and some in front."""
    traits = plant.traits
    low = (0.0, 0.75)
    stem(canvas, frame, plant, 90.0, 1.2, 0.06, low)
    back = [UP + lean for lean in (-30.0, 30.0, 0.0)]
    front = [UP - 15.0, UP + 15.0] if traits.petals < 6 else [UP - 22.0, UP + 22.0, UP]
    for angle in back:
        length = 1.62 * rng.between(0.95, 1.02)
        petal(canvas, frame.turned(angle, length, traits.width, at=low), plant, fade=0.45)
    if traits.centre == "stamens":
        rays(canvas, frame, 3, 0.75, 0.05, plant.heart, rng, dots=0.08, spread=50.0, towards=UP + 8)
    for angle in front:
        length = 1.45 * rng.between(0.95, 1.02)
        part = frame.turned(angle + rng.between(-3.0, 3.0), length, traits.width, at=low)
        petal(canvas, part, plant)
