"""The look of every figure, and those of a run: photos, classes, training, scores, calibration.

Every function returns a matplotlib Figure; `save` writes it to a folder. Colours are told apart by
colour-blind people too; series differ in dash and marker besides.
"""

import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from petals import storage
from petals.data.duplicates import Fingerprints, Pair
from petals.data.shards import Split
from petals.evaluation.calibration import Reliability
from petals.evaluation.metrics import ClassScore, most_confused
from petals.plots.lettering import make_drawable, shortened

INK, FAINT = "#1b2029", "#d8dde6"
ACCENT, SECOND, GOOD, BAD = "#0072b2", "#c94f00", "#00795a", "#a8321a"
SERIES = ((ACCENT, "-", "o"), (SECOND, "--", "s"), (GOOD, ":", "^"))  # colour, dash, marker
WIDTH = 9.0  # inches; a page shows 100 pixels for each
SMALL, TEXT, TITLE = 8.5, 9.5, 11  # points
PHOTOS = "photos"  # the id of a figure that is saved as JPEG
LONGEST = 400  # characters of what a figure says, for those who cannot see it
DOTS = 160  # an inch, sharp on a dense screen
TITLE_LETTERS = 13.5  # of a title, for each inch of axes that are not laid out yet
MOST_NAMES = 35  # that can be read below an axis
MOST_MISTAKES = 20
COLUMNS = 6  # photos side by side
ACROSS = 20  # letters that fit above a photo
MOST_TWINS = 9


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
    result = "; ".join(" ".join(title.split()) for title in titles if title).replace(r"\$", "$")
    text = f"{figure.get_label()} {result}".strip()
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1].rstrip()}…"


def look(number: int) -> dict[str, Any]:
    """Colour, dash and marker of the nth series of a chart."""
    colour, dash, marker = SERIES[number]
    style = {"color": colour, "linestyle": dash, "marker": marker}
    return {**style, "markersize": 3.5, "linewidth": 1.7}


def plain_axis(axes: Axes, title: str = "", x: str = "", y: str = "") -> None:
    """Title, labels, light horizontal lines and no frame; epochs are whole numbers.

    A title too long for its axes goes on in a second line: a cut title says nothing.
    """
    width = axes.get_window_extent().width / axes.figure.dpi
    lines = textwrap.fill(title, int(TITLE_LETTERS * width))
    axes.set_title(as_written(lines), loc="left", fontsize=TITLE, color=INK)
    axes.set_xlabel(x, fontsize=TEXT)
    axes.set_ylabel(y, fontsize=TEXT)
    axes.tick_params(labelsize=SMALL, colors=INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color=FAINT, linewidth=0.8)
    axes.set_axisbelow(True)
    if x == "epoch":
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))


def legend_below(figure: Figure) -> None:
    """One legend for all panels, below the whole figure, where it hides no line."""
    figure.legend(loc="outside lower left", frameon=False, fontsize=SMALL, ncols=5)


def as_written(text: str) -> str:
    """A text for a figure, in which two dollar signs of a class's name begin no formula."""
    return text.replace("$", r"\$")


def name_bars(axes: Axes, names: Sequence[str]) -> None:
    """Names below what stands at 0, 1, …: all of them, or as many as can be read."""
    shown = range(0, len(names), max(1, math.ceil(len(names) / MOST_NAMES)))
    angle, side = (60, "right") if sum(map(len, names)) > 45 else (0, "center")
    texts = [as_written(shortened(names[i])) for i in shown]
    axes.set_xticks(shown, texts, fontsize=SMALL, rotation=angle, ha=side)


def save(figure: Figure, folder: str | Path, name: str) -> Path:
    """Write the figure as `folder/name.png`, or `.jpg` where it is of photos, in one piece."""
    suffix = ".jpg" if figure.get_gid() == PHOTOS else ".png"
    path = Path(folder) / f"{name}{suffix}"
    make_drawable(figure)
    with storage.replacing(path) as part:
        figure.savefig(part, dpi=DOTS, facecolor="white")
    return path


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
        "does, training as it changes them. A dotted line marks the start of fine-tuning."
    )
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
    worst = f"; the worst is {shortened(rows[0].name)} with {rows[0].f1:.3f}" if rows else ""
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
    most = f"; most common mistake: {titles[0]}" if titles else ""
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


def gallery(
    images: np.ndarray,
    captions: Sequence[str],
    colours: Sequence[str] = (),
    overall: str = "Photos, each below the name of its class.",
    columns: int = COLUMNS,
) -> Figure:
    """The images, uint8 (n, size, size, 3), in a grid, each under its caption.

    `colours`: of the captions; `overall`: the caption of the whole.
    """
    # A percent sign stays with its number.
    lines_of = [caption.replace(" %", "\u00a0%").splitlines() for caption in captions]
    captions = ["\n".join(textwrap.fill(line, ACROSS) for line in lines) for lines in lines_of]
    lines = max((caption.count("\n") + 1 for caption in captions), default=1)
    rows = max(1, math.ceil(len(images) / columns))
    height = rows * (WIDTH / columns + 0.16 * lines + 0.06)
    figure, grid = new_figure(overall, height=height, nrows=rows, ncols=columns, squeeze=False)
    figure.set_gid(PHOTOS)
    for axes in grid.flat:
        axes.axis("off")
    colours = colours or [INK] * len(images)
    for axes, image, caption, colour in zip(grid.flat, images, captions, colours, strict=False):
        axes.imshow(image)
        axes.set_title(as_written(caption), fontsize=SMALL, color=colour, pad=3)
    return figure


def augmentations(before: np.ndarray, after: Sequence[np.ndarray]) -> Figure:
    """A row of originals above rows of their augmented versions; each uint8 (n, size, size, 3)."""
    columns = len(before)
    captions = ["original"] * columns + ["augmented"] * columns * len(after)
    caption = "Photos, and below them what training sees, changed again in each epoch."
    return gallery(np.concatenate([before, *after]), captions, overall=caption, columns=columns)


def predictions(
    images: np.ndarray, labels: np.ndarray, probabilities: np.ndarray, names: Sequence[str]
) -> Figure:
    """Images with what they were guessed to be, and with the truth where that is another."""
    captions, colours = [], []
    for label, row in zip(labels, probabilities, strict=True):
        guess = row.argmax()
        right = guess == label
        answer = f"{names[guess]} {100 * row[guess]:.0f} %"
        words = f"correct: {answer}" if right else f"true {names[label]}\npredicted {answer}"
        captions.append(words)
        colours.append(GOOD if right else BAD)
    caption = "Photos with the prediction, its probability, and the true class of each mistake."
    return gallery(images, captions, colours, caption)


def twins(
    prints: Fingerprints,
    pairs: Sequence[Pair],
    splits: Mapping[str, Split],
    names: Sequence[str],
) -> Figure:
    """The first pairs, side by side, with split and label; red where the labels differ."""
    images, captions, colours = [], [], []
    for pair in pairs[:MOST_TWINS]:
        for i in (pair.first, pair.second):
            split = str(prints.splits[i])
            label = prints.labels[i]
            images.append(splits[split].sample([int(prints.positions[i])]).images[0])
            name = names[label] if label >= 0 else "no label"
            captions.append(f"{split}\n{name}")
            colours.append(BAD if pair.disagree else INK)
    caption = "Twins, side by side, with their splits and classes; red where the classes differ."
    return gallery(np.array(images), captions, colours, caption)
