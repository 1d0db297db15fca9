"""Class names as people write them, in figures. Any warning of matplotlib is an error here."""

import numpy as np
import pytest

from petals.evaluation.metrics import per_class
from petals.plots import figures, lettering, photos, run

NAMES = [
    "a$b$c",
    "100 % $ wild",
    "\u73ab\u7470",
    "\U0001f339 rose",
    "\u0938\u0942\u0930\u091c",
    "x" * 60,
]
LABELS = np.arange(60) % 6
PROBABILITIES = np.random.default_rng(0).dirichlet(np.ones(6), 60)
IMAGES = np.zeros((12, 16, 16, 3), np.uint8)


@pytest.fixture(autouse=True)
def no_other_fonts(monkeypatch):
    """Only matplotlib's own font, whatever is installed here."""
    monkeypatch.setattr(lettering, "_family", lambda letters: "")


@pytest.mark.parametrize(
    "draw",
    [
        lambda: run.class_balance({"train": LABELS, "val": LABELS[:12]}, NAMES),
        lambda: run.mistakes(LABELS, PROBABILITIES, NAMES),
        lambda: run.class_scores(per_class(LABELS, PROBABILITIES, NAMES)),
        lambda: photos.gallery(IMAGES, NAMES * 2),
        lambda: photos.predictions(IMAGES, LABELS[:12], PROBABILITIES[:12], NAMES),
    ],
)
def test_a_figure_with_any_names_is_drawn_without_a_warning(draw, tmp_path):
    assert figures.save(draw(), tmp_path, "figure").stat().st_size > 5_000


def test_letters_without_a_font_are_told_in_others_and_dollars_are_no_formula(tmp_path):
    figure = photos.gallery(IMAGES[:5], NAMES[:5])
    figures.save(figure, tmp_path, "figure")
    titles = [axes.get_title() for axes in figure.axes[:5]]
    assert titles == [
        r"a\$b\$c",
        "100\u00a0% \\$ wild",
        "U+73AB U+7470",
        "[rose] rose",
        "U+0938 U+0930 U+091C",
    ]
    assert "a$b$c; 100 % $ wild" in figures.in_words(figure)


def test_names_at_an_axis_are_replaced_too_and_shared_ones_stay(tmp_path):
    figure = run.class_balance({"train": LABELS, "val": LABELS}, ["\u73ab", *"bcdef"])
    figures.save(figure, tmp_path, "figure")
    labels = [label.get_text() for label in figure.axes[-1].get_xticklabels()]
    assert labels == ["U+73AB", *"bcdef"]


def test_a_long_name_keeps_its_beginning_and_its_end():
    name = "a cultivar of the common garden rose that has a very long name, II"
    short = lettering.shortened(name)
    assert len(short) <= lettering.LONGEST
    assert name.startswith(short.split("…")[0])
    assert name.endswith(short.split("…")[1])
    assert lettering.shortened("rose") == "rose"


def test_another_installed_font_with_the_letters_is_taken(monkeypatch, tmp_path):
    monkeypatch.setattr(lettering, "_family", lambda letters: "STIXGeneral" if letters else "")
    figure = photos.gallery(IMAGES[:1], ["\u73ab rose"])
    lettering.make_drawable(figure)
    assert figure.axes[0].title.get_fontfamily() == ["DejaVu Sans", "STIXGeneral"]
    assert figure.axes[0].get_title() == "\u73ab rose"
