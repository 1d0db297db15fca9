"""What training says while an epoch goes on, on a clock that the tests move."""

import io
import re
import sys
import threading
import time

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

    weights = 0  # a number stands for them

    def get_weights(self):
        return [np.array(self.weights)]

    def set_weights(self, weights):
        self.weights = int(weights[0])

    def get_metrics_result(self):
        return LOGS


@pytest.fixture(autouse=True)
def seconds_between_lines(monkeypatch):
    monkeypatch.setattr(callbacks, "LOG_EVERY", 5.0)


RIGHT = np.array([[0.9, 0.1], [0.1, 0.9], [0.9, 0.1], [0.1, 0.9]])
LABELS = np.array([0, 1, 0, 1])
HALF = RIGHT[[0, 1, 1, 0]]  # two of the four are right
NONE = RIGHT[::-1]
NOT_A_NUMBER = np.full((4, 2), np.nan)
HEAD = {"phase": "head", "epoch": 1, "loss": 0.1, "accuracy": 1.0}


def phase_of(*answers, history=(), losses=(), select=True, kept=None):
    """The callback after epochs with these answers, the first of them before any epoch.

    The model's weights are the number of the epoch.
    """
    answers, model = list(answers), Model()
    training = Training(list(history), checkpoints=kept)
    epochs = len(answers) - 1
    watch = Epochs(
        Phase("fine-tune", epochs, 1, 4), training, LABELS, lambda: answers.pop(0), select=select
    )
    watch.set_model(model)
    watch.resume(model)
    if not select:
        answers.pop(0)
    for epoch in range(epochs):
        model.weights = epoch + 1
        watch.on_epoch_begin(epoch)
        watch.on_train_batch_begin(0)
        watch.on_train_batch_end(0, LOGS)
        loss = losses[epoch] if losses else 1.0
        watch.on_epoch_end(epoch, {**LOGS, "loss": loss})
        if model.stop_training:
            break
    return watch, model


@pytest.mark.parametrize(
    ("answers", "best"),
    [
        ((HALF, RIGHT, HALF), 1),
        ((HALF, NONE, RIGHT), 2),
        ((RIGHT, HALF, HALF), 0),
        ((RIGHT, RIGHT, HALF), 1),  # of equals the later
        ((HALF, RIGHT, RIGHT), 2),
    ],
    ids=["first", "last", "start", "tie with the start", "tie of epochs"],
)
def test_the_best_model_is_kept_and_that_of_the_start_is_one_of_them(answers, best):
    watch, model = phase_of(*answers)
    told = watch.finish(model)
    assert (watch.best_epoch, model.weights) == (best, best)
    assert ("the run keeps that model" in " ".join(told)) is (best == 0)


def test_a_model_trained_on_its_validation_photos_is_that_of_the_last_epoch():
    watch, model = phase_of(RIGHT, HALF, NONE, select=False)
    assert watch.finish(model) == []
    assert model.weights == 2


@pytest.mark.parametrize("history", [[], [HEAD]], ids=["nothing before", "a head before"])
def test_training_that_diverges_at_once_keeps_the_head_or_is_an_error(history, capsys):
    if not history:
        with pytest.raises(DivergedError, match="in epoch 1: set a lower learning_rate"):
            phase_of(HALF, NOT_A_NUMBER)
        return
    watch, model = phase_of(HALF, NOT_A_NUMBER, RIGHT, history=history)
    (kept,) = watch.finish(model)
    assert "No epoch of fine-tune was better" in kept
    assert "fine-tune: stopped early (training diverged)" in capsys.readouterr().out
    assert model.weights == 0


def test_training_that_diverges_later_ends_with_the_best_epoch():
    watch, model = phase_of(HALF, RIGHT, NOT_A_NUMBER, RIGHT)
    watch.finish(model)
    assert (watch.stopped, model.weights) == (callbacks.DIVERGED, 1)
    assert len(watch.training.history) == 1


@pytest.mark.parametrize(
    ("loss", "answers", "stops"),
    [
        (1e18, NONE, True),
        (float("inf"), NONE, True),
        (8.0, NONE, True),
        (6.0, NONE, False),  # not ten times the loss of a guess, 0.69
        (1e18, RIGHT, False),  # one step that mixed_float16 skipped
        (float("nan"), RIGHT, False),
    ],
)
def test_a_finite_loss_that_is_far_too_high_stops_too(loss, answers, stops):
    watch, model = phase_of(HALF, RIGHT, answers, RIGHT, losses=[1.0, loss, 1.0])
    watch.finish(model)
    assert (watch.stopped == callbacks.DIVERGED) is stops
    assert model.weights == (1 if stops else 3)
    assert len(watch.training.history) == (2 if stops else 3)


def test_a_start_that_is_not_finite_trains_nothing():
    with pytest.raises(DivergedError, match="before the first epoch: set dtype=float32"):
        phase_of(NOT_A_NUMBER, RIGHT)


def test_finished_steps_count_in_whatever_order_threads_tell_of_them():
    watch = Epochs(Phase("fine-tune", 2, 9, 4), Training(), LABELS, lambda: RIGHT)
    watch.set_model(Model())
    watch.on_epoch_begin(0)
    for batch in (1, 0, 4, 2, 3, 8, 7):
        watch.on_train_batch_end(batch, LOGS)
    watch.on_epoch_end(0, {"loss": 2.0, "accuracy": 0.25})
    assert (watch.training.history[0]["loss"], watch._done) == (2.0, 9)


def test_the_host_begins_only_so_many_steps_ahead_of_the_device(monkeypatch):
    monkeypatch.setattr(callbacks, "AHEAD", 4)
    watch = Epochs(Phase("fine-tune", 1, 11, 4), Training(), LABELS, lambda: RIGHT)
    watch.set_model(Model())
    watch.on_epoch_begin(0)
    begun = []

    def host():
        for batch in range(11):
            watch.on_train_batch_begin(batch)
            begun.append(batch)

    thread = threading.Thread(target=host, daemon=True)
    thread.start()
    # Once four steps lie before the device, the host waits until it has finished two of them.
    for finished, may_begin in enumerate([4, 4, 6, 6, 8, 8, 10, 10, 11]):
        deadline = time.monotonic() + 20
        while len(begun) < may_begin and time.monotonic() < deadline:
            time.sleep(0.01)
        assert len(begun) == may_begin
        watch.on_train_batch_end(finished, LOGS)
    thread.join(20)
    assert len(begun) == 11


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
            watch.on_train_batch_begin(step)
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
