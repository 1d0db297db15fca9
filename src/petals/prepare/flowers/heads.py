"""Flowers that face the viewer: open ones, clusters, globes, orchids, pansies, irises."""

from __future__ import annotations

import math

from petals.prepare.flowers.canvas import Canvas, Frame, Rng, blend
from petals.prepare.flowers.plants import (
    GOLD,
    UP,
    WHITE,
    Plant,
    draw_centre,
    petal,
    rays,
    seeds,
    shadow,
    stem,
)


def draw_open(canvas: Canvas, frame: Frame, plant: Plant, rng: Rng) -> None:
    """Layers of petals around a centre: most flowers, from four petals to a full rose."""
    traits = plant.traits
    step = min(0.24, 0.78 / traits.layers)
    for layer in range(traits.layers):
        length = 1.0 - step * layer
        if layer:
            shadow(canvas, frame, length * 1.05)
        inner = traits.mark == "inner" and layer > 0
        first = rng.between(0.0, 8.0) + layer * (180.0 / traits.petals + 9.0)
        for k in range(traits.petals):
            long = length * rng.between(0.9, 1.0) * (0.75 if inner else 1.0)
            width = traits.width * (1.6 if inner else 1.0)
            angle = first + 360.0 * k / traits.petals + rng.between(-3.0, 3.0)
            part = frame.turned(angle, long, width * long)
            if inner:
                canvas.petal(part, "fan", plant.accent, plant.accent)
            else:
                petal(canvas, part, plant, fade=0.25 * (layer % 2))
    draw_centre(canvas, frame, plant, rng)


def draw_cluster(canvas: Canvas, frame: Frame, plant: Plant, rng: Rng) -> None:
    """An umbel of small flowers that each have `layers` petals."""
    traits = plant.traits
    size = 1.25 / math.sqrt(traits.petals)
    for _, x, y in seeds(traits.petals, 0.72):
        floret = frame.turned(rng.between(0.0, 360.0), size, at=(x, y))
        shadow(canvas, floret, 1.1, 0.5)
        for k in range(traits.layers):
            petal(canvas, floret.turned(360.0 * k / traits.layers, 1.0, traits.width), plant)
        draw_centre(canvas, floret, plant, rng)


def draw_globe(canvas: Canvas, frame: Frame, plant: Plant, rng: Rng) -> None:
    """A ball of small petals that all point outwards."""
    traits = plant.traits
    shadow(canvas, frame, 1.1)
    canvas.disc(frame.turned(0.0, 0.72), 0.8 * plant.base, 0.6 * plant.base)
    for angle, x, y in seeds(traits.petals, 0.7):
        length = 0.36 * rng.between(0.9, 1.1)
        petal(canvas, frame.turned(angle, length, traits.width * 0.5, at=(x, y)), plant)
    draw_centre(canvas, frame, plant, rng)


def draw_orchid(canvas: Canvas, frame: Frame, plant: Plant, rng: Rng) -> None:
    """Three sepals, two wide wings and a lip, whose kind the centre names."""
    traits = plant.traits
    for angle in (UP, 38.0, 142.0):
        petal(canvas, frame.turned(angle, rng.between(0.9, 1.0), traits.width), plant, fade=0.3)
    wide = 0.62 if traits.centre == "wings" else 0.44
    wing = "wavy" if traits.centre == "frill" else "broad"
    for angle in (-172.0, -8.0):
        part = frame.turned(angle + rng.between(-4.0, 4.0), 0.98, wide)
        canvas.petal(part, wing, plant.base, plant.tip, "veins", plant.accent)
    lip = plant.heart
    shadow(canvas, frame, 0.5)
    if traits.centre == "pouch":
        canvas.disc(frame.turned(0.0, 0.34, 0.42, at=(0.0, 0.42)), 1.2 * lip, 0.8 * lip)
        canvas.disc(frame.turned(0.0, 0.2, 0.1, at=(0.0, 0.14)), 0.4 * lip, 0.6 * lip)
    elif traits.centre == "frill":
        canvas.petal(frame.turned(90.0, 0.95, 0.55), "wavy", GOLD, lip, "eye")
    else:
        for angle in (40.0, 140.0, 90.0):
            canvas.petal(frame.turned(angle, 0.5, 0.18), "broad", GOLD, lip)
    canvas.disc(frame.turned(0.0, 0.1), WHITE, lip)


def draw_pansy(canvas: Canvas, frame: Frame, plant: Plant, rng: Rng) -> None:
    """Two petals above and three marked ones below."""
    traits = plant.traits
    for angle in (-128.0, -52.0):
        part = frame.turned(angle, rng.between(0.92, 1.0), traits.width)
        canvas.petal(part, traits.outline, plant.tip, plant.tip)
    for angle in (172.0, 8.0, 90.0):
        part = frame.turned(angle, rng.between(0.8, 0.9), traits.width * 0.95)
        canvas.petal(
            part,
            traits.outline,
            plant.base,
            blend(plant.base, plant.tip, 0.25),
            traits.mark,
            plant.accent,
        )
    draw_centre(canvas, frame, plant, rng)


def draw_iris(canvas: Canvas, frame: Frame, plant: Plant, rng: Rng) -> None:
    """Three petals that stand and three that fall, each of these with a beard."""
    traits = plant.traits
    for angle in (-128.0, -52.0, UP):
        part = frame.turned(angle, rng.between(0.92, 1.05), traits.width * 0.8)
        canvas.petal(part, "oval", plant.tip, blend(plant.tip, plant.base, 0.2))
    shadow(canvas, frame, 0.6)
    for angle in (168.0, 12.0, 90.0):
        petal(canvas, frame.turned(angle, rng.between(0.95, 1.05), traits.width), plant)
    for angle in (168.0, 12.0, 90.0):
        canvas.petal(frame.turned(angle, 0.45, 0.11), "strap", plant.heart, plant.heart)


def draw_half(canvas: Canvas, frame: Frame, plant: Plant, rng: Rng) -> None:
    """Petals that are all thrown up, with a nose or whiskers below."""
    traits = plant.traits
    for k in range(traits.petals):
        lean = 150.0 * (k / (traits.petals - 1) - 0.5) + rng.between(-4.0, 4.0)
        petal(canvas, frame.turned(UP + lean, 1.1, traits.width, at=(0.0, 0.2)), plant)
    if traits.centre == "nose":
        nose = frame.turned(0.0, traits.radius, traits.radius * 0.8, at=(0.0, 0.28))
        canvas.disc(nose, plant.heart, 0.7 * plant.heart)
        return
    low = frame.turned(0.0, 1.0, at=(0.0, 0.2))
    rays(
        canvas,
        low,
        8,
        traits.radius,
        0.02,
        plant.heart,
        rng,
        dots=0.05,
        spread=110.0,
        towards=97.0,
    )


def draw_spathe(canvas: Canvas, frame: Frame, plant: Plant, rng: Rng) -> None:
    """One large bract around a spadix."""
    traits = plant.traits
    stem(canvas, frame, plant, 90.0, 1.0, 0.08, (0.0, 0.7))
    if traits.outline == "heart":
        petal(canvas, frame.turned(UP, 2.05, 0.95, at=(0.0, 1.05)), plant)
        low = (0.0, -0.3)
    else:
        petal(canvas, frame.turned(UP, 1.95, 0.8, at=(0.0, 0.95)), plant)
        front = frame.turned(UP + 14.0, 1.2, 0.5, at=(0.0, 0.98))
        canvas.petal(front, "lance", blend(plant.base, plant.tip, 0.3), 0.93 * plant.tip)
        low = (0.0, 0.15)
    spadix = frame.turned(UP + rng.between(-12.0, 25.0), 0.95, 0.1, at=low)
    canvas.petal(spadix, "strap", plant.heart, 1.05 * plant.heart, "spots", 0.7 * plant.heart)
