"""Figures of probabilities: whether they hold, and the likeliest classes of photos."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from petals.evaluation.calibration import Reliability
from petals.plots.style import ACCENT, INK, look, new_figure, plain_axis


def reliability(reliabilities: Mapping[str, Reliability]) -> Figure:
    """Accuracy over confidence, one line a name; beside it how many answers were how sure."""
    caption = "Left the share of right answers by how sure they were; right how many were how sure."
    figure, (left, right) = new_figure(caption, ncols=2)
    left.plot([0, 1], [0, 1], ":", color=INK, linewidth=0.8)
    for number, (name, one) in enumerate(reliabilities.items()):
        some = one.counts > 0
        label = f"{name}, error {one.error:.3f}"
        left.plot(one.confidence[some], one.accuracy[some], label=label, **look(number))
        edges = np.linspace(0, 1, len(one.counts) + 1)
        style = {name: look(number)[name] for name in ("color", "linestyle", "linewidth")}
        right.stairs(one.counts, edges, **style)
    left.legend(frameon=False, fontsize=8, loc="lower right")
    plain_axis(left, "Reliability", "confidence", "accuracy")
    plain_axis(right, "How sure the answers are", "confidence", "photos")
    return figure


def likeliest(
    images: np.ndarray,
    names: Sequence[str],
    probabilities: np.ndarray,
    classes: Sequence[str],
    top: int = 5,
) -> Figure:
    """Photos, uint8 (n, size, size, 3), each beside bars of its likeliest classes."""
    columns = 3
    rows = max(1, math.ceil(len(images) / columns))
    figure, grid = new_figure(
        "Photos, and beside each its likeliest classes.",
        height=1.5 * rows,
        nrows=rows,
        ncols=2 * columns,
        squeeze=False,
        width_ratios=[1, 1.4] * columns,
    )
    for axes in grid.flat:
        axes.axis("off")
    places = grid.reshape(-1, 2)
    for (photo, bars), image, name, row in zip(places, images, names, probabilities, strict=False):
        photo.imshow(image)
        title = Path(name).name
        title = title if len(title) <= 22 else f"{title[:21]}…"
        photo.set_title(title, fontsize=6, color=INK, pad=2)
        order = np.argsort(-row, kind="stable")[:top]
        bars.barh(range(len(order)), row[order], color=ACCENT, alpha=0.35)
        bars.set(xlim=(0, 1), ylim=(top - 0.5, -0.5))
        for place, label in enumerate(order):
            bars.text(
                0.02, place, f"{classes[label]} {100 * row[label]:.0f} %", fontsize=6.5, va="center"
            )
    return figure
