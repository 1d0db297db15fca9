"""Figures of several runs; like `petals.plots.run`, each function returns a matplotlib Figure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from petals.comparison.agreement import Agreement, Photos, telling
from petals.comparison.effects import NOISE, Effect
from petals.comparison.ensembles import HeldOut
from petals.comparison.finished_run import FinishedRun
from petals.plots.run import (
    ACCENT,
    FAINT,
    INK,
    SECOND,
    SMALL,
    TITLE,
    gallery,
    legend_below,
    look,
    name_bars,
    new_figure,
    plain_axis,
)

MOST_CURVES = 12


def epoch_times(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """First and later epochs in seconds, log scale; `rows` of `petals.comparison.runs.devices`."""
    caption = "The seconds of the first epoch, with its compiling, and of a later one."
    figure, axes = new_figure(caption, height=1.1 + 0.55 * len(rows))
    labels = []
    for row in rows:
        replicas = f" × {row['replicas']}" if row["replicas"] > 1 else ""
        labels.append(f"{row['backbone']}, {row['pixels']} px\n{row['name']}{replicas}")
    # Dots and no bars: a log axis has no zero that a bar could begin at.
    for key, marker, below in (("first epoch, s", "s", -12), ("later epochs, s", "o", 6)):
        seconds = {at: row[key] for at, row in enumerate(rows) if row[key]}
        face = ACCENT if marker == "o" else "white"
        style = {"color": ACCENT, "markerfacecolor": face, "label": key[:-3]}
        axes.plot(list(seconds.values()), list(seconds), marker, **style)
        for at, value in seconds.items():
            axes.annotate(
                f"{value:.3g} s",
                (value, at),
                ha="center",
                fontsize=SMALL,
                xytext=(0, below),
                textcoords="offset points",
            )
    axes.set_yticks(range(len(rows)), labels)
    axes.set_ylim(-0.6, len(rows) - 0.4)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 3)))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.margins(x=0.12)
    axes.invert_yaxis()
    timed = [row for row in rows if row["later epochs, s"]]
    fastest = min(timed, key=lambda row: row["later epochs, s"], default=None)
    result = f": least {fastest['later epochs, s']:.3g} s, {fastest['name']}" if fastest else ""
    plain_axis(axes, f"Seconds an epoch{result}", "seconds (log)")
    if rows:
        legend_below(figure)
    return figure


def curves(runs: Sequence[FinishedRun]) -> Figure:
    """Validation macro F1 and loss by epoch, the best twelve runs over one another."""
    runs = [run for run in runs if run.history][:MOST_CURVES]
    caption = "A line for each run, on the validation photos: left macro F1, right the loss."
    figure, (left, right) = new_figure(caption, ncols=2, height=3.2 + 0.1 * len(runs))
    for number, run in enumerate(runs):
        x = np.arange(1, len(run.history) + 1)
        for axes, key in ((left, "val_macro_f1"), (right, "val_loss")):
            values = [row.get(key, math.nan) for row in run.history]
            axes.plot(x, values, label=run.name if axes is left else None, **look(number))
    best = f": best {runs[0].macro_f1:.3f}" if runs else ""
    plain_axis(left, f"Macro F1 on validation{best}", "epoch")
    plain_axis(right, "Loss on validation", "epoch", "nats")
    if runs:
        legend_below(figure, 2)
    return figure


def effects(shown: Sequence[Effect]) -> Figure:
    """A panel per axis: one dot per run, a dash for the mean of runs with all other settings equal.

    A line joins the means of numbers, and none those of categories. All panels have one scale, and
    a band shows how far repeats of one recipe lie apart.
    """
    rows, columns = math.ceil(len(shown) / 2), min(2, len(shown))
    figure, grid = new_figure(
        "One dot per run; a dash is the mean of the runs with all other settings equal.",
        height=3.0 * rows,
        nrows=rows,
        ncols=columns,
        squeeze=False,
        sharey=True,
    )
    for axes in grid.flat[len(shown) :]:
        axes.axis("off")
    for axes, effect in zip(grid.flat, shown, strict=False):
        _effect(axes, effect)
    return figure


def _effect(axes: Axes, effect: Effect) -> None:
    settings = effect.settings
    for group in effect.groups:
        places = [i for i, setting in enumerate(settings) if setting in group]
        means = [fmean(group[settings[i]]) for i in places]
        axes.axhspan(max(means) - NOISE, max(means) + NOISE, color=FAINT, alpha=0.45, linewidth=0)
        if effect.fair:
            width = 1.3 if effect.numbers else 0
            axes.plot(places, means, "_-", markersize=14, color=ACCENT, linewidth=width, alpha=0.6)
        for i in places:
            values = group[settings[i]]
            face = ACCENT if effect.fair else "white"
            axes.scatter([i] * len(values), values, s=26, zorder=3, edgecolor=ACCENT, color=face)
    name_bars(axes, [setting.replace(", ", "\n") for setting in settings])
    axes.set_xlim(-0.5, len(settings) - 0.5)
    note = " (other settings differ too)"
    apart = f": up to {effect.largest_difference:.3f} apart" if effect.fair else note
    plain_axis(axes, effect.axis + apart, y="macro F1")


def agreement(answers: Agreement, pair: tuple[FinishedRun, FinishedRun]) -> Figure:
    """One bar: shares of the validation set by which of the two was right."""
    caption = "The validation photos, by which of the two runs was right."
    figure, axes = new_figure(caption, 1.6)
    parts = {
        "both right": (answers.both, FAINT),
        f"only {pair[0].name}": (answers.only_first, ACCENT),
        f"only {pair[1].name}": (answers.only_second, SECOND),
        "both wrong": (answers.neither, INK),
    }
    total = 0
    for label, (positions, colour) in parts.items():
        axes.barh(0, len(positions), left=total, color=colour, label=f"{label}: {len(positions)}")
        total += len(positions)
    axes.set_xlim(0, total)
    axes.axis("off")
    axes.legend(frameon=False, fontsize=SMALL, ncols=2, loc="lower left", bbox_to_anchor=(0, 1))
    split = len(answers.only_first) + len(answers.only_second)
    figure.suptitle(
        f"Of {total:,} photos {split:,} are correct in only one of the two",
        x=0.01,
        ha="left",
        fontsize=TITLE,
        color=INK,
    )
    return figure


def surest(
    photos: Photos, pair: tuple[FinishedRun, FinishedRun], positions: np.ndarray, most: int = 8
) -> Figure:
    """The photos on which the two are most confident, with their class and both predictions."""
    positions = telling(pair, positions, most)
    captions = []
    for i in positions:
        answers = [photos.names[run.probabilities[i].argmax()] for run in pair]
        truth = photos.names[pair[0].labels[i]]
        captions.append(
            f"{truth}\n1: {_or_tick(answers[0], truth)}\n2: {_or_tick(answers[1], truth)}"
        )
    caption = "Photos with their class and the predictions of both runs."
    return gallery(photos.of(pair[0], positions), captions, overall=caption)


def _or_tick(answer: str, truth: str) -> str:
    return "✓" if answer == truth else answer


def held_out(scores: HeldOut) -> Figure:
    """Scores on images that fitted nothing: a dot a repeat, a bar for the mean."""
    caption = "A dot for each repeat on photos that fitted nothing; a bar is the mean."
    figure, axes = new_figure(caption, height=2.0)
    names = {
        "best single run": scores.single,
        "equal weights": scores.mean,
        "weighted on validation": scores.weighted,
    }
    for at, values in enumerate(names.values()):
        axes.scatter(values, np.full(len(values), at), s=16, color=SECOND, alpha=0.6)
        axes.vlines(values.mean(), at - 0.3, at + 0.3, color=ACCENT, linewidth=2)
        axes.annotate(
            f"{values.mean():.4f}", (values.mean(), at - 0.34), ha="center", fontsize=SMALL
        )
    axes.set_yticks(range(len(names)), list(names))
    axes.set_ylim(len(names) - 0.5, -0.75)
    gain = scores.mean.mean() - scores.single.mean()
    title = f"On halves that fitted nothing, equal weights give {gain:+.4f} on the best single run"
    plain_axis(axes, title, "macro F1")
    axes.grid(axis="y", visible=False)
    return figure
