"""The frozen backbone's features: computed once, kept, and found again by later runs.

While the backbone does not change, running it again in every epoch gives the same numbers
again. So it runs over the data once, and the head is trained on what it gave.
"""

from __future__ import annotations

import hashlib
import itertools
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from filelock import FileLock
from tensorflow import keras

from petals import storage
from petals.accelerators import cluster, collectives
from petals.accelerators.detect import Accelerator
from petals.augment.augmentation import augmentation
from petals.augment.layer import augmenting, in_step
from petals.data import pipeline, shards
from petals.data.shards import Split
from petals.errors import StorageError
from petals.kaggle import cache_folder, kept_folder
from petals.models.classifier import Classifier

VERSION = 1  # part of every key: raise it when the computation changes
VIEWS_VERSION = 2  # the same for views: raise it when the augmentation changes
CPU_BATCH = 32  # images; larger batches fall out of a core's cache
TPU_BATCH = 128  # images for each replica, of a GPU too

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Features:
    """float32 values (images, views, width), int64 labels (images,), ids (images,)."""

    values: np.ndarray
    labels: np.ndarray
    ids: np.ndarray
    stored: bool = False  # found rather than computed


@collectives.local_devices_only
def extract(
    model: keras.Model,
    split: Split,
    *,
    key: str,
    views: int = 1,
    level: str = "light",
    seed: int = 0,
    batch_size: int = CPU_BATCH,
    on_one_device: bool = True,
    progress: Progress | None = None,
) -> Features:
    """The features of every image of a split, in the files' order.

    `model` maps uint8 images to features; `key` names its weights (as
    `petals.models.weights.describe` does). View 0 is the image as it is, view 1 its mirror image,
    the others are augmented at `level`. What was computed before for the same data, size, weights,
    depths and views is read from where it is kept, folder by folder, so that the folds of a
    cross-validation share it; of processes that want the same at the same time, one computes and
    the others wait for it. Of several hosts each computes a part of the images on its own devices,
    and all get the whole.
    """
    here = cluster.here()
    own, model = split.part(here.index, here.count), collectives.local_copy(model)
    labels, ids = split.labels_and_ids()
    rows: list[np.ndarray] = []
    stored = True
    for piece in own.by_folder():
        tell = partial(_tell, progress, views * sum(len(one) for one in rows), views * own.count)
        values, there = _of_folder(
            model, piece, key, views, level, seed, batch_size, on_one_device, tell
        )
        rows.append(values)
        stored = stored and there
    return Features(collectives.gather(np.concatenate(rows)), labels, ids, stored)


def _tell(progress: Progress | None, before: int, total: int, what: str, done: int, _: int) -> None:
    if progress:
        progress(what, before + done, total)


def _of_folder(
    model: keras.Model,
    own: Split,
    key: str,
    views: int,
    level: str,
    seed: int,
    batch_size: int,
    on_one_device: bool,
    progress: Progress,
) -> tuple[np.ndarray, bool]:
    """The features of one folder's images, and whether they were found."""
    parts = [VERSION, key, _digest(model), own.fingerprint(), own.size, views]
    parts += [model.compute_dtype, *(["mirror"] if views > 1 else [])]
    parts += ["depths"] if isinstance(model.layers[-1], keras.layers.Concatenate) else []
    parts += [level, seed, VIEWS_VERSION] if views > 2 else []
    name = hashlib.blake2b(repr(parts).encode(), digest_size=12).hexdigest()
    path = kept_folder() / "features" / f"{name}.npy"
    lock = cache_folder() / "features" / f"{name}.lock"
    with _one_at_a_time(lock):
        values = _stored(path, own.count)
        stored = values is not None
        if values is None:
            batch_size = own.batch_size(batch_size) if on_one_device else batch_size
            run = _program(model, batch_size) if on_one_device else _predicting(model)
            given = [
                (run, pipeline.images(own, batch_size, mirrored=view == 1))
                for view in range(min(views, 2))
            ]
            if views > 2 and (change := augmentation(level)):
                on_device = in_step(model) and not on_one_device
                run = _predicting(augmenting(model, change)) if on_device else run
                given += [
                    (run, pipeline.views(own, batch_size, view, change, seed, on_device))
                    for view in range(2, views)
                ]
            values = np.stack(
                [
                    _one_view(run, dataset, own, view, batch_size, views, progress)
                    for view, (run, dataset) in enumerate(given)
                ],
                axis=1,
            )
            _keep(path, values)
    return values, stored


def extractor(
    classifier: Classifier, device: Accelerator, **settings: Any
) -> Callable[..., Features]:
    """`extract` for a classifier on a device: call it with a split (and `views`, `level`)."""
    alone = device.strategy is None or device.hosts > 1  # of several hosts, each by itself
    return partial(
        extract,
        classifier.features,
        batch_size=batch_size(device),
        on_one_device=device.backend == "tensorflow" and alone,
        **settings,
    )


def batch_size(device: Accelerator) -> int:
    """The images that go through the backbone at once, on all of one host's devices."""
    each = CPU_BATCH if device.on_cpu else TPU_BATCH
    return each * device.replicas // device.hosts


def _digest(model: keras.Model) -> str:
    # A backbone without pretrained weights is another one with every seed.
    digest = hashlib.blake2b(digest_size=12)
    for values in model.get_weights():
        digest.update(np.ascontiguousarray(values).data)
    return digest.hexdigest()


def _stored(path: Path, count: int) -> np.ndarray | None:
    try:
        values = np.load(path)
    except (OSError, ValueError, EOFError):
        return None  # not there, or cut short by an old crash: computed again
    return values if len(values) == count else None


def _keep(path: Path, values: np.ndarray) -> None:
    try:
        with storage.replacing(path) as part:
            np.save(part, values)
    except StorageError as error:  # the run can do without; the next one computes again
        print(f"  the features are not kept: {error}")


def _one_at_a_time(path: Path) -> AbstractContextManager:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return FileLock(path).acquire()
    except OSError as error:
        raise storage.cannot_write(path, error) from error


Tell = Callable[[int], None]  # how many batches are done
Forward = Callable[..., Iterator[np.ndarray]]  # of a dataset, and a Tell


def _one_view(
    run: Forward,
    dataset: tf.data.Dataset,
    split: Split,
    view: int,
    batch_size: int,
    views: int,
    progress: Progress,
) -> np.ndarray:
    def tell(batches: int) -> None:
        done = min(batches * batch_size, split.count)
        progress("features", view * split.count + done, views * split.count)

    with shards.naming_damaged_files(split.paths):
        rows = list(run(dataset, tell))
    return pipeline.cut(np.concatenate(rows).astype(np.float32), split)


def _predicting(model: keras.Model) -> Forward:
    def run(dataset: tf.data.Dataset, tell: Tell = lambda batches: None) -> Iterator[np.ndarray]:
        # The whole dataset at once: a call for each batch costs several times as much.
        watch = keras.callbacks.LambdaCallback(on_predict_batch_end=lambda n, logs: tell(n + 1))
        yield np.asarray(model.predict(dataset, verbose=0, callbacks=[watch]))

    return run


_programs: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


def _program(model: keras.Model, batch_size: int) -> Forward:
    """`frozen`, once for the present weights: the splits of a run share it."""
    key = (batch_size, _digest(model))
    known = _programs.get(model)
    if known is None or known[0] != key:
        known = _programs[model] = (key, frozen(model, batch_size))
    return known[1]


def frozen(model: keras.Model, batch_size: int) -> Forward:
    """The model's pass over datasets of `batch_size` uint8 images, on TensorFlow's CPU."""
    # With its weights made constants, TensorFlow folds each BatchNorm into the convolution
    # before it; two calls at a time fill the cores between an op's parallel parts.
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    shape = (batch_size, *model.input_shape[1:])
    traced = tf.function(lambda x: model(x, training=False))
    call = convert_variables_to_constants_v2(
        traced.get_concrete_function(tf.TensorSpec(shape, tf.uint8))
    )

    def run(dataset: tf.data.Dataset, tell: Tell = lambda batches: None) -> Iterator[np.ndarray]:
        batches, done = iter(dataset), 0
        with ThreadPoolExecutor(2) as pool:
            while group := list(itertools.islice(batches, 8)):
                yield from pool.map(lambda batch: call(batch)[0].numpy(), group)
                tell(done := done + len(group))

    return run
