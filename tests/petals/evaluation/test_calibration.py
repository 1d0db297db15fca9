import numpy as np
import pytest

from petals.evaluation.calibration import Calibration, Reliability, calibrated, fit_temperature


def answers(n=20_000, classes=10, seed=0):
    """Labels drawn from the probabilities that stand beside them."""
    rng = np.random.default_rng(seed)
    logits = 2 * rng.normal(size=(n, classes))
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
