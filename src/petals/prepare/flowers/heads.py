"""Flowers that face the viewer: open ones, clusters, globes, orchids, pansies, irises."""

from __future__ import annotations

import math

from petals.prepare.flowers.canvas import blend
from petals.prepare.flowers.plants import GOLD, UP, WHITE, Flower, seeds


def draw_open(flower: Flower) -> None:
    """Layers of petals around a centre: most flowers, from four petals to a full rose."""
    traits, between = flower.traits, flower.rng.between
    step = min(0.24, 0.78 / traits.layers)
    for layer in range(traits.layers):
        length = 1.0 - step * layer
        if layer:
            flower.shadow(length * 1.05)
        inner = traits.mark == "inner" and layer > 0
        first = between(0.0, 8.0) + layer * (180.0 / traits.petals + 9.0)
        for k in range(traits.petals):
            long = length * between(0.9, 1.0) * (0.75 if inner else 1.0)
            width = traits.width * (1.6 if inner else 1.0)
            angle = first + 360.0 * k / traits.petals + between(-3.0, 3.0)
            part = flower.turned(angle, long, width * long)
            if inner:
                part.stroke("fan", flower.accent, flower.accent)
            else:
                part.petal(fade=0.25 * (layer % 2))
    flower.centre()


def draw_cluster(flower: Flower) -> None:
    """An umbel of small flowers that each have `layers` petals."""
    traits = flower.traits
    size = 1.25 / math.sqrt(traits.petals)
    for _, place in seeds(traits.petals, 0.72):
        floret = flower.turned(flower.rng.between(0.0, 360.0), size, at=place)
        floret.shadow(1.1, 0.5)
        for k in range(traits.layers):
            floret.turned(360.0 * k / traits.layers, 1.0, traits.width).petal()
        floret.centre()


def draw_globe(flower: Flower) -> None:
    """A ball of small petals that all point outwards."""
    traits = flower.traits
    flower.shadow(1.1)
    flower.ball(0.72, 0.8 * flower.base, 0.6 * flower.base)
    for angle, place in seeds(traits.petals, 0.7):
        length = 0.36 * flower.rng.between(0.9, 1.1)
        flower.turned(angle, length, traits.width * 0.5, place).petal()
    flower.centre()


def draw_orchid(flower: Flower) -> None:
    """Three sepals, two wide wings and a lip, whose kind the centre names."""
    kind, lip, between = flower.traits.centre, flower.heart, flower.rng.between
    for angle in (UP, 38.0, 142.0):
        flower.turned(angle, between(0.9, 1.0), flower.traits.width).petal(fade=0.3)
    wide = 0.62 if kind == "wings" else 0.44
    wing = "wavy" if kind == "frill" else "broad"
    for angle in (-172.0, -8.0):
        part = flower.turned(angle + between(-4.0, 4.0), 0.98, wide)
        part.stroke(wing, flower.base, flower.tip, "veins", flower.accent)
    flower.shadow(0.5)
    if kind == "pouch":
        flower.turned(0.0, 0.34, 0.42, 0.42j).disc(1.2 * lip, 0.8 * lip)
        flower.turned(0.0, 0.2, 0.1, 0.14j).disc(0.4 * lip, 0.6 * lip)
    elif kind == "frill":
        flower.turned(90.0, 0.95, 0.55).stroke("wavy", GOLD, lip, "eye")
    else:
        for angle in (40.0, 140.0, 90.0):
            flower.turned(angle, 0.5, 0.18).stroke("broad", GOLD, lip)
    flower.ball(0.1, WHITE, lip)


def draw_pansy(flower: Flower) -> None:
    """Two petals above and three marked ones below."""
    traits, tip, base = flower.traits, flower.tip, flower.base
    for angle in (-128.0, -52.0):
        part = flower.turned(angle, flower.rng.between(0.92, 1.0), traits.width)
        part.stroke(traits.outline, tip, tip)
    for angle in (172.0, 8.0, 90.0):
        part = flower.turned(angle, flower.rng.between(0.8, 0.9), traits.width * 0.95)
        part.stroke(traits.outline, base, blend(base, tip, 0.25), traits.mark, flower.accent)
    flower.centre()


def draw_iris(flower: Flower) -> None:
    """Three petals that stand and three that fall, each of these with a beard."""
    width, tip, between = flower.traits.width, flower.tip, flower.rng.between
    for angle in (-128.0, -52.0, UP):
        part = flower.turned(angle, between(0.92, 1.05), width * 0.8)
        part.stroke("oval", tip, blend(tip, flower.base, 0.2))
    flower.shadow(0.6)
    for angle in (168.0, 12.0, 90.0):
        flower.turned(angle, between(0.95, 1.05), width).petal()
    for angle in (168.0, 12.0, 90.0):
        flower.turned(angle, 0.45, 0.11).stroke("strap", flower.heart, flower.heart)


def draw_half(flower: Flower) -> None:
    """Petals that are all thrown up, with a nose or whiskers below."""
    traits, low = flower.traits, 0.2j
    for k in range(traits.petals):
        lean = 150.0 * (k / (traits.petals - 1) - 0.5) + flower.rng.between(-4.0, 4.0)
        flower.turned(UP + lean, 1.1, traits.width, low).petal()
    if traits.centre == "nose":
        nose = flower.turned(0.0, traits.radius, traits.radius * 0.8, 0.28j)
        nose.disc(flower.heart, 0.7 * flower.heart)
        return
    whiskers = flower.turned(0.0, at=low)
    whiskers.rays(8, traits.radius, 0.02, flower.heart, dots=0.05, spread=110.0, towards=97.0)


def draw_spathe(flower: Flower) -> None:
    """One large bract around a spadix."""
    heart = flower.heart
    flower.stem(90.0, 1.0, 0.08, 0.7j)
    if flower.traits.outline == "heart":
        flower.turned(UP, 2.05, 0.95, 1.05j).petal()
        low = -0.3j
    else:
        flower.turned(UP, 1.95, 0.8, 0.95j).petal()
        front = flower.turned(UP + 14.0, 1.2, 0.5, 0.98j)
        front.stroke("lance", blend(flower.base, flower.tip, 0.3), 0.93 * flower.tip)
        low = 0.15j
    spadix = flower.turned(UP + flower.rng.between(-12.0, 25.0), 0.95, 0.1, low)
    spadix.stroke("strap", heart, 1.05 * heart, "spots", 0.7 * heart)
