"""Tests of the package."""

import numpy as np

from harvest import data
from harvest.model import Ridge, mae

X = np.arange(-5.0, 6.0)[:, np.newaxis]


def test_a_parabola_takes_the_second_power():
    tonnes = 30 - X[:, 0] ** 2
    bent = Ridge.fit(X, tonnes, degree=2, penalty=0.0)
    straight = Ridge.fit(X, tonnes, degree=1, penalty=0.0)
    assert np.allclose(bent.predict(X), tonnes)
    assert mae(tonnes, straight.predict(X)) > 5


def test_no_plot_yields_less_than_nothing():
    model = Ridge.fit(X, X[:, 0], degree=1, penalty=0.0)
    assert model.predict(X).min() == 0.0


def test_a_submission_has_the_competitions_header(tmp_path):
    data.write_submission(tmp_path / "submission.csv", ["north"], np.array([1.5]))
    assert (tmp_path / "submission.csv").read_text().split() == ["plot,tonnes", "north,1.5000"]
