"""Figures of answers and their probabilities: which are right, how sure they are, what they are."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from petals.evaluation.calibration import Reliability
from petals.plots.run import (
    ACCENT,
    BAD,
    FAINT,
    GOOD,
    INK,
    SECOND,
    SMALL,
    TEXT,
    TITLE,
    gallery,
    look,
    new_figure,
    plain_axis,
)

WEAK = 0.7  # F1 below which a class's bar is marked


def confusion(matrix: np.ndarray, names: Sequence[str]) -> Figure:
    """A confusion matrix, int (classes, classes), that is readable at 104 classes.

    Each row shows shares of its class. Right predictions are pale and mistakes dark, so that the
    confused pairs stand out and not the diagonal.
    """
    n = len(names)
    side = min(14.0, max(4.5, 1.5 + 0.115 * n))
    caption = "A row for each true class and a column for each answer: right ones blue, others red."
    figure, axes = new_figure(caption, side, side)
    correct, total = int(np.trace(matrix)), max(1, int(matrix.sum()))
    title = f"{correct:,} of {total:,} are correct ({100 * correct / total:.0f} %)"
    off = matrix - np.diag(np.diag(matrix))
    if off.any():
        truth, guess = np.unravel_index(off.argmax(), off.shape)
        often = f"{off.max()} times" if off.max() > 1 else "once"
        title += f"; most common mistake: {names[truth]} → {names[guess]}, {often}"
    shares = matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1)
    colours = np.ones((n, n, 3))
    right, wrong = np.eye(n, dtype=bool), ~np.eye(n, dtype=bool)
    blue, orange = np.array([0.62, 0.80, 0.92]), np.array([0.70, 0.22, 0.0])
    strength = np.sqrt(shares)[..., None]
    colours[right] = (1 - strength * (1 - blue))[right]
    colours[wrong] = (1 - strength * (1 - orange))[wrong]
    axes.imshow(colours, interpolation="nearest")
    font = max(4.2, min(9.0, 420 / n))
    axes.set_xticks(range(n), names, rotation=90, fontsize=font)
    axes.set_yticks(range(n), names, fontsize=font)
    axes.tick_params(length=0, pad=1)
    axes.set_title(title, loc="left", fontsize=TITLE, color=INK)
    axes.set_xlabel("guessed", fontsize=TEXT)
    axes.set_ylabel("true", fontsize=TEXT)
    if n <= 12:
        for (row, column), count in np.ndenumerate(matrix):
            if count:
                axes.text(column, row, str(count), ha="center", va="center", fontsize=8)
    axes.spines[:].set_color(FAINT)
    axes.set_xticks(np.arange(-0.5, n), minor=True)
    axes.set_yticks(np.arange(-0.5, n), minor=True)
    axes.grid(which="minor", color=FAINT, linewidth=0.3)
    axes.tick_params(which="minor", length=0)
    return figure


def class_scores(rows: Sequence[Any], most: int = 104) -> Figure:
    """F1 of each class, worst first; `rows` are `petals.evaluation.metrics.ClassScore`."""
    rows = sorted((row for row in rows if row.support), key=lambda row: row.f1)[:most]
    figure, axes = new_figure("A bar for each class, the worst first.", height=3.0)
    weak = [row.f1 < WEAK for row in rows]
    bars = axes.bar(range(len(rows)), [row.f1 for row in rows], width=0.85, color=ACCENT)
    for bar, below in zip(bars, weak, strict=True):
        if below:
            bar.set(color=SECOND, hatch="///", edgecolor="white", linewidth=0)
    axes.axhline(WEAK, color=INK, linewidth=0.8, linestyle=":")
    shown = range(0, len(rows), max(1, math.ceil(len(rows) / 35)))
    axes.set_xticks(list(shown), [rows[i].name for i in shown], rotation=60, ha="right")
    title = f"{sum(weak)} of {len(rows)} classes have an F1 below {WEAK:g} (orange)"
    worst = f"; the worst is {rows[0].name} with {rows[0].f1:.2f}" if rows else ""
    plain_axis(axes, title + worst, y="F1")
    axes.tick_params(axis="x", labelsize=SMALL)
    return figure


def predictions(
    images: np.ndarray, labels: np.ndarray, probabilities: np.ndarray, names: Sequence[str]
) -> Figure:
    """Images with what they were guessed to be, and with the truth where that is another."""
    chosen = probabilities.argmax(axis=1)
    captions, colours = [], []
    for label, guess, row in zip(labels, chosen, probabilities, strict=True):
        right = label == guess
        sure = f"{100 * row[guess]:.0f} %"
        captions.append(
            f"right: {names[guess]} {sure}"
            if right
            else f"true {names[label]}\nguessed {names[guess]} {sure}"
        )
        colours.append(GOOD if right else BAD)
    caption = "Photos with what the model answered, how sure it was, and the truth where it erred."
    return gallery(images, captions, colours=colours, overall=caption)


def reliability(reliabilities: Mapping[str, Reliability]) -> Figure:
    """Accuracy over confidence, one line a name; beside it how many answers were how sure."""
    caption = "Left the share of right answers by how sure they were; right how many were how sure."
    figure, (left, right) = new_figure(caption, ncols=2)
    left.plot([0, 1], [0, 1], ":", color=INK, linewidth=0.8)
    for number, (name, curve) in enumerate(reliabilities.items()):
        some = curve.counts > 0
        label = f"{name}, error {curve.error:.3f}"
        left.plot(curve.confidence[some], curve.accuracy[some], label=label, **look(number))
        edges = np.linspace(0, 1, len(curve.counts) + 1)
        style = {name: look(number)[name] for name in ("color", "linestyle", "linewidth")}
        right.stairs(curve.counts, edges, **style)
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
