"""Flowers drawn by arithmetic: the 104 classes without a photo, the same on every machine.

Begin with `picture.draw_flower`.
"""
