"""The forms of flowers: seen from the front, then from the side on their stalk."""

import math
from collections.abc import Callable

from draw_flowers.canvas import blend
from draw_flowers.plants import GOLD, UP, WHITE, Flower, seeds


def draw_open(flower: Flower) -> None:
    """Layers of petals around a centre: most flowers, from four petals to a full rose."""
    traits = flower.traits
    between = flower.rng.between
    step = min(0.24, 0.78 / traits.layers)
    for layer in range(traits.layers):
        length = 1.0 - step * layer
        if layer:
            flower.shadow(length * 1.05)
        first = between(0.0, 8.0) + layer * (180.0 / traits.petals + 9.0)
        for k in range(traits.petals):
            long = length * between(0.9, 1.0)
            angle = first + 360.0 * k / traits.petals + between(-3.0, 3.0)
            flower.turned(angle, long, traits.width * long).petal(fade=0.25 * (layer % 2))
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
    """Three sepals, two wide wings and a lip."""
    width = flower.traits.width
    between = flower.rng.between
    for angle in (UP, 38.0, 142.0):
        flower.turned(angle, between(0.9, 1.0), width).petal(fade=0.3)
    for angle in (-172.0, -8.0):
        part = flower.turned(angle + between(-4.0, 4.0), 0.98, 1.2 * width)
        part.stroke("broad", flower.base, flower.tip, "veins", flower.accent)
    flower.shadow(0.5)
    for angle in (40.0, 140.0, 90.0):
        lobe = flower.turned(angle, 0.5 + 0.5 * flower.traits.radius, 0.24)
        lobe.stroke("broad", GOLD, flower.heart)
    flower.ball(0.1, WHITE, flower.heart)


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
    width = flower.traits.width
    tip = flower.tip
    between = flower.rng.between
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
    traits = flower.traits
    low = 0.2j
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


def draw_spike(flower: Flower) -> None:
    """Florets along a stem, smaller towards its tip."""
    traits = flower.traits
    count = flower.traits.petals
    layers = flower.traits.layers
    sides, largest = ((-1.0, 1.0, 0.0), 1.5) if count > 10 else ((-0.7, 0.7), 1.9)
    turn = 90.0 if layers < 5 else 288.0
    flower.stem(UP, 2.3, 0.05, 1.3j)
    for k in range(count):
        rise = k / (count - 1)
        side = sides[k % len(sides)]
        size = largest * (1.0 - 0.6 * rise) / math.sqrt(count)
        at = complex(0.55 * size * side, 0.85 - 1.75 * rise)
        angle = UP + 48.0 * side + flower.rng.between(-8.0, 8.0)
        floret = flower.turned(angle, 1.15 * size, at=at)
        floret.shadow(0.9, 0.3)
        for j in range(layers):
            lean = turn * (j / (layers - 1) - 0.5) if layers > 1 else 0.0
            floret.turned(lean, 1.0, traits.width).petal()
        floret.centre()


def draw_bell(flower: Flower) -> None:
    """One or several bells that hang side by side."""
    traits = flower.traits
    count = flower.traits.petals
    tip = flower.tip
    size = 1.5 if count == 1 else 1.0
    flower.stem(UP, 2.2, 0.05, 1.4j)
    for k in range(count):
        side = 0.0 if count == 1 else k / (count - 1) * 2.0 - 1.0
        at = complex(0.42 * side, -0.75 + 0.28 * (k % 2) + (0.1 if count > 1 else 0.0))
        bell = flower.turned(90.0 - 38.0 * side + flower.rng.between(-6.0, 6.0), size, at=at)
        bell.turned(0.0, 0.6, at=0.5 + 0j).shadow(1.0, 0.3)
        for lean in (-26.0, 26.0, 0.0):
            bell.turned(lean, 1.0, traits.width).petal(fade=0.3)
        front = bell.turned(0.0, 0.92, traits.width * 1.25)
        front.stroke("fan", flower.base, tip, traits.mark, flower.accent)
        for lean in (-20.0, 0.0, 20.0):
            lobe = bell.turned(lean, 0.34, 0.62 * traits.width, start=0.7)
            lobe.stroke("oval", 0.9 * tip, 1.15 * tip)
        bell.turned(0.0, 0.25, 0.14, -0.06 + 0j).stroke("oval", flower.green, flower.green)


def draw_cone(flower: Flower) -> None:
    """Scales that overlap upwards like tiles."""
    traits = flower.traits
    flower.stem(90.0, 1.0, 0.09, 0.7j)
    flower.shadow(1.1)
    rows = 6 if traits.petals > 20 else 4
    across = traits.petals // rows
    length = 3.2 / rows
    for row in range(rows):
        down = row / (rows - 1)
        swell = 1.0 - (1.6 * down - 0.8) * (1.6 * down - 0.8)
        for k in range(across):
            side = 2.0 * (k + 0.5 * (row % 2) + 0.25) / across - 1.0
            angle = UP + 30.0 * side + flower.rng.between(-4.0, 4.0)
            at = complex(0.7 * swell * side, 0.95 * down - 0.1)
            flower.turned(angle, length, traits.width * length * 0.9, at).petal()


def draw_plume(flower: Flower) -> None:
    """A flame of many small petals."""
    count = flower.traits.petals
    flower.stem(UP, 1.8, 0.06, 1.4j)
    flower.shadow(1.0, 0.3)
    for k in range(count):
        rise = k / count
        lean = flower.rng.between(-1.0, 1.0) * (1.0 - 0.7 * rise)
        length = 0.8 - 0.3 * rise
        at = complex(0.46 * lean, 0.85 - 1.4 * rise)
        part = flower.turned(UP + 42.0 * lean, length, flower.traits.width * length, at)
        part.petal(fade=0.5 * (k % 2))


def draw_cup(flower: Flower) -> None:
    """A tulip: petals that stand upright, some behind and some in front."""
    traits = flower.traits
    between = flower.rng.between
    low = 0.75j
    flower.stem(90.0, 1.2, 0.06, low)
    for lean in (-30.0, 30.0, 0.0):
        length = 1.62 * between(0.95, 1.02)
        flower.turned(UP + lean, length, traits.width, low).petal(fade=0.45)
    for lean in (-15.0, 15.0) if traits.petals < 6 else (-22.0, 22.0, 0.0):
        length = 1.45 * between(0.95, 1.02)
        flower.turned(UP + lean + between(-3.0, 3.0), length, traits.width, low).petal()


FORMS: dict[str, Callable[[Flower], None]] = {
    "open": draw_open,
    "cluster": draw_cluster,
    "globe": draw_globe,
    "orchid": draw_orchid,
    "pansy": draw_pansy,
    "iris": draw_iris,
    "half": draw_half,
    "spathe": draw_spathe,
    "spike": draw_spike,
    "bell": draw_bell,
    "cone": draw_cone,
    "plume": draw_plume,
    "cup": draw_cup,
}
# By how many degrees a flower is turned: any angle, unless it has a lower side or grows upwards.
TURNS = dict.fromkeys(FORMS, (-24.0, 24.0))
TURNS |= dict.fromkeys(("orchid", "pansy", "iris", "half"), (-40.0, 40.0))
TURNS |= dict.fromkeys(("open", "cluster", "globe"), (0.0, 360.0))
