"""Figures of photos; like `petals.plots.run`, each function returns a matplotlib Figure."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from petals.data.duplicates import Fingerprints, Pair
from petals.data.shards import Split
from petals.plots.run import BAD, GOOD, INK, PHOTOS, SMALL, WIDTH, new_figure

COLUMNS = 6  # photos side by side
ACROSS = 20  # letters that fit above a photo
MOST_TWINS = 9


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
    captions = ["\n".join(map(_wrapped, caption.splitlines())) for caption in captions]
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
        axes.set_title(caption, fontsize=SMALL, color=colour, pad=3)
    return figure


def _wrapped(line: str) -> str:
    # A percent sign stays with its number.
    return textwrap.fill(line.replace(" %", "\u00a0%"), ACROSS)


def augmentations(before: np.ndarray, after: Sequence[np.ndarray]) -> Figure:
    """A row of originals above rows of their augmented versions; each uint8 (n, size, size, 3)."""
    columns = len(before)
    captions = ["original"] * columns + ["augmented"] * columns * len(after)
    caption = "Photos, and below them as training sees them, changed anew in each epoch."
    return gallery(np.concatenate([before, *after]), captions, overall=caption, columns=columns)


def predictions(
    images: np.ndarray, labels: np.ndarray, probabilities: np.ndarray, names: Sequence[str]
) -> Figure:
    """Images with what they were guessed to be, and with the truth where that is another."""
    captions, colours = [], []
    for label, row in zip(labels, probabilities, strict=True):
        guess = row.argmax()
        right, answer = guess == label, f"{names[guess]} {100 * row[guess]:.0f} %"
        captions.append(f"right: {answer}" if right else f"true {names[label]}\nguessed {answer}")
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
            split, label = str(prints.splits[i]), prints.labels[i]
            images.append(splits[split].sample([int(prints.positions[i])]).images[0])
            captions.append(f"{split}\n{names[label] if label >= 0 else 'no label'}")
            colours.append(BAD if pair.disagree else INK)
    caption = "Twins, side by side, with their splits and classes; red where the classes differ."
    return gallery(np.array(images), captions, colours, caption)
