"""What the tests of one code on three Kerases run, once in each: trains, and says what came out.

    python runtime_program.py DATASET OUT MODEL [REFERENCE]

REFERENCE is what OUT was for the runtime that the others are compared with: they start from its
start.h5 and look at the validation images with its trained.h5.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from petals.accelerators.detect import detect

sys.path.append(str(Path(__file__).parents[2]))  # of tuning

BATCH, CLASSES, SIZE = 16, 3, 32
WIDTHS = (4, 8)  # SmallNet's: what is tested does not depend on them, and compiles in no time


def keep_iterators() -> None:
    """Let the iterators of several devices outlive the training.

    Ending one may wait seconds for tf.data's tuning thread, for each device.
    """
    from tensorflow.python.data.ops import multi_device_iterator_ops

    kept, kind = [], multi_device_iterator_ops.OwnedMultiDeviceIterator
    begin = kind.__init__

    def keep(self, *arguments, **named) -> None:
        begin(self, *arguments, **named)
        kept.append(self)

    kind.__init__, kind.kept = keep, kept


def main(dataset: str, out: str, name: str, reference: str = "") -> None:
    device = detect()

    import numpy as np
    from tensorflow import keras
    from tuning import fine_tune

    from petals.augment.augmentation import augmentation
    from petals.augment.layer import augmenting, in_step
    from petals.data import pipeline
    from petals.data.shards import Split
    from petals.evaluation.prediction import predict
    from petals.models import backbones, saved
    from petals.models.build import Classifier, build, set_trainable
    from petals.training import head as heads
    from petals.training.callbacks import Training
    from petals.training.features import FeatureExtractor, apply_head
    from petals.training.head import train_head
    from petals.training.optimization import set_seed

    keep_iterators()
    backbones._WIDTHS = WIDTHS
    train, val = (Split.find(dataset, SIZE, part) for part in ("train", "val"))
    set_seed(1)
    result = {"device": device.as_dict()}

    def classifier(dropout: float = 0.0) -> Classifier:
        with device.scope():
            return build(name, SIZE, CLASSES, weights="none", dropout=dropout)

    def tune(model: Classifier, level: str = "none", **settings) -> dict:
        settings |= {"change": augmentation(level), "on_device": in_step(model.model)}
        settings["batch_size"] = BATCH
        return fine_tune(model, (train, val), 1, **settings).training.history[0]

    model = classifier()
    if reference:
        saved.load(model, Path(reference) / "start.h5")
    else:
        saved.save(model, Path(out) / "start.h5")
    set_trainable(model, "all", freeze_batch_norm=False)
    result["first"] = tune(model)

    extract = FeatureExtractor(model.features, name, device)
    features = [extract(part) for part in (train, val)]
    result["features"] = [list(part.values.shape) for part in features]
    direct = np.asarray(model.features.predict(pipeline.images(val, BATCH), verbose=0))
    result["features_agree"] = float(
        np.abs(direct[: val.count] - features[1].values[:, 0]).max() / np.abs(direct).max()
    )
    head = Training()
    heads.HEAD_EPOCHS = 3
    plain = {"label_smoothing": 0.0, "weight_decay": 0.0, "seed": 0, "fine_tune": "all"}
    train_head(model, *features, {"dropout": 0.1, **plain}, head)
    result["head"] = head.history[-1]

    predicted = predict(model.model, val, BATCH)
    np.save(Path(out) / "probabilities.npy", predicted)
    applied = apply_head(model.head, features[1])
    result["head_agrees"] = float(np.abs(predicted - applied).max())
    result["tta"] = list(predict(model.model, val, BATCH, tta=3).shape)
    saved.save(model, Path(out) / "trained.h5")

    changed = classifier(dropout=0.3)
    saved.load(changed, Path(out) / "trained.h5")
    again = predict(changed.model, val, BATCH)
    result["loaded_agrees"] = float(np.abs(predicted - again).max())
    if reference:
        saved.load(changed, Path(reference) / "trained.h5")
        np.save(Path(out) / "reference.npy", predict(changed.model, val, BATCH))
    set_trainable(changed, "all")
    result["augmented"] = tune(changed, "strong", weight_decay=1e-2, label_smoothing=0.1)

    def pictures(on_device: bool) -> np.ndarray:
        """What the models of three steps see."""
        change = augmentation("strong", "cutmix")
        options = {"augment": change, "on_device": on_device, "deterministic": True}
        batches = pipeline.Batches(train, BATCH, CLASSES, seed=3, **options).dataset().take(3)
        batches = batches.map(lambda images, labels: images)
        with device.scope():
            images = keras.Input((SIZE, SIZE, 3), dtype="uint8")
            same = keras.Model(images, keras.layers.Lambda(lambda x: x, dtype="uint8")(images))
        return np.asarray((augmenting(same, change) if on_device else same).predict(batches))

    np.savez(Path(out) / "pictures.npz", device=pictures(True), host=pictures(False))
    (Path(out) / "result.json").write_text(json.dumps(result))


if __name__ == "__main__":
    main(*sys.argv[1:])
    os._exit(0)  # without waiting for the iterators
