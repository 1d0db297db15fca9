"""What training says while an epoch goes on, on a clock that the tests move."""

import io
import math
import re
import sys

import numpy as np
import pytest
from tensorflow import keras

from petals.accelerators import cluster
from petals.errors import DivergedError
from petals.training import callbacks
from petals.training.callbacks import Epochs, Phase, Training

LINE = re.compile(r"  fine-tune: images ([\d,]+) of 7,680(?:  \d+ a second  (\d+):(\d\d) left)?\n")
LOGS = {"loss": 1.0, "cross_entropy": 0.8, "accuracy": 0.5}


class Model:
    """As much of a model as the callback asks for."""

    stop_training = False
    steps_per_execution = 1
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
    diverged, kept = watch.finish(model)
    assert "fine-tune diverged" in diverged
    assert "set a lower learning_rate, or dtype=float32" in diverged
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


@pytest.mark.parametrize("classes", [2, 5, 17, 104, 1000])
def test_a_loss_that_keras_clips_is_far_too_high_however_many_classes_there_are(classes):
    guess = math.log(classes)
    clipped = -math.log(1e-7) * (1 - 1 / classes)  # every answer is certain, and of a random class
    assert callbacks._is_diverging(clipped, clipped, classes)
    assert not callbacks._is_diverging(guess + 1, guess + 1, classes)
    assert not callbacks._is_diverging(clipped, guess / 2, classes)


def test_a_start_that_is_not_finite_trains_nothing():
    with pytest.raises(DivergedError, match="before the first epoch: set dtype=float32"):
        phase_of(NOT_A_NUMBER, RIGHT)


def test_finished_steps_count_in_whatever_order_threads_tell_of_them():
    watch = Epochs(Phase("fine-tune", 2, 9, 4), Training(), LABELS, lambda: RIGHT)
    watch.set_model(Model())
    watch.on_epoch_begin(0)
    for batch in (1, 0, 4, 2, 3, 8, 7):
        watch.on_train_batch_end(batch, LOGS)
    watch.on_epoch_end(0, {"loss": 2.0, "cross_entropy": 1.5, "accuracy": 0.25})
    assert (watch.training.history[0]["loss"], watch._done) == (1.5, 9)


class Device:
    """Finishes steps in their order: so many by itself, and others when it is waited for."""

    def __init__(self, clock, step=0.01):
        self.clock = clock
        self.step = step  # seconds
        self.finished = 0
        self.waits = []  # the step that was waited for, each time

    def loss_of(self, number):
        return Loss(self, number)


class Loss:
    """The loss of a step, as JAX returns it before the step is finished."""

    def __init__(self, device, number):
        self.device = device
        self.number = number

    def is_ready(self):
        return self.number < self.device.finished

    def block_until_ready(self):
        device = self.device
        device.waits.append(self.number)
        device.clock[0] += max(0, self.number + 1 - device.finished) * device.step
        device.finished = max(device.finished, self.number + 1)


class Told(keras.callbacks.Callback):
    """The steps that a callback is told of, and how many had begun by then."""

    def __init__(self):
        super().__init__()
        self.begun = 0
        self.steps = []
        self.ahead = []

    def on_train_batch_begin(self, batch, logs=None):
        self.begun = batch + 1
        self.ahead.append(self.begun - len(self.steps))

    def on_train_batch_end(self, batch, logs=None):
        assert logs["loss"].is_ready()
        self.steps.append(batch)


def epoch_on(device, steps, finished=lambda step: 0):
    """What a callback is told in an epoch on a device that has finished so many after a step."""
    pytest.importorskip("jax")
    told = Told()
    listed = callbacks.StepsAhead([told], Model())
    listed.on_train_begin()
    listed.on_epoch_begin(0)
    for step in range(steps):
        listed.on_train_batch_begin(step)
        device.finished = max(device.finished, finished(step))
        listed.on_train_batch_end(step, {"loss": device.loss_of(step)})
    before = len(told.steps)
    listed.on_epoch_end(0, {})
    assert told.steps == list(range(steps))  # all of them, each once, in order
    return told, before


def test_fit_does_not_wait_for_a_device_that_keeps_up(clock):
    device = Device(clock)
    told, before = epoch_on(device, 40, finished=lambda step: step)  # one step is unfinished
    assert before == 39
    assert device.waits[-1] == 39  # at the end of the epoch
    assert max(told.ahead) == 2
    assert clock[0] == pytest.approx(1000.01)


@pytest.mark.parametrize(
    ("seconds", "waits"),
    [(0.01, [0, 4, 8, 14]), (9.0, [0, 1, 2, 3, 4, 5, 6, 7, 14])],
    ids=["short steps: for half of them", "long steps: for one"],
)
def test_only_so_many_steps_begin_before_the_device_has_finished(
    clock, monkeypatch, seconds, waits
):
    monkeypatch.setattr(callbacks, "AHEAD", 8)
    device = Device(clock, seconds)
    told, _ = epoch_on(device, 15)
    assert max(told.ahead) == 8
    assert device.waits == waits


def test_fewer_calls_are_ahead_where_each_takes_several_steps(clock, monkeypatch):
    monkeypatch.setattr(Model, "steps_per_execution", 8)
    told, _ = epoch_on(Device(clock), 5)
    assert max(told.ahead) == 2  # 16 steps


def test_several_hosts_finish_their_steps_before_they_ask_each_other(clock, monkeypatch):
    monkeypatch.setattr(cluster, "_here", cluster.Hosts(0, 2))
    device = Device(clock)
    told, _ = epoch_on(device, 20)
    assert (told.ahead[15], told.ahead[16]) == (16, 1)


def test_steps_of_an_interrupted_epoch_are_not_told_in_the_next(clock):
    pytest.importorskip("jax")
    told = Told()
    listed = callbacks.StepsAhead([told], Model())
    listed.on_train_begin()
    device = Device(clock)
    listed.on_epoch_begin(0)
    listed.on_train_batch_end(0, {"loss": device.loss_of(0)})
    listed.on_epoch_begin(0)
    listed.on_train_batch_end(0, {"loss": device.loss_of(1)})
    listed.on_epoch_end(0, {})
    assert told.steps == [0]


def test_elsewhere_than_on_jax_keras_gets_the_callbacks_themselves():
    watch = keras.callbacks.Callback()
    assert callbacks.without_waiting([watch], Model()) == [watch]


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
