"""Class probabilities of a split, over all devices and hosts, with test-time augmentation."""

from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow import keras

from petals.accelerators import cluster, keras_backend
from petals.augment.augmentation import Augmentation
from petals.augment.layer import augmenting, in_step
from petals.data import pipeline
from petals.data.shards import Split


@cluster.local_devices_only
def predict(
    model: keras.Model,
    split: Split,
    batch_size: int,
    *,
    tta: int = 1,
    seed: int = 0,
) -> np.ndarray:
    """float32 (images, classes) probabilities in the files' order.

    `tta`: test-time augmentation, the mean over that many views: the image, its mirror image,
    then lightly augmented ones. With several hosts, each predicts a part of the images, and all get
    all predictions. Raises `DataError` that names a damaged file.
    """
    here = cluster.here()
    split, model = split.part(here.index, here.count), cluster.local_copy(model)
    batch_size = split.batch_size(max(1, batch_size // here.count))
    batch_size += -batch_size % keras_backend.replicas(model)
    total: Any = 0.0
    light, on_device = Augmentation("light"), in_step(model)
    changing = augmenting(model, light) if tta > 2 and on_device else model
    for view in range(tta):
        if view < 2:
            dataset = pipeline.images(split, batch_size, mirrored=view == 1)
        else:
            dataset = pipeline.views(split, batch_size, view, light, seed, on_device)
        with pipeline.naming_damaged_files(split):
            rows = (changing if view > 1 else model).predict(dataset, verbose=0)
        total = total + pipeline.cut(np.asarray(rows), split)
    return cluster.gather((total / tta).astype(np.float32))


@cluster.local_devices_only
def predict_images(
    model: keras.Model, images: np.ndarray, batch_size: int = 32, *, tta: int = 1
) -> np.ndarray:
    """float32 (images, classes) probabilities of uint8 (images, size, size, 3).

    `tta` as in `predict`, with different lightly augmented views.
    """
    model = cluster.local_copy(model)
    batch_size += -batch_size % keras_backend.replicas(model)
    filled = np.pad(images, [(0, -len(images) % batch_size), *[(0, 0)] * 3])
    light, size = Augmentation("light"), images.shape[1]
    total: Any = 0.0
    for view in range(tta):
        inputs = filled if view == 0 else filled[:, :, ::-1]
        if view > 1:
            changes = light.draw(tf.constant([view, 0], tf.int64), len(filled), size)
            inputs = light.apply(tf.constant(filled), changes).numpy()
        total = total + np.asarray(model.predict(inputs, batch_size=batch_size, verbose=0))
    return (total[: len(images)] / tta).astype(np.float32)
