"""The work around the steps of an epoch: scores, the best weights, checkpoints, the deadline.

`Phase` describes a phase, `Training` has what the phases of a run share. `Epochs` is the callback
that Keras's `fit` calls.
"""

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from tensorflow import keras

from petals.accelerators import cluster
from petals.data import pipeline
from petals.data.shards import Split
from petals.errors import DivergedError
from petals.evaluation.metrics import Scores
from petals.progress import Progress
from petals.training import checkpoints
from petals.training.checkpoints import Checkpoints

Row = dict[str, Any]  # of history.csv
Logs = Mapping[str, Any]  # what Keras knows at the end of a batch or an epoch
OUT_OF_TIME = "time limit"
DIVERGED = "training diverged"
SAVE_EVERY = 300.0  # seconds between checkpoints within an epoch
SAVING_SHARE = 0.05  # the largest share of time for checkpoints at the ends of epochs
LOG_EVERY = 15.0  # seconds between lines within an epoch, in a log
AGREE_EVERY = 16  # steps between readings of the clock, which several hosts must synchronise


@dataclass(frozen=True)
class Training:
    """What the phases of a run share: its history, its checkpoints and its deadline.

    `history` holds the rows of `history.csv`; `record` gets all of them after each epoch.
    `deadline`: a `time.monotonic()` after which no further step begins.
    """

    history: list[Row] = field(default_factory=list)
    record: Callable[[list[Row]], None] = lambda rows: None
    checkpoints: Checkpoints | None = None
    deadline: float = math.inf

    def add_epoch(self, before: Mapping[str, Any], val: Scores, **after: Any) -> Row:
        """Append a row to the history, record it and return it.

        Its columns: phase, epoch, loss, accuracy (`before`), the scores of the validation split,
        learning_rate, seconds, images_per_second (`after`), None where no images were read.
        """
        scores = {f"val_{name}": getattr(val, name) for name in ("loss", "accuracy", "macro_f1")}
        self.history.append({**before, **scores, **after})
        self.record(self.history)
        return self.history[-1]


@dataclass(frozen=True)
class Phase:
    """A phase of training: its epochs, the steps of an epoch, and the images of a step.

    `reads`: what a batch consists of, images or their stored features.
    """

    name: str
    epochs: int
    steps: int
    batch_size: int
    reads: str = "images"


class Epochs(keras.callbacks.Callback):
    """Scores each epoch, keeps the best weights, saves checkpoints and stops at the deadline.

    `predict()` returns the validation probabilities of the current model. The order of callbacks
    does not matter. Where training diverges, the phase ends with the best weights so far, or with
    a `DivergedError` if there are none.
    """

    def __init__(
        self,
        phase: Phase,
        training: Training,
        labels: np.ndarray,
        predict: Callable[[], np.ndarray],
    ) -> None:
        super().__init__()
        self.phase, self.training, self.labels, self.predict = phase, training, labels, predict
        self.best_f1, self.stopped = -1.0, ""
        self.begin = 0  # the first step of the phase in this process
        # Means over the steps that an earlier process took of the epoch.
        self._partial: Mapping[str, float] = {}
        self._best: list[np.ndarray] = []
        self._progress = Progress(LOG_EVERY)
        self._deadline = cluster.broadcast_scalar(training.deadline)
        self._saved, self._saving = _now(), 0.0  # when, and how many seconds it took

    def resume(self, model: keras.Model) -> None:
        """Restore the run's checkpoint, if there is one for this phase."""
        saved = self.training.checkpoints
        if saved and saved.newest.phase == self.phase.name:
            self._best = checkpoints.restore(model, saved.newest.arrays)
            self.begin, self.best_f1 = saved.newest.step, saved.newest.best_f1
            self._partial = saved.newest.partial

    def stretches(self) -> Iterator[tuple[int, int, int]]:
        """(first step, last epoch, steps per epoch) of each call of `fit` in the phase.

        A resumed run first completes the interrupted epoch.
        """
        step, steps = self.begin, self.phase.steps
        if step % steps:
            end = step // steps + 1
            yield step, end, steps - step % steps
            step = end * steps
        if step < self.phase.epochs * steps and not self.stopped:  # in the stretch before
            yield step, self.phase.epochs, steps

    def on_epoch_begin(self, epoch: int, logs: Logs | None = None) -> None:
        self._epoch, self._epoch_begun, self._done = epoch, _now(), 0
        self._before = max(self.begin - epoch * self.phase.steps, 0)  # by an earlier process

    def on_train_batch_end(self, batch: int, logs: Logs) -> None:
        self._done = batch + 1
        step, last = self._before + self._done, self.phase.steps
        if self._done % (AGREE_EVERY if cluster.here().count > 1 else 1) and step < last:
            return
        now = _now()
        late = now > self._deadline
        if late:
            self.stopped, self.model.stop_training = OUT_OF_TIME, True
        if step < last and (late or now - self._saved > SAVE_EVERY):
            self._save(step, self._means(logs))
        done, images = self._epoch * last + step, self.phase.batch_size
        if done < (steps := self.phase.epochs * last):
            self._progress(f"{self.phase.name}: {self.phase.reads}", done * images, steps * images)

    def on_epoch_end(self, epoch: int, logs: Logs) -> None:
        trained = _now() - self._epoch_begun
        probabilities = self.predict()
        # The loss does not show it: under mixed_float16 a step whose loss overflows is skipped.
        if not np.isfinite(probabilities).all():
            if self.best_f1 < 0:
                raise DivergedError(
                    f"{self.phase.name}: {DIVERGED} in epoch {epoch + 1}: set a lower "
                    "learning_rate, or dtype=float32"
                )
            self.stopped, self.model.stop_training = DIVERGED, True  # the best weights remain
            return
        scores = Scores.of(self.labels, probabilities)
        rate = self.model.optimizer.learning_rate  # of several replicas it has no __array__
        speed = self._done * self.phase.batch_size / max(trained, 1e-9)
        row = self.training.add_epoch(
            {"phase": self.phase.name, "epoch": epoch + 1, **self._means(logs)},
            scores,
            learning_rate=float(rate.numpy() if hasattr(rate, "numpy") else rate),
            seconds=_now() - self._epoch_begun,
            images_per_second=speed if self.phase.reads == "images" else None,
        )
        if scores.macro_f1 > self.best_f1:
            self.best_f1, self._best = scores.macro_f1, self.model.get_weights()
        self._print(row, speed)
        self._partial = {}
        if self._before + self._done < self.phase.steps:
            return  # the epoch was interrupted: its checkpoint was saved at that step
        last = epoch + 1 == self.phase.epochs or self.model.stop_training
        if last or _now() - self._saved > self._saving / SAVING_SHARE:
            self._save(self.phase.steps, {})

    def finish(self, model: keras.Model) -> None:
        """Give the model the weights of its best epoch."""
        if self._best:
            model.set_weights(self._best)
        if self.stopped:
            self._progress.stay(f"  {self.phase.name}: stopped early ({self.stopped})")

    def _print(self, row: Row, speed: float) -> None:
        done, epochs = row["epoch"], self.phase.epochs
        if epochs > 20 and done % 5 and done != epochs and row["seconds"] < 1:
            return  # if there are many short epochs, every fifth gets a line
        left = self._progress.time_left(done * self.phase.steps * self.phase.batch_size)
        self._progress.stay(
            f"  {self.phase.name} {done}/{epochs}  loss {row['loss']:.3f}  "
            f"val loss {row['val_loss']:.3f}  macro F1 {row['val_macro_f1']:.4f}  "
            f"{speed:,.0f} {self.phase.reads}/s{left}"
        )

    def _means(self, logs: Logs) -> dict[str, float]:
        """Loss and accuracy over the epoch so far, including an earlier process's part of it."""
        means = {}
        for name in ("loss", "accuracy"):
            total = float(logs[name]) * self._done + self._partial.get(name, 0.0) * self._before
            means[name] = total / (self._before + self._done)
        return means

    def _save(self, step: int, partial: dict[str, float]) -> None:
        if self.training.checkpoints is None:
            return
        begun = _now()
        self.training.checkpoints.save(
            self.phase.name,
            self._epoch * self.phase.steps + step,
            [*checkpoints.capture(self.model), *self._best],
            history=self.training.history,
            best_f1=self.best_f1,
            partial=partial,
        )
        self._saved = _now()
        self._saving = self._saved - begun


@contextmanager
def naming_causes(split: Split) -> Iterator[None]:
    """Name the damaged file or the lost host behind an error of training on a split.

    Raises `DataError` or `HostsError` instead of TensorFlow's or JAX's error.
    """
    with cluster.naming_lost_hosts(), pipeline.naming_damaged_files(split):
        yield


def _now() -> float:
    """`time.monotonic()` of host 0, on all hosts, so that they save and stop at the same step."""
    return cluster.broadcast_scalar(time.monotonic())
