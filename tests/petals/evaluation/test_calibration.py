import math

import numpy as np
import pytest

from petals.evaluation.calibration import (
    ENOUGH,
    Calibration,
    Reliability,
    calibrated,
    fit_temperature,
)


def answers(n=20_000, classes=10, seed=0, scale=2.0):
    """Labels drawn from the probabilities that stand beside them."""
    rng = np.random.default_rng(seed)
    logits = scale * rng.normal(size=(n, classes))
    true = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    labels = (true.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    return labels, true


@pytest.mark.parametrize("temperature", [0.4, 2.5])
def test_the_temperature_that_was_taken_away_is_found(temperature):
    labels, true = answers()
    spoilt = calibrated(true, 1 / temperature)
    assert fit_temperature(labels, spoilt) == pytest.approx(temperature, rel=0.03)


def test_smoothed_labels_have_a_temperature_of_their_own():
    labels, true = answers(n=2000)
    smoothed = 0.9 * np.eye(10)[labels] + 0.01

    def cost(temperature):
        return -(smoothed * np.log(calibrated(true, temperature))).sum(axis=1).mean()

    fitted = fit_temperature(labels, true, label_smoothing=0.1)
    assert fitted > 1.1 * fit_temperature(labels, true)
    assert cost(fitted) < min(cost(0.97 * fitted), cost(1.03 * fitted))


def test_too_sure_answers_are_put_right_in_their_order():
    labels, true = answers()
    sure = calibrated(true, 0.3)
    fitted = Calibration.of(labels, sure)
    assert fitted.before.error > 0.1
    assert fitted.after.error < 0.015
    after = calibrated(sure, fitted.temperature)
    assert (after.argmax(axis=1) == sure.argmax(axis=1)).all()
    assert after.sum(axis=1) == pytest.approx(1, abs=1e-5)


def test_the_error_is_that_of_the_formula():
    labels = np.array([0, 0, 1, 1])
    probabilities = np.array([[0.9, 0.1], [0.9, 0.1], [0.9, 0.1], [0.3, 0.7]])
    # three answers 90 % sure, two of them right; one 70 % sure and right
    expected = 3 / 4 * (0.9 - 2 / 3) + 1 / 4 * 0.3
    assert Reliability.of(labels, probabilities).error == pytest.approx(expected)


def test_a_run_of_right_answers_has_a_temperature_within_the_range():
    fitted = fit_temperature(np.array([0, 1]), np.array([[0.9, 0.1], [0.2, 0.8]]))
    assert fitted == pytest.approx(0.05)


def test_a_reliability_comes_back_from_json():
    curve = Reliability.of(*answers(50))
    again = Reliability.from_lists(curve.as_lists())
    assert again.error == pytest.approx(curve.error, abs=1e-5)


def wrong_at_first(mistakes, n=60, sure=0.9):
    """Answers of 90 % or so among ten classes, of which so many are wrong."""
    labels = np.arange(n) % 10
    guesses = np.where(np.arange(n) < mistakes, (labels + 1) % 10, labels)
    rest = (1 - sure) / 9
    return labels, np.full((n, 10), rest) + (sure - rest) * np.eye(10)[guesses]


@pytest.mark.parametrize("mistakes", [0, ENOUGH - 1])
def test_a_temperature_that_rests_on_few_mistakes_is_1_and_says_so(mistakes):
    found = Calibration.of(*wrong_at_first(mistakes, sure=0.95))
    assert found.temperature == 1.0
    assert f"The temperature is 1: {mistakes} mistakes among 60" in found.note
    assert found.after is found.before


@pytest.mark.parametrize("mistakes", [0, ENOUGH - 1])
def test_many_right_answers_that_were_unsure_have_a_temperature_below_1(mistakes):
    labels, rows = wrong_at_first(mistakes, n=600, sure=0.8)
    found = Calibration.of(labels, rows)
    assert found.note == ""
    assert fit_temperature(labels, rows) < found.temperature < 0.8
    mean_loss = [
        -np.log(given[np.arange(600), labels].astype(np.float64)).mean()
        for given in (rows, calibrated(rows, found.temperature))
    ]
    assert mean_loss[1] < mean_loss[0] / 2


def test_a_single_class_has_the_temperature_1():
    assert Calibration.of(np.zeros(8, int), np.ones((8, 1))).temperature == 1.0


def test_imagined_mistakes_are_photos_of_the_second_class():
    """The same as adding them, where all photos have the same probabilities."""
    rows = np.tile([0.7, 0.2, 0.1], (10, 1))
    labels = np.zeros(10, int)
    with_them = fit_temperature(np.repeat([0, 1], [10, 3]), np.tile(rows[0], (13, 1)), spread=0.7)
    assert fit_temperature(labels, rows, spread=0.7, imagined=3) == pytest.approx(with_them)


def test_a_temperature_is_drawn_towards_1_and_less_so_by_more_photos():
    labels, rows = wrong_at_first(ENOUGH + 15)
    few = Calibration.of(labels, rows)
    many = Calibration.of(np.tile(labels, 50), np.tile(rows, (50, 1)))
    alone = fit_temperature(labels, rows)
    assert 1 < few.temperature < many.temperature < alone
    assert many.temperature == pytest.approx(alone, rel=0.01)
    assert (few.note, many.note) == ("", "")


def test_the_temperature_is_the_likeliest_one_on_a_grid():
    labels, rows = wrong_at_first(9)

    def cost(temperature, spread=0.7):
        chosen = calibrated(rows, temperature)[np.arange(60), labels].astype(np.float64)
        return -np.log(chosen).sum() + math.log(temperature) ** 2 / (2 * spread**2)

    grid = np.exp(np.linspace(math.log(0.05), math.log(20), 4001))
    best = min(grid, key=cost)
    assert Calibration.of(labels, rows).temperature == pytest.approx(best, rel=2e-3)


@pytest.mark.parametrize("surer", [1.0, 0.5])
def test_a_few_validation_photos_spoil_no_probabilities(surer):
    labels, true = answers(n=200, scale=20.0)
    rows = calibrated(true, surer)
    assert 0.93 < (rows.argmax(axis=1) == labels).mean() < 0.98
    rng = np.random.default_rng(5)

    def loss(photos, temperature):
        given = calibrated(rows[photos], temperature)[np.arange(len(photos)), labels[photos]]
        return -np.log(np.clip(given.astype(np.float64), 1e-7, 1)).mean()

    gains = {"regularised": [], "by the labels alone": []}
    for _ in range(200):
        order = rng.permutation(len(labels))
        few, others = order[:13], order[13:]
        temperature = Calibration.of(labels[few], rows[few]).temperature
        gains["regularised"].append(loss(others, 1.0) - loss(others, temperature))
        temperature = fit_temperature(labels[few], rows[few])
        gains["by the labels alone"].append(loss(others, 1.0) - loss(others, temperature))
    assert np.mean(gains["regularised"]) >= 0
    assert np.mean(gains["by the labels alone"]) < -0.1


@pytest.mark.long
@pytest.mark.parametrize("surer", [2.0, 1.0, 0.5])
def test_1200_draws_of_13_photos_spoil_no_probabilities_and_200_give_what_labels_alone_give(surer):
    labels, true = answers(n=200, scale=20.0)
    rows = calibrated(true, surer)
    rng = np.random.default_rng(6)

    def loss(photos, temperature):
        given = calibrated(rows[photos], temperature)[np.arange(len(photos)), labels[photos]]
        return -np.log(np.clip(given.astype(np.float64), 1e-7, 1)).mean()

    costs = []
    for _ in range(1200):
        order = rng.permutation(len(labels))
        few, others = order[:13], order[13:]
        temperature = Calibration.of(labels[few], rows[few]).temperature
        costs.append(loss(others, temperature) - loss(others, 1.0))
    assert np.mean(costs) <= 0
    every = np.arange(len(labels))
    alone = loss(every, fit_temperature(labels, rows))
    assert loss(every, Calibration.of(labels, rows).temperature) == pytest.approx(alone, abs=0.005)
