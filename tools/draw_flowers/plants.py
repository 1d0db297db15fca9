"""What flowers are put together from: a plant's own colours, petals, filaments, hearts."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from draw_flowers.canvas import Canvas, Colour, Frame, Rng, blend, colour, direction
from draw_flowers.flora import COLOURS, Traits

UP = -90.0  # degrees
GOLDEN = 137.508  # degrees between one seed and the next in a flower head
WHITE = colour(0.96, 0.95, 0.88)
GOLD = COLOURS["gold"]
HEADS = {"button", "seeds", "dome", "ring"}  # these sit on a disc of seeds


@dataclass(frozen=True, kw_only=True)
class Flower(Frame):
    """A flower that fills the circle of radius 1 of its frame, in its own shades of colours."""

    rng: Rng
    traits: Traits
    tip: Colour
    base: Colour
    accent: Colour
    heart: Colour
    green: Colour

    def petal(self, fade: float = 0.0) -> None:
        """Fill the frame with a petal of the class; `fade` 0..1 mixes in its base colour."""
        traits = self.traits
        tip = blend(self.tip, self.base, fade)
        self.stroke(traits.outline, self.base, tip, traits.mark, self.accent)

    def stem(self, degrees: float, length: float, width: float, at: complex) -> None:
        """A green stem from `at` along an angle."""
        self.turned(degrees, length, width, at).stroke("strap", self.green, self.green)

    def shadow(self, radius: float, opacity: float = 0.4) -> None:
        """Darken what lies behind, most in the middle, so that what comes next stands out."""
        self.turned(0.0, radius).glow(colour(0.05, 0.05, 0.08), opacity)

    def dot(self, radius: float, paint: Colour, at: complex = 0j) -> None:
        """A small ball of one colour."""
        self.turned(0.0, radius, at=at).disc(paint, 0.75 * paint)

    def rays(
        self,
        count: int,
        length: float,
        width: float,
        paint: Colour,
        dots: float,
        spread: float = 360.0,
        towards: float = 0.0,
    ) -> None:
        """Thin filaments from the middle, each with a ball of radius `dots` at its end.

        They share out `spread` degrees around the direction `towards`.
        """
        for k in range(count):
            angle = towards + spread * (k / count - 0.5) + self.rng.between(-6.0, 6.0)
            ray = self.turned(angle, length * self.rng.between(0.85, 1.0), width)
            ray.stroke("strap", blend(paint, WHITE, 0.35), paint)
            replace(self, origin=ray.point(0.95, 0.0)).dot(dots, paint)

    def centre(self) -> None:
        """Draw the centre; one that is not known here, such as an orchid's lip, is the form's."""
        radius = self.traits.radius
        heart = self.heart
        middle = self.turned(0.0, radius)
        if self.traits.centre in HEADS:
            self.shadow(radius * 1.35, 0.5)
            middle.disc(heart, 0.8 * heart, "seeds")
        match self.traits.centre:
            case "button":
                self.ball(0.5 * radius, 1.05 * heart, 0.9 * heart)
            case "seeds":
                self.ball(0.55 * radius, 0.45 * heart, 0.6 * heart, "seeds")
            case "dome":
                self.ball(0.8 * radius, 1.3 * heart + 0.06, 0.8 * heart, "seeds")
                self.turned(0.0, 0.6 * radius).glow(WHITE, 0.35)
            case "ring":
                for k in range(16):
                    self.turned(22.5 * k, 0.2 * radius, start=0.9 * radius).dot(1.0, GOLD)
            case "tube":
                self.ball(1.15 * radius, self.base, 1.1 * heart, "ruffled")
                self.ball(0.75 * radius, 0.35 * heart, 0.8 * heart)
            case "pins":
                for _, seed in seeds(26, 1.0):
                    middle.dot(0.09, heart, seed)
            case "stamens":
                self.rays(9, radius, 0.016, heart, dots=0.055)
            case "column":
                self.rays(1, radius * 1.1, 0.05, heart, dots=0.07)
                self.dot(0.06, heart)
            case "star":
                for k in range(5):
                    middle.turned(72.0 * k, 1.0, 0.35).stroke("kite", 0.8 * heart, heart)


def grow(traits: Traits, canvas: Canvas, rng: Rng) -> Flower:
    """A flower of a class; its colours differ a little from those of others of its class."""
    shift = colour(*(rng.between(-0.1, 0.1) for _ in range(3)))
    pale = rng.between(0.0, 0.24)

    def shade(name: str) -> Colour:
        return blend(COLOURS[name] + shift, colour(0.8, 0.8, 0.8), pale)

    return Flower(
        canvas,
        rng=rng,
        traits=traits,
        tip=shade(rng.pick(traits.tip.split("/"))),
        base=shade(traits.base),
        accent=shade(traits.accent),
        heart=shade(traits.heart),
        green=colour(rng.between(0.16, 0.5), rng.between(0.4, 0.68), rng.between(0.12, 0.42)),
    )


def seeds(count: int, radius: float) -> Iterator[tuple[float, complex]]:
    """The seeds of a head, from the rim inwards: (degrees, place) within `radius`."""
    for k in range(count, 0, -1):
        angle = GOLDEN * k % 360.0
        yield angle, radius * math.sqrt(k / count) * direction(angle)
