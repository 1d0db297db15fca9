"""Figures of a dataset; like `petals.plots.run`, each function returns a matplotlib Figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from petals.data.duplicates import Fingerprints, Pair
from petals.data.shards import Split
from petals.plots.run import (
    ACCENT,
    BAD,
    FAINT,
    GOOD,
    INK,
    PHOTOS,
    SECOND,
    SMALL,
    WIDTH,
    legend_below,
    new_figure,
    plain_axis,
)

ACROSS = 8  # pairs of twins in a figure


def train_against_val(train: np.ndarray, val: np.ndarray, names: Sequence[str]) -> Figure:
    """Each class's images in val over those in train, with the line of equal shares.

    `train` and `val`: int labels. The band is two standard errors of a random draw.
    """
    figure, axes = new_figure("A dot for each class: its photos in the two splits.", height=3.6)
    x = np.bincount(train, minlength=len(names))
    y = np.bincount(val, minlength=len(names))
    line = np.geomspace(max(1, x[x > 0].min()) * 0.8, x.max() * 1.25, 100)
    share = len(val) / len(train)
    error = 2 * np.sqrt(line * share)
    axes.fill_between(
        line,
        np.maximum(line * share - error, 0.3),
        line * share + error,
        color=FAINT,
        alpha=0.6,
        label="what chance allows",
        linewidth=0,
    )
    axes.plot(line, line * share, color=INK, linewidth=0.9, label="equal shares")
    axes.scatter(x, y, s=16, color=ACCENT, zorder=3)
    away = np.abs(y - x * share) / np.sqrt(np.maximum(x * share, 1))
    for i in np.argsort(-away)[:6]:
        if away[i] > 2 and x[i]:
            # Above the line to the left and below it to the right, away from the other dots.
            ha, va = ("right", "bottom") if y[i] > x[i] * share else ("left", "top")
            axes.text(x[i], y[i], f" {names[i]} ", fontsize=SMALL, ha=ha, va=va)
    if x.max() > 5 * x[x > 0].min():
        axes.set_xscale("log")
        axes.set_yscale("symlog", linthresh=1)
        axes.xaxis.set_major_formatter("{x:.0f}")
        axes.yaxis.set_major_formatter("{x:.0f}")
        axes.set_ylim(bottom=0)
    far = int(((away > 2) & (x > 0)).sum())
    title = f"{far} of {len(names)} classes lie further from equal shares than chance allows"
    plain_axis(axes, title, "training images", "validation images")
    legend_below(figure)
    _drop_overlapping(axes)
    return figure


def _drop_overlapping(axes: Axes) -> None:
    """Remove each text that lies over an earlier one."""
    shown: list[Any] = []
    for text in list(axes.texts):
        box = text.get_window_extent()
        if box.count_overlaps(shown):
            text.remove()
        else:
            shown.append(box)


def jpeg_sizes(prints: Fingerprints) -> Figure:
    """A histogram of the JPEGs' sizes in kB, for each split."""
    figure, axes = new_figure("The sizes of the JPEG files, in kB, by split.", height=2.6)
    kilobytes = prints.sizes / 1000
    bins = np.linspace(0, np.quantile(kilobytes, 0.995) * 1.05, 60)
    for split, colour in zip(dict.fromkeys(prints.splits), (ACCENT, SECOND, GOOD), strict=False):
        values = kilobytes[prints.splits == split]
        axes.hist(
            values,
            bins,
            density=True,
            histtype="step",
            color=colour,
            linewidth=1.6,
            label=f"{split}: median {np.median(values):.1f} kB",
        )
    axes.set_yticks([])
    middle = np.median(kilobytes)
    plain_axis(
        axes, f"Half of the JPEGs are below {middle:.1f} kB", "kB an image", "share of images"
    )
    legend_below(figure)
    return figure


def throughput(rates: Mapping[str, float], needed: float) -> Figure:
    """Images a second of each input pipeline, and the rate that an accelerator needs."""
    caption = "Photos a second that each way of reading gives; the dashed line is what is needed."
    figure, axes = new_figure(caption, height=0.9 + 0.34 * len(rates))
    values = list(rates.values())
    colours = [GOOD if value >= needed else BAD for value in values]
    axes.barh(list(rates), values, color=colours, height=0.62)
    for row, value in enumerate(values):
        axes.annotate(
            f"{value:,.0f}",
            (value, row),
            xytext=(4, 0),
            va="center",
            fontsize=SMALL,
            textcoords="offset points",
        )
    axes.axvline(needed, color=INK, linewidth=1.1, linestyle="--")
    fast = sum(value >= needed for value in values)
    title = (
        f"{fast} of {len(values)} pipelines feed the {needed:,.0f} images a second that are needed"
    )
    plain_axis(axes, title, "images a second")
    axes.set_xlim(right=1.15 * max(*values, needed))
    axes.grid(axis="y", visible=False)
    axes.grid(axis="x", color=FAINT, linewidth=0.8)
    axes.invert_yaxis()
    return figure


def pairs(
    prints: Fingerprints,
    twins: Sequence[Pair],
    splits: Mapping[str, Split],
    names: Sequence[str],
) -> Figure:
    """The first twins, one above the other, with split and label; red where the labels differ."""
    shown = list(twins)[:ACROSS]
    side = WIDTH / ACROSS
    figure, grid = new_figure(
        "Twins, one above the other, with their splits and classes; red where the classes differ.",
        height=2 * (side + 0.35),
        nrows=2,
        ncols=ACROSS,
        squeeze=False,
    )
    figure.set_gid(PHOTOS)
    for axes in grid.flat:
        axes.axis("off")
    for column, pair in enumerate(shown):
        labels = prints.labels[[pair.first, pair.second]]
        classes = labels[labels >= 0]
        colour = BAD if len(set(classes.tolist())) > 1 else INK
        for row, i in enumerate((pair.first, pair.second)):
            photo = splits[str(prints.splits[i])].sample([int(prints.positions[i])])
            grid[row][column].imshow(photo.images[0])
            what = names[labels[row]] if labels[row] >= 0 else "no label"
            grid[row][column].set_title(
                f"{prints.splits[i]}\n{what}", fontsize=7.5, color=colour, pad=2
            )
    return figure
