"""Figures of a run. Every function returns a matplotlib Figure; `save` writes it to a folder."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from petals import storage
from petals.evaluation.calibration import Reliability
from petals.plots.style import ACCENT, BAD, FAINT, GOOD, INK, SECOND, WIDTH, new_figure, plain_axis


def save(figure: Figure, folder: str | Path, name: str) -> Path:
    """Write the figure as `folder/name.png`, in one piece."""
    path = Path(folder) / f"{name}.png"
    with storage.replacing(path) as part:
        figure.savefig(part, dpi=110, facecolor="white")
    return path


def gallery(
    images: np.ndarray, captions: Sequence[str], columns: int = 8, colours: Sequence[str] = ()
) -> Figure:
    """The images, uint8 (n, size, size, 3), in a grid, each under its caption."""
    rows = max(1, math.ceil(len(images) / columns))
    side = WIDTH / columns
    figure, grid = new_figure(height=rows * (side + 0.22), nrows=rows, ncols=columns, squeeze=False)
    for axes in grid.flat:
        axes.axis("off")
    for i, (axes, image, caption) in enumerate(zip(grid.flat, images, captions, strict=False)):
        axes.imshow(image)
        colour = colours[i] if i < len(colours) else INK
        longest = max(map(len, caption.splitlines()), default=0)
        axes.set_title(caption, fontsize=6.5 * min(1, 24 / max(longest, 1)), color=colour, pad=2)
    return figure


def class_balance(labels: Mapping[str, np.ndarray], names: Sequence[str]) -> Figure:
    """Images a class in each split, given its labels; sorted by the first split's counts."""
    figure, axes = new_figure(height=2.8)
    counts = {split: np.bincount(values, minlength=len(names)) for split, values in labels.items()}
    first = next(iter(counts.values()))
    order = np.argsort(-first, kind="stable")
    for (split, values), colour in zip(counts.items(), (ACCENT, SECOND, GOOD), strict=False):
        axes.bar(range(len(names)), values[order], width=0.9, color=colour, label=split, alpha=0.85)
    shown = range(0, len(names), max(1, len(names) // 26))
    axes.set_xticks(list(shown), [names[order[i]] for i in shown], rotation=60, ha="right")
    plain_axis(axes, f"Images in each of {len(names)} classes", y="images")
    axes.tick_params(axis="x", labelsize=6.5)
    axes.legend(frameon=False, fontsize=8, loc="upper right")
    return figure


def augmentations(before: np.ndarray, after: Sequence[np.ndarray]) -> Figure:
    """A row of originals above rows of their augmented versions; each uint8 (n, s, s, 3)."""
    columns = len(before)
    rows = [before, *after]
    side = WIDTH / columns
    figure, grid = new_figure(
        height=len(rows) * side, nrows=len(rows), ncols=columns, squeeze=False
    )
    for line, images in zip(grid, rows, strict=True):
        for axes, image in zip(line, images, strict=True):
            axes.imshow(image)
            axes.set_xticks([])
            axes.set_yticks([])
            axes.spines[:].set_visible(False)
    grid[0][0].set_ylabel("original", fontsize=8)
    grid[1][0].set_ylabel("augmented", fontsize=8)
    return figure


def schedule(rates: np.ndarray, steps_per_epoch: int) -> Figure:
    """The learning rate over epochs."""
    figure, axes = new_figure(height=2.2)
    axes.plot((np.arange(len(rates)) + 1) / steps_per_epoch, rates, color=ACCENT, linewidth=2)
    plain_axis(axes, f"Learning rate, peak {rates.max():.2g}", "epoch", "rate")
    axes.set_ylim(bottom=0)
    return figure


def curves(history: Sequence[Mapping[str, Any]]) -> Figure:
    """Loss and scores of all epochs in a row, both phases, with a line where fine-tuning begins."""
    figure, (left, right) = new_figure(ncols=2)
    x = np.arange(1, len(history) + 1)

    def line(axes: Axes, key: str, label: str, colour: str, style: str = "-") -> None:
        axes.plot(x, [row[key] for row in history], style, color=colour, label=label, linewidth=1.8)

    line(left, "loss", "training", SECOND)
    line(left, "val_loss", "validation", ACCENT)
    line(right, "accuracy", "training accuracy", SECOND, "--")
    line(right, "val_accuracy", "validation accuracy", SECOND)
    line(right, "val_macro_f1", "validation macro F1", ACCENT)
    phases = [row["phase"] for row in history]
    begins = [i for i in range(1, len(phases)) if phases[i] != phases[i - 1]]
    for axes, place in ((left, "upper right"), (right, "lower right")):
        for begin in begins:
            axes.axvline(begin + 0.5, color=INK, linewidth=0.8, linestyle=":")
            axes.annotate(f" {phases[begin]}", (begin + 0.5, 1), fontsize=7, va="top",
                          xycoords=("data", "axes fraction"))  # fmt: skip
        axes.legend(frameon=False, fontsize=8, loc=place)
        axes.xaxis.get_major_locator().set_params(integer=True)
    plain_axis(left, "Loss", "epoch")
    plain_axis(right, "Scores", "epoch")
    return figure


def confusion(matrix: np.ndarray, names: Sequence[str]) -> Figure:
    """A confusion matrix, int (classes, classes), that is readable at 104 classes.

    Each row shows shares of its class. Right predictions are pale and mistakes dark, so that the
    confused pairs stand out and not the diagonal.
    """
    n = len(names)
    side = min(14.0, max(4.5, 1.5 + 0.115 * n))
    figure, axes = new_figure(side, side)
    shares = matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1)
    colours = np.ones((n, n, 3))
    right, wrong = np.eye(n, dtype=bool), ~np.eye(n, dtype=bool)
    green, red = np.array([0.60, 0.80, 0.66]), np.array([0.62, 0.10, 0.08])
    strength = np.sqrt(shares)[..., None]
    colours[right] = (1 - strength * (1 - green))[right]
    colours[wrong] = (1 - strength * (1 - red))[wrong]
    axes.imshow(colours, interpolation="nearest")
    font = max(4.2, min(9.0, 420 / n))
    axes.set_xticks(range(n), names, rotation=90, fontsize=font)
    axes.set_yticks(range(n), names, fontsize=font)
    axes.tick_params(length=0, pad=1)
    axes.set_xlabel("predicted", fontsize=9)
    axes.set_ylabel("true", fontsize=9)
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
    figure, axes = new_figure(height=2.8)
    colours = [BAD if row.f1 < 0.7 else ACCENT for row in rows]
    axes.bar(range(len(rows)), [row.f1 for row in rows], color=colours, width=0.85)
    shown = range(0, len(rows), max(1, len(rows) // 35))
    axes.set_xticks(list(shown), [rows[i].name for i in shown], rotation=60, ha="right")
    plain_axis(axes, "F1 of each class, worst first", y="F1")
    axes.tick_params(axis="x", labelsize=6.5)
    return figure


def predictions(
    images: np.ndarray, labels: np.ndarray, probabilities: np.ndarray, names: Sequence[str]
) -> Figure:
    """Images with their predicted class, and with the true class where the two differ."""
    chosen = probabilities.argmax(axis=1)
    captions, colours = [], []
    for label, guess, row in zip(labels, chosen, probabilities, strict=True):
        right = label == guess
        what = names[guess] if right else f"{names[guess]}\nis {names[label]}"
        captions.append(f"{what} {row[guess]:.0%}")
        colours.append(GOOD if right else BAD)
    return gallery(images, captions, colours=colours)


def reliability(found: Mapping[str, Reliability]) -> Figure:
    """Accuracy over confidence, one line a name; beside it how many answers were how sure."""
    figure, (left, right) = new_figure(ncols=2)
    left.plot([0, 1], [0, 1], ":", color=INK, linewidth=0.8)
    for (name, one), colour in zip(found.items(), (SECOND, ACCENT), strict=False):
        some = one.counts > 0
        label = f"{name}, error {one.error:.3f}"
        left.plot(one.confidence[some], one.accuracy[some], "o-", color=colour, label=label,
                  linewidth=1.8, markersize=4)  # fmt: skip
        edges = np.linspace(0, 1, len(one.counts) + 1)
        right.stairs(one.counts, edges, color=colour, linewidth=1.8)
    left.legend(frameon=False, fontsize=8, loc="lower right")
    plain_axis(left, "Reliability", "confidence", "accuracy")
    plain_axis(right, "How sure the answers are", "confidence", "photos")
    return figure


def likeliest(
    images: np.ndarray, names: Sequence[str], probabilities: np.ndarray, classes: Sequence[str],
    top: int = 5,
) -> Figure:  # fmt: skip
    """Photos, uint8 (n, size, size, 3), each beside bars of its likeliest classes."""
    columns = 3
    rows = max(1, math.ceil(len(images) / columns))
    figure, grid = new_figure(height=1.5 * rows, nrows=rows, ncols=2 * columns, squeeze=False,
                              width_ratios=[1, 1.4] * columns)  # fmt: skip
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
            bars.text(0.02, place, f"{classes[label]} {row[label]:.0%}", fontsize=6.5, va="center")
    return figure
