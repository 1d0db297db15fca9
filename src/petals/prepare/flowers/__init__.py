"""Flowers drawn by arithmetic: the 104 classes without a photo, the same on every machine."""

from petals.prepare.flowers.picture import draw_flower

__all__ = ["draw_flower"]
