"""Figures of a run. Every function returns a matplotlib Figure; `save` writes it to a folder."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from petals import storage
from petals.plots.style import (
    ACCENT,
    BAD,
    FAINT,
    GOOD,
    INK,
    PHOTOS,
    SERIES,
    SMALL,
    TEXT,
    TITLE,
    WIDTH,
    look,
    new_figure,
    plain_axis,
)

DOTS = 160  # an inch, sharp on a dense screen
ACROSS = 20  # letters that fit above a photo
WEAK = 0.7  # F1 below which a class's bar is marked


def save(figure: Figure, folder: str | Path, name: str) -> Path:
    """Write the figure as `folder/name.png`, or `.jpg` where it is of photos, in one piece."""
    photos = figure.get_gid() == PHOTOS
    path = Path(folder) / f"{name}{'.jpg' if photos else '.png'}"
    with storage.replacing(path) as part:
        figure.savefig(part, dpi=DOTS, facecolor="white")
    return path


def gallery(
    images: np.ndarray,
    captions: Sequence[str],
    columns: int = 6,
    colours: Sequence[str] = (),
    told: str = "Photos, each below the name of its class.",
) -> Figure:
    """The images, uint8 (n, size, size, 3), in a grid, each under its caption.

    `told`: the caption of the whole.
    """
    rows = max(1, math.ceil(len(images) / columns))
    side = WIDTH / columns
    captions = ["\n".join(map(_wrapped, caption.splitlines())) for caption in captions]
    lines = max((caption.count("\n") + 1 for caption in captions), default=1)
    height = rows * (side + 0.16 * lines + 0.06)
    figure, grid = new_figure(told, height=height, nrows=rows, ncols=columns, squeeze=False)
    figure.set_gid(PHOTOS)
    for axes in grid.flat:
        axes.axis("off")
    for i, (axes, image, caption) in enumerate(zip(grid.flat, images, captions, strict=False)):
        axes.imshow(image)
        colour = colours[i] if i < len(colours) else INK
        longest = max(map(len, caption.splitlines()), default=0)
        axes.set_title(
            caption, fontsize=SMALL * min(1, ACROSS / max(longest, 1)), color=colour, pad=3
        )
    return figure


def _wrapped(line: str) -> str:
    return textwrap.fill(line, ACROSS, break_long_words=False)


def class_balance(labels: Mapping[str, np.ndarray], names: Sequence[str]) -> Figure:
    """Images a class in each split, given its labels; sorted by the first split's counts."""
    figure, axes = new_figure("A bar for each class, the commonest first.", height=2.8)
    counts = {split: np.bincount(values, minlength=len(names)) for split, values in labels.items()}
    first = next(iter(counts.values()))
    order = np.argsort(-first, kind="stable")
    for (split, values), colour in zip(counts.items(), SERIES, strict=False):
        axes.bar(range(len(names)), values[order], width=0.9, color=colour, label=split, alpha=0.9)
    shown = range(0, len(names), max(1, math.ceil(len(names) / 35)))
    axes.set_xticks(list(shown), [names[order[i]] for i in shown], rotation=60, ha="right")
    split = next(iter(labels)).replace("train", "training")
    numbers = f"{first.min():,} to {first.max():,}"
    plain_axis(axes, f"{len(names)} classes of {numbers} {split} images", y="images")
    axes.tick_params(axis="x", labelsize=SMALL)
    axes.legend(frameon=False, fontsize=SMALL, loc="upper right")
    return figure


def augmentations(before: np.ndarray, after: Sequence[np.ndarray]) -> Figure:
    """A row of originals above rows of their augmented versions; each uint8 (n, s, s, 3)."""
    columns = len(before)
    rows = [before, *after]
    side = WIDTH / columns
    figure, grid = new_figure(
        "Photos as they are, and below them as training sees them, changed anew in each epoch.",
        height=len(rows) * side,
        nrows=len(rows),
        ncols=columns,
        squeeze=False,
    )
    figure.set_gid(PHOTOS)
    for line, images in zip(grid, rows, strict=True):
        for axes, image in zip(line, images, strict=True):
            axes.imshow(image)
            axes.set_xticks([])
            axes.set_yticks([])
            axes.spines[:].set_visible(False)
    grid[0][0].set_ylabel("original", fontsize=TEXT)
    grid[1][0].set_ylabel("augmented", fontsize=TEXT)
    return figure


def schedule(rates: np.ndarray, steps_per_epoch: int) -> Figure:
    """The learning rate over epochs."""
    figure, axes = new_figure("The learning rate at each step, by epoch.", height=2.4)
    axes.plot((np.arange(len(rates)) + 1) / steps_per_epoch, rates, color=ACCENT, linewidth=2)
    at = math.ceil((int(rates.argmax()) + 1) / steps_per_epoch)
    told = (
        f"The learning rate peaks at {rates.max():.2g} in epoch {at}, and ends at {rates[-1]:.2g}"
    )
    plain_axis(axes, told, "epoch", "learning rate")
    axes.set_ylim(bottom=0)
    return figure


def curves(history: Sequence[Mapping[str, Any]]) -> Figure:
    """Loss and scores of all epochs in a row, both phases, with a line where fine-tuning begins."""
    caption = "Left the loss, where lower is better; right accuracy and macro F1; by epoch."
    figure, (left, right) = new_figure(caption, ncols=2, height=3.4)
    x = np.arange(1, len(history) + 1)
    told = {
        "loss": left,
        "val_loss": left,
        "accuracy": right,
        "val_accuracy": right,
        "val_macro_f1": right,
    }
    labels = (
        "training",
        "validation",
        "training accuracy",
        "validation accuracy",
        "validation macro F1",
    )
    looks = (1, 0, 1, 2, 0)
    for (key, axes), label, number in zip(told.items(), labels, looks, strict=True):
        axes.plot(x, [row[key] for row in history], label=label, **look(number))
    phases = [row["phase"] for row in history]
    begins = [i for i in range(1, len(phases)) if phases[i] != phases[i - 1]]
    for axes, place in ((left, "upper right"), (right, "lower right")):
        for begin in begins:
            axes.axvline(begin + 0.5, color=INK, linewidth=0.8, linestyle=":")
            axes.annotate(
                f" {phases[begin]}",
                (begin + 0.5, 1),
                fontsize=SMALL,
                va="top",
                xycoords=("data", "axes fraction"),
            )
        axes.legend(frameon=False, fontsize=SMALL, loc=place)
    plain_axis(left, f"Loss: lowest {_best(history, 'val_loss', min)}", "epoch", "nats")
    plain_axis(right, f"Macro F1: highest {_best(history, 'val_macro_f1', max)}", "epoch")
    return figure


def _best(history: Sequence[Mapping[str, Any]], key: str, choose: Callable[..., Any]) -> str:
    """The best value of a column and its epoch, in words."""
    known = [(row[key], n) for n, row in enumerate(history, 1) if math.isfinite(row[key])]
    if not known:
        return "not known"
    value, epoch = choose(known, key=lambda pair: pair[0])
    return f"{value:.3f} in epoch {epoch}"


def confusion(matrix: np.ndarray, names: Sequence[str]) -> Figure:
    """A confusion matrix, int (classes, classes), that is readable at 104 classes.

    Each row shows shares of its class. Right predictions are pale and mistakes dark, so that the
    confused pairs stand out and not the diagonal.
    """
    n = len(names)
    side = min(14.0, max(4.5, 1.5 + 0.115 * n))
    caption = "A row for each true class and a column for each answer: right ones blue, others red."
    figure, axes = new_figure(caption, side, side)
    found, total = int(np.trace(matrix)), max(1, int(matrix.sum()))
    told = f"{found:,} of {total:,} are right ({100 * found / total:.0f} %)"
    off = matrix - np.diag(np.diag(matrix))
    if off.any():
        truth, guess = np.unravel_index(off.argmax(), off.shape)
        often = f"{off.max()} times" if off.max() > 1 else "once"
        told += f"; most often {names[truth]} is taken for {names[guess]}: {often}"
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
    axes.set_title(told, loc="left", fontsize=TITLE, color=INK)
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
            bar.set(color=SERIES[1], hatch="///", edgecolor="white", linewidth=0)
    axes.axhline(WEAK, color=INK, linewidth=0.8, linestyle=":")
    shown = range(0, len(rows), max(1, math.ceil(len(rows) / 35)))
    axes.set_xticks(list(shown), [rows[i].name for i in shown], rotation=60, ha="right")
    told = f"{sum(weak)} of {len(rows)} classes have an F1 below {WEAK:g} (orange)"
    worst = f"; the worst is {rows[0].name} with {rows[0].f1:.2f}" if rows else ""
    plain_axis(axes, told + worst, y="F1")
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
    told = "Photos with what the model answered, how sure it was, and the truth where it erred."
    return gallery(images, captions, colours=colours, told=told)
