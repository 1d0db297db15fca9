"""The look of every figure, and the figures of training.

Every function returns a matplotlib Figure; `save` writes it to a folder. Colours are told apart by
colour-blind people too; series differ in dash and marker besides.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from petals import storage

INK, FAINT = "#1b2029", "#d8dde6"
ACCENT, SECOND, GOOD, BAD = "#0072b2", "#c94f00", "#00795a", "#a8321a"
SERIES = (ACCENT, SECOND, GOOD, "#a6357a", "#7a6200", "#4b3fa0", "#4f5661", "#00707f")
DASHES = ("-", (0, (5, 2.5)), (0, (1.5, 1.5)), (0, (6, 2, 1.5, 2)))
MARKERS = "os^Dvx"
WIDTH = 9.0  # inches; a page shows 100 pixels for each
SMALL, TEXT, TITLE = 8.5, 9.5, 11  # points
PHOTOS = "photos"  # the id of a figure that is saved as JPEG
LONGEST = 400  # characters of what a figure says, for those who cannot see it
DOTS = 160  # an inch, sharp on a dense screen
COLUMNS = 6  # photos side by side in a gallery
ACROSS = 20  # letters that fit above a photo
TITLE_LETTERS = 13.5  # of a title, for each inch of axes that are not laid out yet


def new_figure(caption: str, height: float = 3.2, **grid: Any) -> tuple[Figure, Any]:
    """A figure of `WIDTH` × `height` inches and its axes, laid out by `grid`.

    `caption`: a sentence on what is seen; it is the figure's label, and stands below it in a
    notebook.
    """
    figure = Figure(figsize=(WIDTH, height), layout="constrained", label=caption)
    return figure, figure.subplots(**grid)


def in_words(figure: Figure) -> str:
    """A figure's alternative text: its caption, then its titles."""
    titles = [figure.get_suptitle()]
    titles += [axes.get_title(loc) for axes in figure.axes for loc in ("left", "center")]
    result = "; ".join(" ".join(title.split()) for title in titles if title)
    text = f"{figure.get_label()} {result}".strip()
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1].rstrip()}…"


def look(number: int) -> dict[str, Any]:
    """Colour, dash and marker of the nth series of a chart."""
    turn = number + number // len(SERIES)
    return {
        "color": SERIES[number % len(SERIES)],
        "linestyle": DASHES[turn % len(DASHES)],
        "marker": MARKERS[turn % len(MARKERS)],
        "markersize": 3.5,
        "linewidth": 1.7,
    }


def plain_axis(axes: Axes, title: str = "", x: str = "", y: str = "") -> None:
    """Title, labels, light horizontal lines and no frame; epochs are whole numbers.

    A title too long for its axes goes on in a second line: a cut title says nothing.
    """
    width = axes.get_window_extent().width / axes.figure.dpi
    lines = textwrap.fill(title, int(TITLE_LETTERS * width))
    axes.set_title(lines, loc="left", fontsize=TITLE, color=INK)
    axes.set_xlabel(x, fontsize=TEXT)
    axes.set_ylabel(y, fontsize=TEXT)
    axes.tick_params(labelsize=SMALL, colors=INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color=FAINT, linewidth=0.8)
    axes.set_axisbelow(True)
    if x == "epoch":
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))


def legend_below(figure: Figure, columns: int = 5) -> None:
    """One legend for all panels, below the whole figure, where it hides no line."""
    figure.legend(loc="outside lower left", frameon=False, fontsize=SMALL, ncols=columns)


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
    colours: Sequence[str] = (),
    overall: str = "Photos, each below the name of its class.",
) -> Figure:
    """The images, uint8 (n, size, size, 3), in a grid, each under its caption.

    `overall`: the caption of the whole.
    """
    rows = max(1, math.ceil(len(images) / COLUMNS))
    side = WIDTH / COLUMNS
    captions = ["\n".join(map(_wrapped, caption.splitlines())) for caption in captions]
    lines = max((caption.count("\n") + 1 for caption in captions), default=1)
    height = rows * (side + 0.16 * lines + 0.06)
    figure, grid = new_figure(overall, height=height, nrows=rows, ncols=COLUMNS, squeeze=False)
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
    # A percent sign stays with its number.
    return textwrap.fill(line.replace(" %", "\u00a0%"), ACROSS, break_long_words=False)


def class_balance(labels: Mapping[str, np.ndarray], names: Sequence[str]) -> Figure:
    """Images per class, one panel per split given its labels; sorted by the first one's counts."""
    figure, panels = new_figure(
        "A bar for each class, the commonest first; each split has its own scale.",
        height=1.4 + 1.4 * len(labels),
        nrows=len(labels),
        sharex=True,
        squeeze=False,
    )
    counts = [np.bincount(values, minlength=len(names)) for values in labels.values()]
    order = np.argsort(-counts[0], kind="stable")
    for axes, split, count, colour in zip(panels.flat, labels, counts, SERIES, strict=False):
        axes.bar(range(len(names)), count[order], width=0.85, color=colour)
        numbers = f"{count.min():,} to {count.max():,}"
        plain_axis(axes, f"{split}: {len(names)} classes of {numbers} images", y="images")
    name_bars(panels[-1, 0], [names[i] for i in order])
    return figure


def name_bars(axes: Axes, names: Sequence[str]) -> None:
    """Names below what stands at 0, 1, …: all of them, or as many as can be read."""
    shown = range(0, len(names), max(1, math.ceil(len(names) / 35)))
    angle, side = (60, "right") if sum(map(len, names)) > 45 else (0, "center")
    texts = [names[i] for i in shown]
    axes.set_xticks(shown, texts, fontsize=SMALL, rotation=angle, ha=side)


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
    title = (
        f"The learning rate peaks at {rates.max():.2g} in epoch {at}, and ends at {rates[-1]:.2g}"
    )
    plain_axis(axes, title, "epoch", "learning rate")
    axes.set_ylim(bottom=0)
    return figure


def curves(history: Sequence[Mapping[str, Any]]) -> Figure:
    """Loss and scores of all epochs in a row, both phases, with a line where fine-tuning begins."""
    caption = "Left the loss, where lower is better; right accuracy and macro F1; by epoch."
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
    phases = [row["phase"] for row in history]
    begins = [i for i in range(1, len(phases)) if phases[i] != phases[i - 1]]
    for axes in (left, right):
        axes.margins(y=0.13)  # a row above the lines for the names of the phases
        for begin in begins:
            axes.axvline(begin + 0.5, color=INK, linewidth=0.8, linestyle=":")
            axes.annotate(
                f" {phases[begin]} ",
                (begin + 0.5, 1),
                fontsize=SMALL,
                va="top",
                ha="right" if begin > len(phases) / 2 else "left",
                xycoords=("data", "axes fraction"),
            )
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
