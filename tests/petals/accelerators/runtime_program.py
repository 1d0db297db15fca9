"""What the tests of one code on three Kerases run, once in each: trains, and says what came out.

    python runtime_program.py DATASET OUT MODEL [REFERENCE]

REFERENCE is what OUT was for the runtime that the others are compared with: they start from its
start.h5 and look at the validation images with its trained.h5.
"""

import json
import os
import sys
from pathlib import Path

from petals.accelerators.detect import detect

sys.path.append(str(Path(__file__).parents[2]))  # of tuning

BATCH = 16


def keep_iterators():
    """Let the iterators of several devices outlive the training.

    Ending one may wait seconds for tf.data's tuning thread, for each device.
    """
    from tensorflow.python.data.ops import multi_device_iterator_ops

    kept, kind = [], multi_device_iterator_ops.OwnedMultiDeviceIterator
    begin = kind.__init__

    def keep(self, *arguments, **named):
        begin(self, *arguments, **named)
        kept.append(self)

    kind.__init__, kind.kept = keep, kept


def main(dataset, out, name, reference=""):
    device = detect()

    import numpy as np
    from tensorflow import keras
    from tuning import SIZE, begin, fine_tune, train_head

    from petals.augment.augmentation import augmentation
    from petals.augment.layer import augmenting, in_step
    from petals.data.pipeline import Batches, images
    from petals.evaluation.prediction import predict
    from petals.models.build import set_trainable
    from petals.models.restore import load, save
    from petals.training.features import apply_head

    keep_iterators()
    splits, classifier = begin(dataset, device)
    val = splits[1]
    result = {"device": device.as_dict()}

    def tune(model, level="none", **settings):
        settings |= {"change": augmentation(level), "on_device": in_step(model.model)}
        settings["batch_size"] = BATCH
        return fine_tune(model, splits, 1, **settings).training.history[0]

    model = classifier(name)
    if reference:
        load(model, Path(reference) / "start.h5")
    else:
        save(model, Path(out) / "start.h5")
    set_trainable(model, "all", freeze_batch_norm=False)
    result["first"] = tune(model)

    features, head = train_head(model, splits, device, 3, dropout=0.1)
    result["features"] = [list(part.values.shape) for part in features]
    direct = np.asarray(model.features.predict(images(val, BATCH), verbose=0))
    result["features_agree"] = float(
        np.abs(direct[: val.count] - features[1].values[:, 0]).max() / np.abs(direct).max()
    )
    result["head"] = head[-1]

    predicted = predict(model.model, val, BATCH)
    np.save(Path(out) / "probabilities.npy", predicted)
    applied = apply_head(model.head, features[1])
    result["head_agrees"] = float(np.abs(predicted - applied).max())
    result["tta"] = list(predict(model.model, val, BATCH, tta=2).shape)
    save(model, Path(out) / "trained.h5")

    changed = classifier(name, dropout=0.3)
    load(changed, Path(out) / "trained.h5")
    again = predict(changed.model, val, BATCH)
    result["loaded_agrees"] = float(np.abs(predicted - again).max())
    if reference:
        load(changed, Path(reference) / "trained.h5")
        np.save(Path(out) / "reference.npy", predict(changed.model, val, BATCH))
    set_trainable(changed, "all")
    result["augmented"] = tune(changed, "strong", weight_decay=1e-2, label_smoothing=0.1)

    def pictures(on_device):
        """What the models of three steps see."""
        change = augmentation("strong", "cutmix")
        options = {"augment": change, "on_device": on_device, "deterministic": True}
        batches = Batches(splits[0], BATCH, 3, seed=3, **options).dataset().take(3)
        batches = batches.map(lambda pixels, labels: pixels)
        with device.scope():
            pixels = keras.Input((SIZE, SIZE, 3), dtype="uint8")
            same = keras.Model(pixels, keras.layers.Lambda(lambda x: x, dtype="uint8")(pixels))
        return np.asarray((augmenting(same, change) if on_device else same).predict(batches))

    np.savez(Path(out) / "pictures.npz", device=pictures(True), host=pictures(False))
    (Path(out) / "result.json").write_text(json.dumps(result))


if __name__ == "__main__":
    main(*sys.argv[1:])
    os._exit(0)  # without waiting for the iterators
