"""The bootstrap of scores against one that is written out photo by photo."""

import numpy as np
import pytest
from sklearn.metrics import f1_score

from petals.evaluation.intervals import STAND_INS, Intervals, resampled_scores
from petals.evaluation.metrics import Scores, cross_entropies


def answers(counts=(40, 25, 3), classes=5, seed=0):
    """Labels of three of five classes, and probabilities that are right three times in four."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    wrong = rng.random(len(labels)) < 0.25
    guesses = np.where(wrong, rng.integers(0, classes, len(labels)), labels)
    return labels, rng.dirichlet(np.ones(classes), len(labels)) * 0.4 + 0.6 * np.eye(classes)[
        guesses
    ]


def in_place_of(truth, label, guess):
    """What an answer for a photo of class `label` is as one for a photo of class `truth`."""
    if guess == label:
        return truth
    return label if guess == truth else guess


def test_each_resample_has_the_scores_of_its_photos_and_stand_ins():
    labels, rows = answers()
    predicted = rows.argmax(axis=1)
    drawn = resampled_scores(labels, rows, 30, seed=4)
    rng = np.random.default_rng(4)
    order = np.argsort(labels, kind="stable")
    count = len(labels)
    uniform, borrowed = rng.random((30, count)), rng.random((30, count))
    others = rng.integers(0, count, (30, count))
    counts = {0: 40, 1: 25, 2: 3}
    stand_ins = 0
    for number in range(30):
        truths, guesses, photos = [], [], []
        for at, place in enumerate(order):
            truth = labels[place]
            own = order[labels[order] == truth]
            photo = own[int(uniform[number, at] * len(own))]
            guess = predicted[photo]
            if borrowed[number, at] < STAND_INS / (counts[truth] + STAND_INS):
                photo = order[others[number, at]]
                guess = in_place_of(truth, labels[photo], predicted[photo])
                stand_ins += 1
            truths.append(truth)
            guesses.append(guess)
            photos.append(photo)
        expected = vars(Scores.of(np.array(truths), np.eye(5)[guesses]))
        expected["loss"] = cross_entropies(labels[photos], rows[photos]).mean()
        for name, values in drawn.items():
            assert values[number] == pytest.approx(expected[name]), name
    assert 3 * 30 < stand_ins < 8 * 30  # about 5 of 68 photos


def test_a_class_of_three_photos_tells_little_of_it():
    """Three right answers of three are no proof that the class is always recognised."""
    labels = np.repeat(np.arange(4), 3)
    guesses = labels.copy()
    guesses[:2] = 1
    low, high = Intervals.of(labels, np.eye(4)[guesses]).ends["macro_f1"]
    assert low < 0.65
    assert high == 1


def test_the_interval_holds_the_score_and_as_many_resamples_as_it_says():
    labels, rows = answers((60, 60, 60, 60, 60))
    found = Intervals.of(labels, rows)
    f1 = f1_score(labels, rows.argmax(axis=1), average="macro")
    low, high = found.ends["macro_f1"]
    assert low < f1 < high
    # of a share p of 300 answers: 1.96 standard errors to either side
    accuracy = (labels == rows.argmax(axis=1)).mean()
    error = 1.96 * np.sqrt(accuracy * (1 - accuracy) / len(labels))
    assert found.ends["accuracy"] == pytest.approx((accuracy - error, accuracy + error), abs=0.01)
    narrow = Intervals.of(labels, rows, level=0.5).ends["macro_f1"]
    assert low < narrow[0] < narrow[1] < high


def test_the_same_seed_gives_the_same_interval_and_the_file_says_how_it_was_found():
    labels, rows = answers()
    found = Intervals.of(labels, rows, resamples=200, seed=3).as_dict()
    assert found == Intervals.of(labels, rows, resamples=200, seed=3).as_dict()
    assert {name: found[name] for name in ("level", "resamples", "seed")} == {
        "level": 0.95,
        "resamples": 200,
        "seed": 3,
    }
    assert len(found["macro_f1"]) == 2


@pytest.mark.parametrize(
    ("photos", "skill", "least"),
    [(25, 0.8, 0.89), (3, 0.4, 0.85)],  # without stand-ins .92 and .78
    ids=["usual", "few and hard"],
)
def test_the_score_on_endlessly_many_photos_lies_in_most_intervals_of_few(photos, skill, least):
    rng = np.random.default_rng(8)

    def drawn(number):
        labels = np.repeat(np.arange(6), number)
        other = (labels + 1 + labels % 3) % 6  # what each class is mostly taken for
        wrong = np.where(rng.random(len(labels)) < 0.7, other, rng.integers(0, 6, len(labels)))
        guesses = np.where(rng.random(len(labels)) < skill, labels, wrong)
        return labels, np.eye(6)[guesses]

    labels, rows = drawn(20_000)
    true = f1_score(labels, rows.argmax(axis=1), average="macro")
    inside = 0
    for _ in range(200):
        low, high = Intervals.of(*drawn(photos), resamples=200).ends["macro_f1"]
        inside += low <= true <= high
    assert least <= inside / 200 <= 0.99


@pytest.mark.parametrize(
    ("labels", "guesses", "why"),
    [
        (np.arange(12) % 3, np.arange(12) % 3, "no answer is wrong. On other photos up to 25.0%"),
        (np.arange(12) % 6, np.arange(12) % 5, "fewer than 3 validation photos"),
        (np.arange(12) % 3, np.full(12, 2), "the model gives every photo the same class"),
        (
            np.arange(12) % 3,
            np.arange(12) % 3 // 2,
            "gives all photos of a class the same answer",
        ),
        (np.array([0]), np.array([1]), "fewer than 3 validation photos"),
    ],
)
def test_where_a_bootstrap_would_mislead_there_is_no_interval_and_it_is_said(labels, guesses, why):
    found = Intervals.of(labels, np.eye(7)[guesses])
    assert found.text("macro_f1") == "none"
    assert why in str(found)
    assert found.as_dict()["note"] == str(found)
    assert "macro_f1" not in found.as_dict()


def test_a_thousand_classes_are_counted_one_by_one():
    labels = np.repeat(np.arange(1000), 3)
    guesses = np.where(np.arange(3000) % 40, labels, (labels + 1) % 1000)
    rows = np.full((3000, 1000), 1e-4)
    rows[np.arange(3000), guesses] = 0.9
    scores = Scores.of(labels, rows)
    true, guessed, hits = (np.zeros(1000) for _ in range(3))
    for label, guess in zip(labels, guesses, strict=True):
        true[label] += 1
        guessed[guess] += 1
        hits[label] += label == guess
    assert scores.macro_f1 == pytest.approx(np.mean(2 * hits / (true + guessed)))
    low, high = Intervals.of(labels, rows, resamples=50).ends["macro_f1"]
    assert low <= scores.macro_f1 <= high
