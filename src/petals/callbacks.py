"""What happens around an epoch: scoring on the validation split, keeping the best, progress."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from tensorflow import keras

from petals.evaluation import Scores


class Epochs(keras.callbacks.Callback):
    """Scores each epoch, keeps the best weights, stops early or in time, and tells.

    `predict()` returns the validation probabilities of the model as it stands. The rows of
    `history` are what `history.csv` holds: phase, epoch, loss, accuracy, val_loss,
    val_accuracy, val_macro_f1, learning_rate, seconds, images_per_second.

    The order of callbacks does not matter; the same object serves `fit` and the custom loop.
    """

    def __init__(
        self,
        phase: str,
        predict: Callable[[], np.ndarray],
        labels: np.ndarray,
        *,
        images_per_epoch: int,
        epochs: int,
        patience: int = 0,
        deadline: float | None = None,
        say: Callable[[str], None] = print,
        every: float = 15.0,
    ) -> None:
        """`patience`: epochs without a better macro F1 before stopping, 0 = never;
        `deadline`: a `time.monotonic()` after which no further step is begun; `every`: seconds
        between lines within a long epoch."""
        super().__init__()
        self.phase, self.predict, self.labels = phase, predict, labels
        self.images_per_epoch, self.epochs = images_per_epoch, epochs
        self.patience, self.deadline, self.say, self.every = patience, deadline, say, every
        self.history: list[dict[str, Any]] = []
        self.best_epoch, self.best_f1 = 0, -1.0
        self.stopped = ""
        self._best: list[np.ndarray] = []

    def on_train_begin(self, logs: dict | None = None) -> None:
        self._begun = time.monotonic()

    def on_epoch_begin(self, epoch: int, logs: dict | None = None) -> None:
        self._epoch, self._epoch_begun = epoch, time.monotonic()
        self._told = self._epoch_begun

    def on_train_batch_end(self, batch: int, logs: dict | None = None) -> None:
        now = time.monotonic()
        if self.deadline is not None and now > self.deadline:
            self.stopped = "time limit"
            self.model.stop_training = True
        if now - self._told > self.every:
            self._told = now
            steps = self.params.get("steps") or 0
            self.say(f"  {self.phase} {self._epoch + 1}/{self.epochs}: step {batch + 1} of {steps}")

    def on_epoch_end(self, epoch: int, logs: dict | None = None) -> None:
        trained = time.monotonic() - self._epoch_begun
        scores = Scores.of(self.labels, self.predict())
        logs = logs or {}
        row = {
            "phase": self.phase,
            "epoch": epoch + 1,
            "loss": float(logs.get("loss", float("nan"))),
            "accuracy": float(logs.get("accuracy", float("nan"))),
            "val_loss": scores.loss,
            "val_accuracy": scores.accuracy,
            "val_macro_f1": scores.macro_f1,
            "learning_rate": _current_rate(self.model.optimizer),
            "seconds": time.monotonic() - self._epoch_begun,
            "images_per_second": self.images_per_epoch / max(trained, 1e-9),
        }
        self.history.append(row)
        if scores.macro_f1 > self.best_f1:
            self.best_f1, self.best_epoch = scores.macro_f1, epoch
            self._best = self.model.get_weights()
        elif self.patience and epoch - self.best_epoch >= self.patience:
            self.stopped = f"no better macro F1 for {self.patience} epochs"
            self.model.stop_training = True
        self._tell(row)

    def on_train_end(self, logs: dict | None = None) -> None:
        if self._best:
            self.model.set_weights(self._best)
        if self.stopped:
            self.say(f"  {self.phase}: stopped early ({self.stopped})")

    def _tell(self, row: dict[str, Any]) -> None:
        done = row["epoch"]
        if self.epochs > 20 and done % 5 and done != self.epochs and row["seconds"] < 1:
            return  # short epochs by the dozen: every fifth line says enough
        left = (time.monotonic() - self._begun) / done * (self.epochs - done)
        self.say(
            f"  {self.phase} {done}/{self.epochs}  loss {row['loss']:.3f}  "
            f"val loss {row['val_loss']:.3f}  macro F1 {row['val_macro_f1']:.4f}  "
            f"{row['images_per_second']:,.0f} images/s  "
            f"{int(left // 60)}:{int(left % 60):02d} left"
        )


def _current_rate(optimizer: keras.optimizers.Optimizer) -> float:
    rate = optimizer.learning_rate
    return float(np.asarray(rate(optimizer.iterations) if callable(rate) else rate))
