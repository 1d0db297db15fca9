"""How long there is, on a clock that nobody can set."""

import math
import time

import pytest

from petals.time_left import BEGAN, MINUTES, deadline


@pytest.fixture(autouse=True)
def own_session(monkeypatch):
    monkeypatch.setattr(time, "monotonic", lambda: 1000.0)
    for name in (MINUTES, BEGAN):
        monkeypatch.setenv(name, "")  # what is set below goes with the test
        monkeypatch.delenv(name)


def test_at_home_there_is_no_end_but_ones_own():
    assert deadline(0, "cpu") == math.inf
    assert deadline(2, "cpu") == 1120


def test_a_bundle_says_how_long_its_session_lasts(monkeypatch):
    monkeypatch.setenv(MINUTES, "300")
    assert deadline(0, "tpu") == 1000 + 60 * 285
    assert deadline(10, "tpu") == 1600
    monkeypatch.setenv(MINUTES, "10")  # a fifth of a short one is kept back
    assert deadline(0, "tpu") == 1000 + 60 * 8


@pytest.mark.parametrize(("kind", "hours"), [("tpu", 9), ("gpu", 12)])
def test_on_kaggle_its_caps_hold_without_a_bundle(monkeypatch, kind, hours):
    monkeypatch.setenv("KAGGLE_KERNEL_RUN_TYPE", "Interactive")
    assert deadline(0, kind) == 1000 + 3600 * hours - 900


def test_runs_of_one_session_share_its_beginning_which_the_bundle_may_have_noted(monkeypatch):
    monkeypatch.setenv(MINUTES, "300")
    first = deadline(0, "tpu")
    monkeypatch.setattr(time, "monotonic", lambda: 5000.0)
    assert deadline(0, "tpu") == first
    monkeypatch.setenv("KERNELKIT_SESSION_BEGAN", "400.5")
    assert deadline(0, "tpu") == 400.5 + 60 * 285
