import numpy as np
import pytest
from matplotlib.figure import Figure

from petals.data import duplicates
from petals.data.classes import CLASSES
from petals.evaluation.metrics import per_class
from petals.plots import run
from petals.training.optimization import learning_rates

DICE = np.random.default_rng(0)
IMAGES = DICE.integers(0, 255, (10, 16, 16, 3)).astype(np.uint8)
LABELS = DICE.integers(0, 104, 300)
PROBABILITIES = DICE.dirichlet(np.ones(104), 300)
HISTORY = [
    {
        "phase": phase,
        "loss": 1.0,
        "val_loss": 1.1,
        "accuracy": 0.5,
        "val_accuracy": 0.4,
        "val_macro_f1": 0.3,
    }
    for phase in ("head", "head", "fine-tune")
]


@pytest.mark.parametrize(
    "draw",
    [
        lambda: run.gallery(IMAGES, ["a rose"] * 10),
        lambda: run.class_balance({"train": LABELS, "val": LABELS[:50]}, CLASSES),
        lambda: run.augmentations(IMAGES[:4], [IMAGES[4:8], IMAGES[5:9]]),
        lambda: run.schedule(learning_rates("ramp", 12, 10), 10),
        lambda: run.curves(HISTORY),
        lambda: run.mistakes(LABELS, PROBABILITIES, CLASSES),
        lambda: run.mistakes(LABELS, np.eye(104)[LABELS], CLASSES),
        lambda: run.class_scores(per_class(LABELS, PROBABILITIES, CLASSES)),
        lambda: run.predictions(IMAGES, LABELS[:10], PROBABILITIES[:10], CLASSES),
    ],
)
def test_every_figure_draws_and_saves(draw, tmp_path):
    figure = draw()
    assert isinstance(figure, Figure)
    path = run.save(figure, tmp_path, "figure")
    photos = {"figure.png": b"\x89PNG", "figure.jpg": b"\xff\xd8\xff\xe0"}
    assert path.read_bytes()[:4] == photos[path.name]
    assert list(tmp_path.iterdir()) == [path]


def test_photos_are_saved_as_jpeg_and_other_figures_as_png(tmp_path):
    assert run.save(run.gallery(IMAGES, ["a rose"] * 10), tmp_path, "a").name == "a.jpg"
    assert run.save(run.class_scores([]), tmp_path, "b").name == "b.png"


def test_titles_state_the_result():
    left, right = run.curves(HISTORY).axes
    assert left.get_title(loc="left") == "Loss: lowest 1.100 in epoch 1"
    assert right.get_title(loc="left") == "Macro F1: highest 0.300 in epoch 1"
    labels, guesses = np.repeat([0, 0, 1], [5, 2, 3]), np.repeat([0, 1], [5, 5])
    figure = run.mistakes(labels, np.eye(2)[guesses], ("rose", "iris"))
    title = "8 of 10 are correct (80%); most common mistake: rose → iris"
    assert figure.get_suptitle() == title
    scores = per_class(LABELS, np.eye(104)[LABELS], CLASSES)
    assert "0 of" in run.class_scores(scores).axes[0].get_title(loc="left")


def test_epochs_are_whole_numbers():
    figure = run.curves(HISTORY)
    figure.draw_without_rendering()
    for axes in figure.axes:
        assert all(float(tick).is_integer() for tick in axes.get_xticks())


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


@pytest.mark.parametrize("draw", [lambda: run.curves(HISTORY), lambda: few_classes()])
def test_no_legend_lies_over_what_it_names(draw):
    figure = draw()
    figure.draw_without_rendering()
    for legend in figure.legends:
        for axes in figure.axes:
            assert not legend.get_window_extent().overlaps(axes.get_window_extent())
    assert not any(axes.get_legend() for axes in figure.axes)


def few_classes():
    return run.class_balance({"train": LABELS % 5, "val": LABELS[:50] % 5}, CLASSES[:5])


def test_training_and_validation_are_beside_and_not_on_each_other():
    train, val = few_classes().axes
    assert train.get_title(loc="left").startswith("train: 5 classes of ")
    (even,) = run.class_balance({"val": np.arange(15) % 5}, CLASSES[:5]).axes
    assert even.get_title(loc="left") == "val: 5 classes of 3 images"
    assert len(train.patches) == len(val.patches) == 5


def test_a_title_too_long_for_its_axes_goes_on_in_a_second_line():
    figure, (left, _) = run.new_figure("Two panels.", ncols=2)
    run.plain_axis(left, "a title " * 12)
    figure.draw_without_rendering()
    edges = [axes.get_window_extent().x1 for axes in figure.axes]
    assert left.title.get_window_extent().x1 <= edges[0] + 40
    assert "\n" in left.get_title(loc="left")


def test_curves_mark_where_fine_tuning_begins():
    (line,) = [each for each in run.curves(HISTORY).axes[0].lines if each.get_linestyle() == ":"]
    assert list(line.get_xdata()) == [2.5, 2.5]


def test_mistakes_are_captioned_with_the_truth():
    sure = np.eye(104)[[3, 4]]
    figure = run.predictions(IMAGES[:2], np.array([3, 5]), sure, CLASSES)
    titles = [axes.get_title() for axes in figure.axes[:2]]
    assert titles[0].split() == f"right: {CLASSES[3]} 100 %".split()
    assert titles[1].split() == f"true {CLASSES[5]} guessed {CLASSES[4]} 100 %".split()
    assert all(len(line) <= run.ACROSS for line in titles[1].splitlines())
    assert not any(line.strip() == "%" for title in titles for line in title.splitlines())


def test_twins_are_side_by_side_and_red_where_their_labels_differ(splits):
    both = {"train": splits[0], "val": splits[1]}
    prints = duplicates.Fingerprints.of(both)
    pair = duplicates.Pair(0, 55, ("train", "val"), same_bytes=False, disagree=True)
    axes = run.twins(prints, [pair], both, ("blue", "red", "yellow")).axes[:2]
    assert [one.get_title() for one in axes] == ["train\nblue", "val\nred"]
    assert {one.title.get_color() for one in axes} == {run.BAD}
