"""The work around an epoch: score it, keep the best weights, save checkpoints, stop in time."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from tensorflow import keras

from petals.accelerators import cluster, collectives
from petals.evaluation.metrics import Scores
from petals.progress import ProgressLine, time_left
from petals.training import state
from petals.training.checkpoints import Checkpoints

OUT_OF_TIME = "time limit"
SAVING_SHARE = 0.05  # of the time, at most, goes into checkpoints
TELL_EVERY = 15.0  # seconds between lines within an epoch, where each is a line of a log
AGREE_EVERY = 16  # steps between readings of the clock, on which several hosts must agree


class Epochs(keras.callbacks.Callback):
    """Scores each epoch, keeps the best weights, stops early or at the deadline, and reports.

    `predict()` returns the validation probabilities of the present model. The rows of `history`
    are the rows of `history.csv`: phase, epoch, loss, accuracy, val_loss, val_accuracy,
    val_macro_f1, learning_rate, seconds, images_per_second.

    The order of callbacks does not matter; the same object serves `fit` and the custom loop.
    """

    def __init__(
        self,
        phase: str,
        predict: Callable[[], np.ndarray],
        labels: np.ndarray,
        *,
        epochs: int,
        steps: int,
        batch_size: int,
        patience: int = 0,
        keep_best: bool = True,
        deadline: float | None = None,
        history: list[dict[str, Any]] | None = None,
        record: Callable[[list[dict[str, Any]]], None] = lambda rows: None,
        checkpoints: Checkpoints | None = None,
        checkpoint_minutes: float = 5.0,
        say: Callable[[str], None] | None = None,
        every: float | None = None,
    ) -> None:
        """`history`: the rows of earlier phases; this phase appends its own, and `record` gets
        all rows after each epoch. `steps`: the steps of an epoch. `patience`: epochs without a
        better macro F1 before training stops, 0 = never. `keep_best`: whether the model ends with
        the weights of its best epoch, and not of its last one. `deadline`: a `time.monotonic()`
        after which no further step begins. `checkpoint_minutes`: the time between checkpoints
        within an epoch; the end of an epoch has a checkpoint too where saving takes little of the
        time. `say` gets every line; without it they are printed, those within an epoch in one
        place where a person watches. `every`: seconds between lines within an epoch.
        """
        super().__init__()
        self.phase, self.predict, self.labels = phase, predict, labels
        self.epochs, self.steps, self.batch_size = epochs, steps, batch_size
        self.patience, self.keep_best, line = patience, keep_best, ProgressLine()
        self.say, self._show = say or line.stay, say or line.move
        self.every = every if every is not None else 0.5 if line.in_place else TELL_EVERY
        self.deadline = None if deadline is None else collectives.broadcast_scalar(deadline)
        self._look = AGREE_EVERY if cluster.here().count > 1 else 1
        self.record, self.checkpoints = record, checkpoints
        self.history = [] if history is None else history
        self.best_epoch, self.best_f1 = 0, -1.0
        self.stopped = ""
        self.begin = 0  # the step to resume from
        self._partial: dict[str, float] = {}  # of an epoch that an earlier process began
        self._best: list[np.ndarray] = []
        self._pause, self._saving = 60 * checkpoint_minutes, 0.0
        self._scoring = 0.0  # seconds that the last epoch's validation took
        self._begun = self._saved = _now()

    def resume(self, model: keras.Model) -> None:
        """Restore the checkpoint that was found, if it belongs to this phase."""
        found = self.checkpoints.found if self.checkpoints else None
        if found is None or found.phase != self.phase:
            return
        self._best = state.restore(model, found.arrays)
        self.begin = found.step
        for name in ("best_epoch", "best_f1", "stopped"):
            setattr(self, name, found.facts[name])
        self._partial = dict(found.facts["partial"])

    def on_epoch_begin(self, epoch: int, logs: dict | None = None) -> None:
        self._epoch, self._epoch_begun = epoch, _now()
        self._told = self._epoch_begun
        self._before = max(self.begin - epoch * self.steps, 0)  # done by an earlier process
        self._done = self._first = 0

    def on_train_batch_end(self, batch: int, logs: dict | None = None) -> None:
        self._done = batch + 1
        step = self._before + self._done
        if self._done % self._look and step < self.steps:
            return
        now = _now()
        if not self._first:
            self._first, self._stepped = self._done, now
        if self.deadline is not None and now > self.deadline:
            self.stopped = OUT_OF_TIME
            self.model.stop_training = True
            if step < self.steps:
                self._save(step, logs)
        elif now - self._saved > self._pause and step < self.steps:
            self._save(step, logs)
        if now - self._told > self.every and step < self.steps:
            self._told = now
            self._tell_step(step, now)

    def on_epoch_end(self, epoch: int, logs: dict | None = None) -> None:
        trained = _now() - self._epoch_begun
        scores = Scores.of(self.labels, self.predict())
        row: dict[str, Any] = {
            "phase": self.phase,
            "epoch": epoch + 1,
            **self._means(logs),
            "val_loss": scores.loss,
            "val_accuracy": scores.accuracy,
            "val_macro_f1": scores.macro_f1,
            "learning_rate": _current_rate(self.model.optimizer),
            "seconds": _now() - self._epoch_begun,
            "images_per_second": self._done * self.batch_size / max(trained, 1e-9),
        }
        self._scoring = row["seconds"] - trained
        self.history.append(row)
        self.record(self.history)
        if scores.macro_f1 > self.best_f1:
            self.best_f1, self.best_epoch = scores.macro_f1, epoch
            self._best = self.model.get_weights() if self.keep_best else []
        elif self.patience and epoch - self.best_epoch >= self.patience:
            self.stopped = f"no better macro F1 for {self.patience} epochs"
            self.model.stop_training = True
        self._tell(row)
        self._partial = {}
        if self._before + self._done < self.steps:
            return  # the epoch was cut short: its checkpoint was saved at that step
        last = epoch + 1 == self.epochs or self.model.stop_training
        if last or _now() - self._saved > self._saving / SAVING_SHARE:
            self._save(self.steps, None)

    def finish(self, model: keras.Model) -> None:
        """Put the best weights into the model, where they are kept."""
        if self._best:
            model.set_weights(self._best)
        if self.stopped:
            self.say(f"  {self.phase}: stopped early ({self.stopped})")

    def _means(self, logs: Mapping[str, Any] | None) -> dict[str, float]:
        """Loss and accuracy over the epoch so far, including an earlier process's part of it."""
        logs, all_done = logs or {}, self._before + self._done
        means = {}
        for name in ("loss", "accuracy"):
            own = float(logs.get(name, float("nan")))
            earlier = self._partial.get(name, 0.0)
            means[name] = (own * self._done + earlier * self._before) / max(all_done, 1)
        return means

    def _save(self, step: int, logs: Mapping[str, Any] | None) -> None:
        if self.checkpoints is None:
            return
        begun = _now()
        self.checkpoints.save(
            self.phase,
            self._epoch * self.steps + step,
            [*state.capture(self.model), *self._best],
            history=self.history,
            best_epoch=self.best_epoch,
            best_f1=self.best_f1,
            # The next session must not stop because this one ran out of time.
            stopped="" if self.stopped == OUT_OF_TIME else self.stopped,
            partial=self._means(logs) if logs is not None else {},
        )
        self._saved = _now()
        self._saving = self._saved - begun

    def _tell_step(self, step: int, now: float) -> None:
        """The phase, the rate of this epoch, and the time that the phase still takes."""
        line = f"  {self.phase} {self._epoch + 1}/{self.epochs}: step {step} of {self.steps}"
        if seconds := now - self._stepped:  # the first step's, with its compiling, are left out
            rate = (self._done - self._first) / seconds
            left = (self.steps - step + (self.epochs - self._epoch - 1) * self.steps) / rate
            left += (self.epochs - self._epoch) * self._scoring
            line += f"  {rate * self.batch_size:,.0f} images/s  {time_left(left)}"
        self._show(line)

    def _tell(self, row: dict[str, Any]) -> None:
        done = row["epoch"]
        if self.epochs > 20 and done % 5 and done != self.epochs and row["seconds"] < 1:
            return  # of many short epochs, every fifth gets a line
        here = done - self.begin // self.steps
        left = (_now() - self._begun) / max(here, 1) * (self.epochs - done)
        self.say(
            f"  {self.phase} {done}/{self.epochs}  loss {row['loss']:.3f}  "
            f"val loss {row['val_loss']:.3f}  macro F1 {row['val_macro_f1']:.4f}  "
            f"{row['images_per_second']:,.0f} images/s  {time_left(left)}"
        )


def _now() -> float:
    """`time.monotonic()` of host 0, on all hosts, so that they save and stop at the same step."""
    return collectives.broadcast_scalar(time.monotonic())


def _current_rate(optimizer: keras.optimizers.Optimizer) -> float:
    rate = optimizer.learning_rate
    rate = rate(optimizer.iterations) if callable(rate) else rate
    return float(rate.numpy() if hasattr(rate, "numpy") else np.asarray(rate))
