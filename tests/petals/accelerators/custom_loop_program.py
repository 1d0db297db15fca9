"""What test_custom_loop.py runs once on each Keras: the same training by `fit` and by hand.

    python custom_loop_program.py DATASET OUT

Leaves the losses of both, and of a training by hand that was cut off and went on, in
OUT/result.json.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from functools import partial
from pathlib import Path

from petals.accelerators.detect import detect

sys.path.append(str(Path(__file__).parents[2]))  # of tuning

BATCH, CLASSES, SIZE, STEPS, EPOCHS = 16, 3, 32, 12, 2


def keep_iterators() -> None:
    """Make those of several devices outlive the training.

    Each end of one may wait for tf.data's thread that tunes it, seconds for each device and more
    on a machine that is busy with tests, after `fit` as after a loop by hand.
    """
    from tensorflow.python.data.ops import multi_device_iterator_ops

    made, kind = [], multi_device_iterator_ops.OwnedMultiDeviceIterator
    begin = kind.__init__

    def kept(self, *arguments, **named) -> None:
        begin(self, *arguments, **named)
        made.append(self)

    kind.__init__ = kept
    kind.kept = made


def main(dataset: str, out: str) -> None:
    device = detect()

    import numpy as np
    import tensorflow as tf
    from tensorflow import keras
    from tuning import fine_tune

    from petals.augment.augmentation import augmentation
    from petals.data import pipeline
    from petals.data.shards import Split
    from petals.models import backbones
    from petals.models.build import Classifier, build, set_trainable
    from petals.training import callbacks, custom_loop
    from petals.training.callbacks import Phase, Training
    from petals.training.checkpoints import Checkpoints, capture
    from petals.training.optimization import compile_model, learning_rates, set_seed

    keep_iterators()
    callbacks.SAVE_EVERY = callbacks.LOG_EVERY = 0.0
    backbones._WIDTHS = (4, 8)  # what is tested does not depend on it, and compiles in no time
    train, val = (Split.find(dataset, SIZE, part) for part in ("train", "val"))
    labels, _ = val.labels_and_ids()
    rates = learning_rates("cosine", EPOCHS, STEPS, learning_rate=2e-3)

    def classifier() -> Classifier:
        set_seed(1)
        with device.scope():
            made = build("SmallNet", SIZE, CLASSES, weights="none", dropout=0.0)
        set_trainable(made, "all", freeze_batch_norm=False)
        return made

    def batches(step: int) -> tf.data.Dataset:
        return pipeline.Batches(
            train,
            BATCH,
            CLASSES,
            augment=augmentation("flip"),
            on_device=False,
            seed=3,
            deterministic=True,
        ).dataset(step)

    class CutOffError(Exception):
        pass

    class Watch(keras.callbacks.Callback):
        """The loss of each step, from the means over the epoch so far; what is there at the ends.

        Cuts the training off in the epoch after the last.
        """

        def __init__(self) -> None:
            super().__init__()
            self.found = {"steps": [], "epochs": [], "states": [], "iterations": []}

        def on_epoch_begin(self, epoch: int, logs: dict | None = None) -> None:
            self.before, self.epoch = 0.0, epoch

        def on_train_batch_end(self, batch: int, logs: dict) -> None:
            if self.epoch == EPOCHS:
                raise CutOffError
            total = float(logs["loss"]) * (batch + 1)
            self.found["steps"].append(total - self.before)
            self.before = total
            if batch == 2:  # what a checkpoint in mid-epoch would keep
                arrays = capture(self.model)
                self.found["states"].append([float(np.abs(array).sum()) for array in arrays])

        def on_epoch_end(self, epoch: int, logs: dict) -> None:
            self.found["epochs"].append({name: float(value) for name, value in logs.items()})
            self.found["iterations"].append(int(self.model.optimizer.iterations.numpy()))
            self.found["weights"] = [float(np.abs(w).sum()) for w in self.model.get_weights()]

    def trained(by_hand: bool) -> dict:
        model = classifier().model
        compile_model(model, rates, weight_decay=1e-2, label_smoothing=0.1)
        watch = Watch()
        fit = partial(custom_loop.fit, model) if by_hand else partial(model.fit, verbose=0)
        with contextlib.suppress(CutOffError):
            fit(
                batches(0),
                initial_epoch=0,
                epochs=EPOCHS + 1,
                steps_per_epoch=STEPS,
                callbacks=[watch],
            )
        left = [float(np.abs(w).sum()) for w in model.get_weights()]
        return {**watch.found, "left": left}

    def tuned(folder: Path, until: str = "the end") -> list[dict]:
        """Fine-tuned by hand, a checkpoint after each step; is cut off when it says `until`."""
        kept = Checkpoints(folder, {"a": 1}, say=lambda line: None)

        def say(line: str) -> None:
            if until in line:
                raise CutOffError

        phase = Phase("fine-tune", EPOCHS, STEPS, BATCH)
        training = Training(kept.history, checkpoints=kept, say=say)
        fine_tune(classifier(), batches, (train, val), labels, rates, phase, training, by_hand=True)
        return training.history

    out = Path(out)
    with contextlib.suppress(CutOffError):
        tuned(out / "cut", until="2/2: step 5 of 12")
    result = {
        "device": device.as_dict(),
        "fit": trained(False),
        "by_hand": trained(True),
        "alone": tuned(out / "alone"),
        "found": Checkpoints(out / "cut", {"a": 1}).newest.step,
        "cut": tuned(out / "cut"),
    }
    (out / "result.json").write_text(json.dumps(result))


if __name__ == "__main__":
    main(*sys.argv[1:])
    os._exit(0)  # without waiting for the iterators
