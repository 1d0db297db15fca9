"""Class probabilities of a split, over all devices and hosts, with test-time augmentation."""

from typing import Any

import numpy as np
from tensorflow import keras

from petals.accelerators import cluster, keras_backend
from petals.data import damage, pipeline
from petals.data.shards import Split


@cluster.local_devices_only
def predict(
    model: keras.Model,
    split: Split,
    batch_size: int,
    *,
    tta: int = 1,
) -> np.ndarray:
    """float32 (images, classes) probabilities in the files' order.

    `tta`: test-time augmentation, the mean over that many views: 1 for the image, 2 for its mirror
    image too. With several hosts, each predicts a part of the images, and all get
    all predictions. Raises `DataError` that names a damaged file.
    """
    here = cluster.here()
    split = split.part(here.index, here.count)
    model = cluster.local_copy(model)
    batch_size = split.batch_size(max(1, batch_size // here.count))
    batch_size += -batch_size % keras_backend.replicas(model)
    total: Any = 0.0
    for view in range(tta):
        dataset = pipeline.images(split, batch_size, mirrored=view == 1)
        with damage.naming_damaged_files(split):
            rows = model.predict(dataset, verbose=0)
        total = total + np.asarray(rows)[: split.count]
    return cluster.gather((total / tta).astype(np.float32))


@cluster.local_devices_only
def predict_images(
    model: keras.Model, images: np.ndarray, batch_size: int = 32, *, tta: int = 1
) -> np.ndarray:
    """float32 (images, classes) probabilities of uint8 (images, size, size, 3); `tta` as above."""
    model = cluster.local_copy(model)
    batch_size += -batch_size % keras_backend.replicas(model)
    missing = -len(images) % batch_size
    filled = np.pad(images, [(0, missing), (0, 0), (0, 0), (0, 0)])
    total: Any = 0.0
    for view in range(tta):
        inputs = filled if view == 0 else filled[:, :, ::-1]
        total = total + np.asarray(model.predict(inputs, batch_size=batch_size, verbose=0))
    return (total[: len(images)] / tta).astype(np.float32)
