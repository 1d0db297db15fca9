"""What training says while an epoch goes on, on a clock that the tests move."""

import io
import re
import sys

import numpy as np
import pytest

from petals.errors import DivergedError
from petals.training import callbacks
from petals.training.callbacks import Epochs, Phase, Training

LINE = re.compile(r"  fine-tune: images ([\d,]+) of 7,680(?:  \d+ a second  (\d+):(\d\d) left)?\n")
LOGS = {"loss": 1.0, "accuracy": 0.5}


class Model:
    """As much of a model as the callback asks for."""

    stop_training = False
    optimizer = type("Optimizer", (), {"learning_rate": 0.001})()

    def get_weights(self):
        return []


@pytest.fixture(autouse=True)
def seconds_between_lines(monkeypatch):
    monkeypatch.setattr(callbacks, "LOG_EVERY", 5.0)


def test_training_that_diverges_ends_with_the_best_weights_or_one_line():
    answers = [np.full((2, 2), np.nan), np.full((2, 2), np.nan), np.eye(2)]
    watch = Epochs(Phase("fine-tune", 3, 1, 2), Training(), np.array([0, 1]), answers.pop)
    watch.set_model(Model())
    watch.on_epoch_begin(0)
    watch.on_train_batch_end(0, LOGS)
    watch.on_epoch_end(0, {**LOGS, "loss": np.nan})  # of a step that mixed_float16 skipped
    assert watch.stopped == ""
    watch.on_epoch_end(1, LOGS)
    assert (watch.stopped, watch.model.stop_training) == (callbacks.DIVERGED, True)
    assert len(watch.training.history) == 1
    watch.best_f1 = -1.0
    with pytest.raises(DivergedError, match="in epoch 3: set a lower learning_rate"):
        watch.on_epoch_end(2, LOGS)


def test_a_line_within_an_epoch_has_the_time_left(clock, monkeypatch):
    lines = []

    class Log(io.StringIO):
        def write(self, text):
            lines.append((clock[0], text))

    def predict():
        clock[0] += 6.0
        return np.eye(2)

    monkeypatch.setattr(sys, "stdout", Log())
    watch = Epochs(Phase("fine-tune", 3, 40, 64), Training(), np.array([0, 1]), predict)
    watch.set_model(Model())
    for epoch in range(3):
        watch.on_epoch_begin(epoch)
        for step in range(40):
            clock[0] += 2.0 + (60.0 if epoch == step == 0 else 0)  # to compile
            watch.on_train_batch_end(step, LOGS)
        watch.on_epoch_end(epoch, LOGS)
    steps = [(at, match) for at, line in lines if (match := LINE.fullmatch(line))]
    assert len(steps) > 20
    for at, match in steps:
        remaining = 60 * int(match[2]) + int(match[3])
        # Before the first epoch is scored, nobody knows how long that takes.
        unknown = 3 * 6.0 if int(match[1].replace(",", "")) <= 40 * 64 else 0.0
        assert remaining == pytest.approx(clock[0] - at - unknown, abs=10)
    assert [line.split("  ")[1] for _, line in lines if "val loss" in line] == [
        f"fine-tune {epoch}/3" for epoch in (1, 2, 3)
    ]
