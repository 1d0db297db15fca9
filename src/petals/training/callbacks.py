"""The work around the steps of an epoch: scores, the best weights, checkpoints, the deadline.

`Phase` describes a phase, `Training` has what the phases of a run share. `Epochs` is the callback
that Keras's `fit` calls; `_Lines` prints its progress.
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
from petals.evaluation.metrics import Scores
from petals.progress import ProgressLine, time_left
from petals.training import checkpoints
from petals.training.checkpoints import Checkpoints

OUT_OF_TIME = "time limit"
SAVE_EVERY = 300.0  # seconds between checkpoints within an epoch
SAVING_SHARE = 0.05  # the largest share of time for checkpoints at the ends of epochs
LOG_EVERY = 15.0  # seconds between lines within an epoch, in a log
AGREE_EVERY = 16  # steps between readings of the clock, which several hosts must synchronise


@dataclass(frozen=True)
class Training:
    """What the phases of a run share: its history, its checkpoints and its deadline.

    `history` holds the rows of `history.csv`; `record` gets all of them after each epoch.
    `deadline`: a `time.monotonic()` after which no further step begins. `say` gets every line;
    without it they are printed, and if a person watches, a line within an epoch overwrites the
    previous one.
    """

    history: list[dict[str, Any]] = field(default_factory=list)
    record: Callable[[list[dict[str, Any]]], None] = lambda rows: None
    checkpoints: Checkpoints | None = None
    deadline: float | None = None
    say: Callable[[str], None] | None = None

    def add_epoch(self, before: Mapping[str, Any], val: Scores, **after: Any) -> dict[str, Any]:
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
    does not matter.
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
        self._partial: Mapping[
            str, float
        ] = {}  # means over the steps of an earlier process's epoch
        self._best: list[np.ndarray] = []
        self._lines = _Lines(phase, training.say)
        end = training.deadline
        self._deadline = math.inf if end is None else cluster.broadcast_scalar(end)
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

    def on_epoch_begin(self, epoch: int, logs: dict | None = None) -> None:
        self._epoch, self._epoch_begun, self._done = epoch, _now(), 0
        self._before = max(self.begin - epoch * self.phase.steps, 0)  # by an earlier process

    def on_train_batch_end(self, batch: int, logs: dict | None = None) -> None:
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
        self._lines.step(self._epoch, step, now)

    def on_epoch_end(self, epoch: int, logs: dict | None = None) -> None:
        trained = _now() - self._epoch_begun
        scores = Scores.of(self.labels, self.predict())
        rate = self.model.optimizer.learning_rate
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
        self._lines.end(row, speed)
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
            self._lines.stay(f"  {self.phase.name}: stopped early ({self.stopped})")

    def _means(self, logs: Mapping[str, Any] | None) -> dict[str, float]:
        """Loss and accuracy over the epoch so far, including an earlier process's part of it."""
        means = {}
        for name in ("loss", "accuracy"):
            own = float((logs or {}).get(name, math.nan))
            earlier = self._partial.get(name, 0.0)
            total = own * self._done + earlier * self._before
            means[name] = total / max(self._before + self._done, 1)
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


class _Lines:
    """The lines that a phase prints: one for each epoch, and a live line within it."""

    def __init__(self, phase: Phase, say: Callable[[str], None] | None) -> None:
        line = ProgressLine()
        self.phase, self.stay, self._move = phase, say or line.stay, say or line.move
        self._every = 0.5 if line.in_place else LOG_EVERY
        self._printed, self._first_step = _now(), 0

    def step(self, epoch: int, step: int, now: float) -> None:
        """Print the remaining time of the phase, if a line is due."""
        steps = self.phase.steps
        if not self._first_step:  # what came before it includes compiling
            self._first_step, self._first_ended = epoch * steps + step, now
        if now - self._printed > self._every and step < steps:
            self._printed = now
            left = self._left(epoch * steps + step)
            self._move(
                f"  {self.phase.name} {epoch + 1}/{self.phase.epochs}: step {step} of {steps}{left}"
            )

    def end(self, row: Mapping[str, Any], speed: float) -> None:
        """Print an epoch's scores."""
        done, epochs = row["epoch"], self.phase.epochs
        if epochs > 20 and done % 5 and done != epochs and row["seconds"] < 1:
            return  # if there are many short epochs, every fifth gets a line
        self._printed = _now()
        self.stay(
            f"  {self.phase.name} {done}/{epochs}  loss {row['loss']:.3f}  "
            f"val loss {row['val_loss']:.3f}  macro F1 {row['val_macro_f1']:.4f}  "
            f"{speed:,.0f} {self.phase.reads}/s{self._left(done * self.phase.steps)}"
        )

    def _left(self, step: int) -> str:
        """The remaining time, by the pace since the first step, which includes the scoring."""
        done, remaining = step - self._first_step, self.phase.epochs * self.phase.steps - step
        return f"  {time_left((_now() - self._first_ended) / done * remaining)}" if done else ""


@contextmanager
def naming_causes(split: Split, classes: int) -> Iterator[None]:
    """Name the damaged file or the lost host behind an error of training on a split.

    Raises `DataError` or `HostsError` instead of TensorFlow's or JAX's error.
    """
    with cluster.naming_lost_hosts(), pipeline.naming_damaged_files(split, classes):
        yield


def _now() -> float:
    """`time.monotonic()` of host 0, on all hosts, so that they save and stop at the same step."""
    return cluster.broadcast_scalar(time.monotonic())
