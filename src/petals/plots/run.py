"""The figures of a run: classes, training, scores, calibration.

Every function returns a matplotlib Figure.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from petals.evaluation.calibration import Reliability
from petals.evaluation.metrics import ClassScore, most_confused
from petals.plots.figures import (
    ACCENT,
    INK,
    SECOND,
    SERIES,
    SMALL,
    TITLE,
    as_written,
    legend_below,
    look,
    name_bars,
    new_figure,
    plain_axis,
)
from petals.plots.lettering import shortened

MOST_MISTAKES = 20


def class_balance(labels: Mapping[str, np.ndarray], names: Sequence[str]) -> Figure:
    """Images per class, one panel per split given its labels; sorted by the first one's counts."""
    figure, panels = new_figure(
        "A bar for each class, the most common first; each split has its own scale.",
        height=1.4 + 1.4 * len(labels),
        nrows=len(labels),
        sharex=True,
        squeeze=False,
    )
    counts = [np.bincount(values, minlength=len(names)) for values in labels.values()]
    order = np.argsort(-counts[0], kind="stable")
    for axes, split, count, (colour, *_) in zip(panels.flat, labels, counts, SERIES, strict=False):
        axes.bar(range(len(names)), count[order], width=0.85, color=colour)
        smallest, largest = f"{count.min():,}", f"{count.max():,}"
        images = smallest if smallest == largest else f"{smallest} to {largest}"
        plain_axis(axes, f"{split}: {len(names)} classes of {images} images", y="images")
    name_bars(panels[-1, 0], [names[i] for i in order])
    return figure


def schedule(rates: np.ndarray, steps_per_epoch: int) -> Figure:
    """The learning rate over epochs."""
    figure, axes = new_figure("The learning rate at each step, by epoch.", height=2.4)
    axes.plot((np.arange(len(rates)) + 1) / steps_per_epoch, rates, color=ACCENT, linewidth=2)
    at = math.ceil((int(rates.argmax()) + 1) / steps_per_epoch)
    title = (
        f"The learning rate peaks at {rates.max():.2g} in epoch {at}, and ends at {rates[-1]:.2g}"
    )
    plain_axis(axes, title, "epoch", "learning rate")
    axes.set_ylim(bottom=0)
    return figure


def curves(history: Sequence[Mapping[str, Any]]) -> Figure:
    """Loss and scores of all epochs in a row, both phases, with a line where fine-tuning begins."""
    caption = (
        "Left: the mean cross-entropy by epoch, without label smoothing in either curve; lower is "
        "better. Right: accuracy and macro F1 by epoch. Validation sees photos as the submission "
        "does, training as it changes them."
    )
    phases = [row["phase"] for row in history]
    if len(set(phases)) > 1:
        caption += " A dotted line marks the start of fine-tuning."
    figure, (left, right) = new_figure(caption, ncols=2, height=3.4)
    x = np.arange(1, len(history) + 1)
    for axes, key, label, number in (
        (left, "loss", "training loss", 1),
        (left, "val_loss", "validation loss", 0),
        (right, "accuracy", "training accuracy", 1),
        (right, "val_accuracy", "validation accuracy", 2),
        (right, "val_macro_f1", "validation macro F1", 0),
    ):
        axes.plot(x, [row[key] for row in history], label=label, **look(number))
    for axes in (left, right):
        for epoch in range(1, len(phases)):
            if phases[epoch] != phases[epoch - 1]:
                axes.axvline(epoch + 0.5, color=INK, linewidth=0.8, linestyle=":")
    legend_below(figure)
    plain_axis(left, f"Loss: lowest {_best(history, 'val_loss', min)}", "epoch", "nats")
    plain_axis(right, f"Macro F1: highest {_best(history, 'val_macro_f1', max)}", "epoch")
    return figure


def _best(history: Sequence[Mapping[str, Any]], key: str, choose: Callable[..., Any]) -> str:
    """The best value of a column and its epoch, in words."""
    finite = [(row[key], n) for n, row in enumerate(history, 1) if math.isfinite(row[key])]
    if not finite:
        return "not known"
    value, epoch = choose(finite, key=lambda pair: pair[0])
    return f"{value:.3f} in epoch {epoch}"


def class_scores(rows: Sequence[ClassScore]) -> Figure:
    """F1 of each class, worst first; `rows` as `petals.evaluation.metrics.per_class` gives them."""
    figure, axes = new_figure("A bar for each class, the worst first; the line is their mean.")
    mean = fmean(row.f1 for row in rows) if rows else 0.0
    colours = [SECOND if row.f1 < mean else ACCENT for row in rows]
    axes.bar(range(len(rows)), [row.f1 for row in rows], width=0.85, color=colours)
    axes.axhline(mean, color=INK, linewidth=0.8, linestyle=":")
    axes.set_ylim(0, 1)
    name_bars(axes, [row.name for row in rows])
    weak = colours.count(SECOND)
    worst = ""
    if rows:
        equal = sum(row.f1 == rows[0].f1 for row in rows)
        which = f"worst is {shortened(rows[0].name)}" if equal == 1 else f"{equal} worst are those"
        worst = f"; the {which} with {rows[0].f1:.3f}"
    title = f"{weak} of {len(rows)} classes are below the mean F1 of {mean:.3f} (orange){worst}"
    plain_axis(axes, title, y="F1")
    return figure


def mistakes(labels: np.ndarray, probabilities: np.ndarray, names: Sequence[str]) -> Figure:
    """A bar for each of the most common mistakes; a report has the whole confusion matrix.

    `labels`: int (n,); `probabilities`: float (n, classes).
    """
    pairs = most_confused(labels, probabilities, MOST_MISTAKES)
    caption = "A bar for each of the most common mistakes: the true class → the answer."
    figure, axes = new_figure(caption, height=1.2 + 0.24 * len(pairs))
    bars = axes.barh(range(len(pairs)), [times for *_, times in pairs], color=SECOND)
    totals = np.bincount(labels, minlength=len(names))
    texts = [f"{times} of {totals[truth]}" for truth, _, times in pairs]
    axes.bar_label(bars, texts, padding=4, fontsize=SMALL)
    short = [shortened(name) for name in names]
    titles = [f"{short[truth]} → {short[guess]}" for truth, guess, _ in pairs]
    axes.set_yticks(range(len(pairs)), list(map(as_written, titles)))
    axes.invert_yaxis()
    correct = (probabilities.argmax(axis=1) == labels).sum()
    title = f"{correct:,} of {len(labels):,} are correct ({correct / len(labels):.0%})"
    counts = [times for *_, times in pairs]
    stands_out = counts[:1] > counts[1:2]  # what several pairs share is not the most common
    most = f"; most common mistake: {titles[0]}" if stands_out else ""
    plain_axis(axes, x="photos of the class that were taken for the other")
    # Long names push the axes to the right: the title begins at the figure's edge.
    figure.suptitle(as_written(title + most), x=0.01, ha="left", fontsize=TITLE, color=INK)
    axes.margins(x=0.1)
    axes.set_xticks([])  # the bars have their numbers
    axes.grid(visible=False)
    return figure


def reliability(reliabilities: Mapping[str, Reliability]) -> Figure:
    """Accuracy by confidence, one line for each name."""
    figure, axes = new_figure("Accuracy by confidence; on the dotted line they are equal.")
    axes.plot([0, 1], [0, 1], ":", color=INK, linewidth=0.8)
    for number, (name, curve) in enumerate(reliabilities.items()):
        some = curve.counts > 0
        label = as_written(f"{name}, error {curve.error:.3f}")
        axes.plot(curve.confidence[some], curve.accuracy[some], label=label, **look(number))
    legend_below(figure)
    plain_axis(axes, "Reliability", "confidence", "accuracy")
    return figure
