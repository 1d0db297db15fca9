"""The work around the steps of an epoch: scores, the best weights, checkpoints, the deadline.

`Phase` describes a phase, `Training` has what the phases of a run share. `Epochs` is the callback
that Keras's `fit` calls, and `without_waiting` spares it waiting for the device.
"""

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from tensorflow import keras

from petals.accelerators import cluster, compilation, keras_backend
from petals.data import damage
from petals.data.shards import Split
from petals.errors import DivergedError
from petals.evaluation.metrics import Scores
from petals.progress import Progress
from petals.training import checkpoints
from petals.training.checkpoints import Checkpoints
from petals.training.optimization import CROSS_ENTROPY

Row = dict[str, Any]  # of history.csv
Logs = Mapping[str, Any]  # what Keras knows at the end of a batch or an epoch
OUT_OF_TIME = "time limit"
DIVERGED = "training diverged"
SAVE_EVERY = 300.0  # seconds between checkpoints within an epoch
SAVING_SHARE = 0.05  # the largest share of time for checkpoints at the ends of epochs
LOG_EVERY = 15.0  # seconds between lines within an epoch, in a log
AGREE_EVERY = 16  # steps between readings of the clock, which several hosts must synchronise
AHEAD = 16  # steps that may have begun on a device that has not finished them
SHORT_WAIT = 0.5  # seconds: so long `fit` may wait for half of those steps at once
DIVERGING = 10.0  # a training loss of so many times that of a guess
# Or of so many nats. Keras's loss ends at 16.1, where it clips probabilities at 1e-7, on JAX for
# every model: with more than four classes, that is less than ten times the loss of a guess.
MOST = 12.0


@dataclass(frozen=True)
class Training:
    """What the phases of a run share: its history, its checkpoints and its deadline.

    `history` holds the rows of `history.csv`; `record` gets all of them after each epoch.
    `deadline`: a `time.monotonic()` after which at most one further step begins, or as many as the
    device takes in one call.
    """

    history: list[Row] = field(default_factory=list)
    record: Callable[[list[Row]], None] = lambda rows: None
    checkpoints: Checkpoints | None = None
    deadline: float = math.inf

    def add_epoch(self, before: Mapping[str, Any], val: Scores, **after: Any) -> Row:
        """Append a row to the history, record it and return it.

        Its columns: phase, epoch, loss, accuracy (`before`), the scores of the validation split,
        learning_rate, seconds, images_per_second (`after`), None where no images were read. The row
        may hold more, such as `compile_seconds`. Both losses are cross-entropies in nats, without
        label smoothing.
        """
        scores = {f"val_{name}": getattr(val, name) for name in ("loss", "accuracy", "macro_f1")}
        self.history.append({**before, **scores, **after})
        self.record(self.history)
        return self.history[-1]


@dataclass(frozen=True)
class Phase:
    """A phase of training: its epochs, the steps of an epoch, and the images of a step.

    `reads`: what a batch consists of, images or their stored features; `remedy`: what to change if
    the phase diverges.
    """

    name: str
    epochs: int
    steps: int
    batch_size: int
    reads: str = "images"
    remedy: str = "set a lower learning_rate, or dtype=float32"


class Epochs(keras.callbacks.Callback):
    """Scores each epoch, keeps the best weights, saves checkpoints and stops at the deadline.

    `predict()` returns the validation probabilities of the current model, from as many views of the
    photos as the submission: what selects an epoch is what the run reports. `select`: whether the
    phase ends with the weights of its best epoch by validation macro F1, the later one of equals,
    or with those of the last. The model that `resume` finds at the start of the phase is epoch 0
    of that choice. The order of callbacks does not matter. Where training diverges, the phase ends
    with the best weights so far, or with a `DivergedError` if nothing was trained before.

    On JAX the device works through its steps while the host begins further ones. So whatever reads
    the state of training (the clock, a checkpoint) comes before a step begins, in the thread of
    `fit`. `on_train_batch_end` only counts the steps that are finished and shows them. Keras calls
    it in threads of its own, as their results arrive; a list of `without_waiting`, which takes less
    time, in the thread of `fit`.
    """

    async_safe = True  # or Keras would wait for the device after each step, to read the loss

    def __init__(
        self,
        phase: Phase,
        training: Training,
        labels: np.ndarray,
        predict: Callable[[], np.ndarray],
        *,
        select: bool = True,
    ) -> None:
        super().__init__()
        self.phase = phase
        self.training = training
        self.labels = labels
        self.predict = predict
        self.select = select
        self.best_f1 = -1.0
        self.best_epoch = 0
        self.stopped = ""
        self.begin = 0  # the first step of the phase in this process
        # Means over the steps that an earlier process took of the epoch.
        self._partial: Mapping[str, float] = {}
        self._best: list[np.ndarray] = []
        self._progress = Progress(LOG_EVERY)
        self._deadline = cluster.broadcast_scalar(training.deadline)
        self._saved = _now()  # when a checkpoint was last saved
        self._saving = 0.0  # the seconds that this took
        self._done = 0  # steps of the epoch that the device has finished
        self._counting = threading.Lock()

    def resume(self, model: keras.Model) -> None:
        """Restore the run's checkpoint of this phase, or score the model that it begins with.

        Raises `DivergedError` if that model's probabilities are not finite numbers.
        """
        saved = self.training.checkpoints
        if saved and saved.newest.phase == self.phase.name:
            self._best = checkpoints.restore(model, saved.newest.arrays)
            self.begin = saved.newest.step
            self.best_f1 = saved.newest.best_f1
            self.best_epoch = saved.newest.best_epoch
            self._partial = saved.newest.partial
        elif self.select:
            probabilities = self.predict()
            if not np.isfinite(probabilities).all():
                raise DivergedError(
                    f"{self.phase.name}: the model's probabilities are not finite numbers before "
                    "the first epoch: set dtype=float32, or start from other weights"
                )
            self.best_f1 = Scores.of(self.labels, probabilities).macro_f1
            self._best = model.get_weights()
            self._progress.stay(
                f"  {self.phase.name}: macro F1 {self.best_f1:.4f} before its first epoch"
            )

    def stretches(self) -> Iterator[tuple[int, int, int]]:
        """(first step, last epoch, steps per epoch) of each call of `fit` in the phase.

        A resumed run first completes the interrupted epoch.
        """
        step = self.begin
        steps = self.phase.steps
        if step % steps:
            end = step // steps + 1
            yield step, end, steps - step % steps
            step = end * steps
        if step < self.phase.epochs * steps and not self.stopped:  # in the stretch before
            yield step, self.phase.epochs, steps

    def on_epoch_begin(self, epoch: int, logs: Logs | None = None) -> None:
        self._epoch = epoch
        self._epoch_begun = _now()
        self._done = 0
        self._compiling = compilation.seconds()
        self._before = max(self.begin - epoch * self.phase.steps, 0)  # by an earlier process

    def on_train_batch_begin(self, batch: int, logs: Logs | None = None) -> None:
        """Save or stop, if it is time; `batch` steps of the epoch have begun before this one."""
        if cluster.here().count > 1 and not _hosts_agree_before(batch):
            return
        now = _now()
        if now > self._deadline:  # Keras takes this one step, and stops after it
            self.stopped = OUT_OF_TIME
            self.model.stop_training = True
        elif batch and now - self._saved > SAVE_EVERY:
            self._save(self._before + batch, self._means(self._metrics(), batch))

    def on_train_batch_end(self, batch: int, logs: Logs | None = None) -> None:
        with self._counting:
            if batch < self._done:
                return  # a later step was told first, by another thread
            self._done = batch + 1
            images = self.phase.batch_size
            steps = self.phase.epochs * self.phase.steps
            done = self._epoch * self.phase.steps + self._before + self._done
            if done < steps:
                what = f"{self.phase.name}: {self.phase.reads}"
                self._progress(what, done * images, steps * images)

    def on_epoch_end(self, epoch: int, logs: Logs) -> None:
        trained = _now() - self._epoch_begun
        means = self._means(logs, self._done)
        step = self._before + self._done
        complete = step >= self.phase.steps
        if not complete:
            self._save(step, means)
        probabilities = self.predict()
        # The loss does not show it: under mixed_float16 a step whose loss overflows is skipped.
        if not np.isfinite(probabilities).all():
            self._diverge(epoch)
            return
        scores = Scores.of(self.labels, probabilities)
        rate = self.model.optimizer.learning_rate  # of several replicas it has no __array__
        speed = self._done * self.phase.batch_size / max(trained, 1e-9)
        row = self.training.add_epoch(
            {
                "phase": self.phase.name,
                "epoch": epoch + 1,
                "loss": means[CROSS_ENTROPY],
                "accuracy": means["accuracy"],
            },
            scores,
            learning_rate=float(rate.numpy() if hasattr(rate, "numpy") else rate),
            seconds=_now() - self._epoch_begun,
            images_per_second=speed if self.phase.reads == "images" else None,
            compile_seconds=compilation.seconds() - self._compiling,
        )
        self._print(row, speed)
        if _is_diverging(means["loss"], scores.loss, classes=probabilities.shape[1]):
            self._diverge(epoch)
            return
        if self.select and scores.macro_f1 >= self.best_f1:
            self.best_f1 = scores.macro_f1
            self.best_epoch = epoch + 1
            self._best = self.model.get_weights()
        self._partial = {}
        if not complete:
            return
        if epoch + 1 < self.phase.epochs and _now() > self._deadline:
            self.stopped = OUT_OF_TIME
            self.model.stop_training = True
        last = epoch + 1 == self.phase.epochs or self.model.stop_training
        if last or _now() - self._saved > self._saving / SAVING_SHARE:
            self._save(self.phase.steps, {})

    def finish(self, model: keras.Model) -> list[str]:
        """Give the model the weights of its best epoch; returns warnings for the run's report.

        There is one if training diverged, and one if no epoch was better than the start.
        """
        if self._best:
            model.set_weights(self._best)
        if self.stopped:
            self._progress.stay(f"  {self.phase.name}: stopped early ({self.stopped})")
        warnings = []
        if self.stopped == DIVERGED:
            warnings.append(
                f"{self.phase.name} diverged and ended with its best weights: {self.phase.remedy}"
            )
        if self._best and not self.best_epoch:
            warnings.append(
                f"No epoch of {self.phase.name} was better than the model that it began with "
                f"(macro F1 {self.best_f1:.4f} on the validation photos): the run keeps that "
                "model, the head on the backbone as it was, and predicts with it."
            )
        for warning in warnings:
            self._progress.stay(f"  {warning}")
        return warnings

    def _diverge(self, epoch: int) -> None:
        """End the phase with its best weights; raises `DivergedError` where none were trained."""
        head = any(row["phase"] != self.phase.name for row in self.training.history)
        if not self.best_epoch and not (head and self.best_f1 >= 0):
            raise DivergedError(
                f"{self.phase.name}: {DIVERGED} in epoch {epoch + 1}: {self.phase.remedy}"
            )
        self.stopped = DIVERGED
        self.model.stop_training = True

    def _print(self, row: Row, speed: float) -> None:
        done = row["epoch"]
        epochs = self.phase.epochs
        if epochs > 20 and done % 5 and done != epochs and row["seconds"] < 1:
            return  # if there are many short epochs, every fifth gets a line
        left = self._progress.time_left(done * self.phase.steps * self.phase.batch_size)
        compiled = ""
        if row["compile_seconds"] >= 1:
            compiled = f"  {row['compile_seconds']:.0f} of {row['seconds']:.0f} s compiling"
        self._progress.stay(
            f"  {self.phase.name} {done}/{epochs}  loss {row['loss']:.3f}  "
            f"val loss {row['val_loss']:.3f}  macro F1 {row['val_macro_f1']:.4f}  "
            f"{speed:,.0f} {self.phase.reads}/s{compiled}{left}"
        )

    def _metrics(self) -> dict[str, Any]:
        """The means over this process's steps of the epoch; waits for the device."""
        if hasattr(self.model, "jax_state_sync"):
            self.model.jax_state_sync()  # on JAX, `fit` keeps the state outside the model
        return self.model.get_metrics_result()

    def _means(self, logs: Logs, done: int) -> dict[str, float]:
        """The metrics over the epoch so far, including an earlier process's part of it.

        `loss` is what the optimizer minimises, with label smoothing.
        """
        means = {}
        for name in ("loss", CROSS_ENTROPY, "accuracy"):
            total = float(logs[name]) * done + self._partial.get(name, 0.0) * self._before
            means[name] = total / (self._before + done)
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
            best_epoch=self.best_epoch,
            partial=partial,
        )
        self._saved = _now()
        self._saving = self._saved - begun


def without_waiting(callbacks: list[Any], model: keras.Model) -> Any:
    """What `fit` of this model takes as `callbacks`, so that it need not wait for the device.

    On JAX this is a `StepsAhead`, elsewhere the list itself.
    """
    return StepsAhead(callbacks, model) if keras_backend.is_jax() else callbacks


class StepsAhead(keras.callbacks.CallbackList):
    """Callbacks of a `fit` on JAX, which begins steps before the device has finished earlier ones.

    Keras's own list waits for each step, or hands it to a thread that waits: for a step of a few
    milliseconds that is several per cent of its time (`tools/benchmark.py steps`). This list calls
    `on_train_batch_end` in the thread of `fit`, in the order of the steps, when a step is finished:
    after another one has begun, at the latest at the end of the epoch. Its `logs` are the device's
    own arrays, float32 (). About `AHEAD` steps are unfinished at most. Where one call takes several
    steps of the model, it is told of the last of them.
    """

    def __init__(self, callbacks: list[Any], model: keras.Model) -> None:
        super().__init__(callbacks, add_history=True, model=model)
        self._most = max(2, AHEAD // model.steps_per_execution)  # calls that are unfinished
        self._unfinished: deque[tuple[int, Logs]] = deque()
        self._awaited = 1  # how many calls to wait for, where there are too many

    def on_epoch_begin(self, epoch: int, logs: Logs | None = None) -> None:
        self._unfinished.clear()  # those of a `fit` that was interrupted
        super().on_epoch_begin(epoch, logs)

    def on_train_batch_begin(self, batch: int, logs: Logs | None = None) -> None:
        # What the hosts ask each other waits for the steps that they have begun, in any case.
        if cluster.here().count > 1 and _hosts_agree_before(batch):
            self._tell(len(self._unfinished))
        super().on_train_batch_begin(batch, logs)

    def on_train_batch_end(self, batch: int, logs: Logs | None = None) -> None:
        self._unfinished.append((batch, logs or {}))
        if len(self._unfinished) < self._most:
            self._tell(self._finished())
            return
        begun = time.monotonic()
        self._tell(self._awaited)
        # Each wake of this thread costs as well, so that of short steps half are waited for.
        short = time.monotonic() - begun < SHORT_WAIT
        self._awaited = self._most // 2 if short else 1

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        self._tell(len(self._unfinished))
        super().on_epoch_end(epoch, logs)

    def _finished(self) -> int:
        """How many of the steps the device has finished."""
        finished = 0
        for _, logs in self._unfinished:
            if not all(value.is_ready() for value in logs.values()):
                break
            finished += 1
        return finished

    def _tell(self, steps: int) -> None:
        """Tell the callbacks of the first `steps` steps, once the device has finished them."""
        import jax

        if steps:
            _, logs = self._unfinished[steps - 1]
            jax.block_until_ready(logs)
        for _ in range(steps):
            batch, logs = self._unfinished.popleft()
            for callback in self.callbacks:
                callback.on_train_batch_end(batch, logs)


def _hosts_agree_before(batch: int) -> bool:
    """Whether several hosts read the clock together before this step of an epoch."""
    return batch % AGREE_EVERY == 0


def _is_diverging(loss: float, val_loss: float, classes: int) -> bool:
    """Whether an epoch's losses are those of a training that has diverged, though finite.

    Both must be: the loss of a single step that mixed_float16 skipped would spoil the mean of the
    training, and the first epochs of an untrained network may validate worse than a guess.
    """
    guess = math.log(max(classes, 2))  # the loss of equal probabilities
    return loss > min(DIVERGING * guess, MOST) and val_loss > guess


@contextmanager
def naming_causes(split: Split) -> Iterator[None]:
    """Name the damaged file or the lost host behind an error of training on a split.

    Raises `DataError` or `HostsError` instead of TensorFlow's or JAX's error.
    """
    with cluster.naming_lost_hosts(), damage.naming_damaged_files(split):
        yield


def _now() -> float:
    """`time.monotonic()` of host 0, on all hosts, so that they save and stop at the same step."""
    return cluster.broadcast_scalar(time.monotonic())
