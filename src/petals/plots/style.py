"""The look of every figure: colours, size, axes."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

INK, ACCENT, SECOND, GOOD, BAD, FAINT = (
    "#2b2b33", "#8c3fa8", "#2a7f9e", "#2d7d46", "#b3372f", "#e4e1ea",
)  # fmt: skip
WIDTH = 9.0  # inches


def new_figure(width: float = WIDTH, height: float = 3.2, **grid: Any) -> tuple[Figure, Any]:
    """A figure of `width` × `height` inches and its axes, laid out by `grid`."""
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(**grid)


def plain_axis(axes: Axes, title: str = "", x: str = "", y: str = "") -> None:
    """Title, labels, light horizontal lines and no frame."""
    axes.set_title(title, loc="left", fontsize=10, color=INK)
    axes.set_xlabel(x, fontsize=9)
    axes.set_ylabel(y, fontsize=9)
    axes.tick_params(labelsize=8, colors=INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color=FAINT, linewidth=0.8)
    axes.set_axisbelow(True)
