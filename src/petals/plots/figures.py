"""The look of every figure, and how one is saved.

`new_figure` begins a figure, and `save` writes it to a folder. Colours are told apart by
colour-blind people too; series differ in dash and marker besides.
"""

import math
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from petals import storage
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
