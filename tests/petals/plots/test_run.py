import numpy as np
import pytest
from matplotlib.text import Text

from petals.data import duplicates
from petals.data.classes import CLASSES
from petals.evaluation.calibration import Reliability
from petals.evaluation.metrics import per_class
from petals.plots import figures, photos, run, twins

DICE = np.random.default_rng(0)
IMAGES = DICE.integers(0, 255, (10, 16, 16, 3)).astype(np.uint8)
LABELS = DICE.integers(0, 104, 300)
PROBABILITIES = DICE.dirichlet(np.ones(104), 300)
ROW = {"loss": 1.0, "val_loss": 1.1, "accuracy": 0.5, "val_accuracy": 0.4, "val_macro_f1": 0.3}
HISTORY = [ROW | {"phase": phase} for phase in ("head", "head", "fine-tune")]


@pytest.mark.parametrize(
    "draw",
    [
        lambda: run.class_balance({"train": LABELS, "val": LABELS[:50]}, CLASSES),
        lambda: photos.augmentations(IMAGES[:4], [IMAGES[4:8], IMAGES[5:9]]),
        lambda: run.mistakes(LABELS, PROBABILITIES, CLASSES),
        lambda: run.mistakes(LABELS, np.eye(104)[LABELS], CLASSES),
        lambda: run.class_scores(per_class(LABELS, PROBABILITIES, CLASSES)),
        lambda: run.class_scores([]),
        lambda: run.reliability({"before": Reliability.of(LABELS, PROBABILITIES)}),
    ],
)
def test_every_figure_draws_and_saves(draw, tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "DOTS", 40)
    path = figures.save(draw(), tmp_path, "figure")
    photos = {"figure.png": b"\x89PNG", "figure.jpg": b"\xff\xd8\xff\xe0"}
    assert path.read_bytes()[:4] == photos[path.name]
    assert list(tmp_path.iterdir()) == [path]


PRICED = ["$a_{$ rose", "two $ and $ x^", "one $", "100% \\\\$ $", "plain"]


@pytest.mark.parametrize(
    "draw",
    [
        lambda: run.class_balance({"train": np.arange(5)}, PRICED),
        lambda: run.mistakes(np.arange(5), np.roll(np.eye(5), 1, 1), PRICED),
        lambda: run.class_scores(per_class(np.arange(5), np.roll(np.eye(5), 1, 1), PRICED)),
        lambda: run.reliability({PRICED[0]: Reliability.of(LABELS, PROBABILITIES)}),
        lambda: photos.predictions(IMAGES[:5], np.arange(5), np.roll(np.eye(5), 1, 1), PRICED),
        lambda: photos.gallery(IMAGES[:5], PRICED),
    ],
)
def test_dollar_signs_of_a_name_begin_no_formula(draw, tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "DOTS", 40)
    figure = draw()
    figures.save(figure, tmp_path, "figure")  # a formula that is none ends it
    texts = [text for text in figure.findobj(Text) if "$" in text.get_text()]
    assert texts
    for text in texts:
        shown, is_formula = text._preprocess_math(text.get_text())
        assert not is_formula
        assert "\\$" not in shown.replace(PRICED[3], "")


def test_curves_state_the_best_epochs_and_mark_where_fine_tuning_begins():
    figure = run.curves(HISTORY)
    left, right = figure.axes
    assert left.get_title(loc="left") == "Loss: lowest 1.100 in epoch 1"
    assert right.get_title(loc="left") == "Macro F1: highest 0.300 in epoch 1"
    (mark,) = [line for line in left.lines if line.get_linestyle() == ":"]
    assert list(mark.get_xdata()) == [2.5, 2.5]
    figure.draw_without_rendering()
    (legend,) = figure.legends
    for axes in figure.axes:
        assert all(float(tick).is_integer() for tick in axes.get_xticks())
        assert not legend.get_window_extent().overlaps(axes.get_window_extent())


def test_curves_speak_of_fine_tuning_only_where_there_is_some():
    assert "start of fine-tuning" in run.curves(HISTORY).get_label()
    assert "fine-tuning" not in run.curves(HISTORY[:2]).get_label()


def test_the_worst_class_is_named_only_if_it_is_one():
    names = list("abcd")
    one, several = (
        run.class_scores(per_class(np.array(labels), np.eye(4)[guesses], names))
        for labels, guesses in (([0, 1, 2, 3], [0, 1, 2, 0]), ([0, 1, 2, 3], [0, 0, 0, 0]))
    )
    assert "the worst is d with 0.000" in one.axes[0].get_title(loc="left").replace("\n", " ")
    assert "the 3 worst are those with 0.000" in several.axes[0].get_title(loc="left").replace(
        "\n", " "
    )


def test_the_most_common_mistakes_are_drawn_in_letters_that_can_be_read():
    labels = np.repeat(np.arange(104), 12)
    guesses = labels.copy()
    guesses[labels == 3] = np.repeat([3, 4], [7, 5])
    guesses[labels == 7] = np.repeat([7, 2], [9, 3])
    figure = run.mistakes(labels, np.eye(104)[guesses], CLASSES)
    ticks = figure.axes[0].get_yticklabels()
    pairs = [f"{CLASSES[3]} → {CLASSES[4]}", f"{CLASSES[7]} → {CLASSES[2]}"]
    assert [tick.get_text() for tick in ticks] == pairs
    assert [text.get_text() for text in figure.axes[0].texts] == ["5 of 12", "3 of 12"]
    assert min(tick.get_fontsize() for tick in ticks) >= 8
    assert figure.get_suptitle().startswith("1,240 of 1,248 are correct (99%)")


def test_mistakes_are_captioned_with_the_truth():
    sure = np.eye(104)[[3, 4]]
    figure = photos.predictions(IMAGES[:2], np.array([3, 5]), sure, CLASSES)
    titles = [axes.get_title() for axes in figure.axes[:2]]
    assert titles[0].split() == f"correct: {CLASSES[3]} 100 %".split()
    assert titles[1].split() == f"true {CLASSES[5]} predicted {CLASSES[4]} 100 %".split()


def test_twins_are_side_by_side_and_red_where_their_labels_differ(splits):
    both = {"train": splits[0], "val": splits[1]}
    prints = duplicates.Fingerprints.of(both)
    pair = duplicates.Pair(0, 55, ("train", "val"), same_bytes=False, disagree=True)
    axes = twins.twins(prints, [pair], both, ("blue", "red", "yellow")).axes[:2]
    assert [one.get_title() for one in axes] == ["train\nblue", "val\nred"]
    assert {one.title.get_color() for one in axes} == {figures.BAD}
