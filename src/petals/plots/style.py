"""The look of every figure: colours, size, axes.

Colours are told apart by colour-blind people too; series differ in dash and marker besides.
"""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

INK, ACCENT, SECOND, GOOD, BAD, FAINT = (
    "#1b2029",
    "#0072b2",
    "#c94f00",
    "#00795a",
    "#a8321a",
    "#d8dde6",
)
SERIES = (ACCENT, SECOND, GOOD, "#a6357a", "#7a6200", "#4b3fa0", "#4f5661", "#00707f")
DASHES = ("-", (0, (5, 2.5)), (0, (1.5, 1.5)), (0, (6, 2, 1.5, 2)))
MARKERS = "os^Dvx"
WIDTH = 9.0  # inches; a page shows 100 pixels for each
SMALL, TEXT, TITLE = 8.5, 9.5, 11  # points
PHOTOS = "photos"  # the id of a figure that is saved as JPEG
LONGEST = 400  # characters of what a figure says, for those who cannot see it


def new_figure(
    caption: str, width: float = WIDTH, height: float = 3.2, **grid: Any
) -> tuple[Figure, Any]:
    """A figure of `width` × `height` inches and its axes, laid out by `grid`.

    `caption`: a sentence on what is seen; it is the figure's label, and stands below it in a
    notebook.
    """
    figure = Figure(figsize=(width, height), layout="constrained", label=caption)
    return figure, figure.subplots(**grid)


def in_words(figure: Figure) -> str:
    """A figure's alternative text: its caption, then its titles."""
    titles = [figure.get_suptitle()]
    titles += [axes.get_title(loc) for axes in figure.axes for loc in ("left", "center")]
    told = "; ".join(" ".join(title.split()) for title in titles if title)
    text = f"{figure.get_label()} {told}".strip()
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
    """Title, labels, light horizontal lines and no frame; epochs are whole numbers."""
    axes.set_title(title, loc="left", fontsize=TITLE, color=INK)
    axes.set_xlabel(x, fontsize=TEXT)
    axes.set_ylabel(y, fontsize=TEXT)
    axes.tick_params(labelsize=SMALL, colors=INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color=FAINT, linewidth=0.8)
    axes.set_axisbelow(True)
    if x == "epoch":
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
