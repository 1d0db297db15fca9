"""What training says while an epoch goes on, on a clock that the tests move."""

import re

import numpy as np
import pytest

from petals.training import callbacks
from petals.training.callbacks import Epochs, Phase, Training

LINE = re.compile(r"  fine-tune (\d)/3: step (\d+) of 40  (\d+):(\d\d) left")


class Model:
    """As much of a model as the callback asks for."""

    stop_training = False
    optimizer = type("Optimizer", (), {"learning_rate": 0.001})()

    def get_weights(self):
        return []


@pytest.fixture
def clock(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(callbacks, "_now", lambda: now[0])
    monkeypatch.setattr(callbacks, "LOG_EVERY", 5.0)
    return now


def follow(clock, lines, *, step_seconds, scoring_seconds, compile_seconds=60.0):
    """Three epochs of 40 steps of 64 photos; returns when each line came, and the end."""
    printed = []

    def predict():
        clock[0] += scoring_seconds
        return np.eye(2)

    training = Training(say=lambda line: printed.append((clock[0], line)))
    watch = Epochs(Phase("fine-tune", 3, 40, 64), training, np.array([0, 1]), predict)
    watch.set_model(Model())
    for epoch in range(3):
        watch.on_epoch_begin(epoch)
        for step in range(40):
            clock[0] += step_seconds + (compile_seconds if epoch == step == 0 else 0)
            watch.on_train_batch_end(step, {"loss": 1.0, "accuracy": 0.5})
        watch.on_epoch_end(epoch, {"loss": 1.0, "accuracy": 0.5})
    lines += printed
    return clock[0]


def test_a_line_within_an_epoch_has_the_time_left(clock):
    lines = []
    end = follow(clock, lines, step_seconds=2.0, scoring_seconds=6.0)
    steps = [(at, LINE.fullmatch(line)) for at, line in lines if ": step " in line]
    assert len(steps) > 20
    timed = [(at, match) for at, match in steps if match]
    assert len(timed) >= len(steps) - 1  # the first step alone has no pace, as it compiles
    for at, match in timed:
        remaining = 60 * int(match[3]) + int(match[4])
        # Before the first epoch is scored, nobody knows how long that takes.
        unknown = 3 * 6.0 if match[1] == "1" else 0.0
        assert remaining == pytest.approx(end - at - unknown, abs=10)


def test_lines_within_an_epoch_are_written_over_where_a_person_watches(clock, monkeypatch, capsys):
    monkeypatch.setenv("JPY_SESSION_NAME", "notebooks/02_train.ipynb")
    phase, labels = Phase("fine-tune", 1, 40, 64), np.array([0, 1])
    watch = Epochs(phase, Training(), labels, lambda: np.eye(2))
    watch.set_model(Model())
    watch.on_epoch_begin(0)
    for step in range(40):
        clock[0] += 1.0
        watch.on_train_batch_end(step, {"loss": 1.0, "accuracy": 0.5})
    watch.on_epoch_end(0, {"loss": 1.0, "accuracy": 0.5})
    printed = capsys.readouterr().out
    assert printed.count("\n") == 1
    assert printed.count("\r") == 40
    first, *_, last = printed.split("\r")[1:]
    assert first.startswith("  fine-tune 1/1: step 1 of 40")
    assert last.startswith("  fine-tune 1/1  loss 1.000")
    assert last.rstrip().endswith("0:00 left")
