"""Figures of predictions: which are right, how confident they are, and what they show."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
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
    legend_below,
    look,
    name_bars,
    new_figure,
    plain_axis,
)

MOST_CLASSES = 20  # of a matrix that can be read in a notebook
MOST_MISTAKES = 20


def confusion(matrix: np.ndarray, names: Sequence[str]) -> Figure:
    """A confusion matrix, int (classes, classes); of many classes its most common mistakes.

    In the matrix each row shows shares of its class. Right predictions are pale and mistakes dark,
    so that the confused pairs stand out and not the diagonal. The whole matrix of 104 classes is
    for the report, which can zoom: its 10,816 cells cannot be read in a picture.
    """
    correct, total = int(np.trace(matrix)), max(1, int(matrix.sum()))
    title = f"{correct:,} of {total:,} are correct ({100 * correct / total:.0f} %)"
    off = matrix - np.diag(np.diag(matrix))
    if off.any():
        truth, guess = np.unravel_index(off.argmax(), off.shape)
        often = f"{off.max()} times" if off.max() > 1 else "once"
        title += f"; most common mistake: {names[truth]} → {names[guess]}, {often}"
    draw = _matrix if len(names) <= MOST_CLASSES else _commonest_mistakes
    figure = draw(matrix, off, names)
    figure.suptitle(title, x=0.01, ha="left", fontsize=TITLE, color=INK)
    return figure


def _matrix(matrix: np.ndarray, mistakes: np.ndarray, names: Sequence[str]) -> Figure:
    caption = "A row for each true class and a column for each answer: right ones blue, others red."
    figure, axes = new_figure(caption, height=1.8 + 0.38 * len(names))
    shares = np.sqrt(matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1))[..., None]
    blue, orange = np.array([0.62, 0.80, 0.92]), np.array([0.70, 0.22, 0.0])
    colours = 1 - shares * (1 - np.where(mistakes[..., None] > 0, orange, blue))
    axes.imshow(colours, interpolation="nearest", aspect="auto")
    name_bars(axes, names)
    axes.set_yticks(range(len(names)), names, fontsize=SMALL)
    axes.tick_params(length=0)
    axes.set_xlabel("guessed", fontsize=TEXT)
    axes.set_ylabel("true", fontsize=TEXT)
    for (row, column), count in np.ndenumerate(matrix):
        if count:
            axes.text(column, row, str(count), ha="center", va="center", fontsize=SMALL)
    axes.spines[:].set_color(FAINT)
    return figure


def _commonest_mistakes(matrix: np.ndarray, mistakes: np.ndarray, names: Sequence[str]) -> Figure:
    order = np.argsort(-mistakes, axis=None, kind="stable")[:MOST_MISTAKES]
    pairs = [divmod(int(cell), len(names)) for cell in order if mistakes.flat[cell]]
    caption = "A bar for each of the most common mistakes: the true class → the answer."
    figure, axes = new_figure(caption, height=1.2 + 0.24 * len(pairs))
    lengths = [mistakes[pair] for pair in pairs]
    bars = axes.barh(range(len(pairs)), lengths, height=0.7, color=SECOND)
    texts = [f"{mistakes[i, j]} of {matrix[i].sum()}" for i, j in pairs]
    axes.bar_label(bars, texts, padding=4, fontsize=SMALL)
    axes.set_yticks(range(len(pairs)), [f"{names[i]} → {names[j]}" for i, j in pairs])
    axes.invert_yaxis()
    plain_axis(axes, x="photos of the class that were taken for the other")
    axes.margins(x=0.1)
    axes.set_xticks([])  # the bars have their numbers
    axes.grid(visible=False)
    return figure


def class_scores(rows: Sequence[Any]) -> Figure:
    """F1 of each class, worst first; `rows` are `petals.evaluation.metrics.ClassScore`."""
    rows = sorted((row for row in rows if row.support), key=lambda row: row.f1)
    figure, axes = new_figure("A bar for each class, the worst first; the line is their mean.")
    mean = fmean(row.f1 for row in rows) if rows else 0.0
    weak = [row.f1 < mean for row in rows]
    colours = [SECOND if below else ACCENT for below in weak]
    axes.bar(range(len(rows)), [row.f1 for row in rows], width=0.85, color=colours)
    axes.axhline(mean, color=INK, linewidth=0.8, linestyle=":")
    axes.set_ylim(0, 1)
    name_bars(axes, [row.name for row in rows])
    title = f"{sum(weak)} of {len(rows)} classes are below the mean F1 of {mean:.3f} (orange)"
    worst = f"; the worst is {rows[0].name} with {rows[0].f1:.3f}" if rows else ""
    plain_axis(axes, title + worst, y="F1")
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
    caption = "Photos with the prediction, its probability, and the true class of each mistake."
    return gallery(images, captions, colours=colours, overall=caption)


def reliability(reliabilities: Mapping[str, Reliability]) -> Figure:
    """Accuracy by confidence, one line per name, and beside it a histogram of the confidences."""
    caption = "Left: accuracy by confidence. Right: how many predictions have that confidence."
    figure, (left, right) = new_figure(caption, ncols=2)
    left.plot([0, 1], [0, 1], ":", color=INK, linewidth=0.8)
    for number, (name, curve) in enumerate(reliabilities.items()):
        some = curve.counts > 0
        label = f"{name}, error {curve.error:.3f}"
        left.plot(curve.confidence[some], curve.accuracy[some], label=label, **look(number))
        edges = np.linspace(0, 1, len(curve.counts) + 1)
        style = {name: look(number)[name] for name in ("color", "linestyle", "linewidth")}
        right.stairs(curve.counts, edges, **style)
    legend_below(figure, 2)
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
