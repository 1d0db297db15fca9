"""Figures of photos in a grid. Every function returns a matplotlib Figure."""

import math
import textwrap
from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from petals.plots.figures import BAD, GOOD, INK, PHOTOS, SMALL, WIDTH, as_written, new_figure

COLUMNS = 6  # photos side by side
ACROSS = 20  # letters that fit above a photo


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
