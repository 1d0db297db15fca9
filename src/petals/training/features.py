"""The frozen backbone's features: computed once, stored, and reused by later runs.

A frozen backbone gives the same output in every epoch. So it processes the photos only once, and
the head is trained on its output.

    FeatureExtractor      splits the work among hosts and folders
      _load_or_compute    finds the features of a folder in the store, or fills the store
        _compute          runs the backbone over every view of a folder's photos
          frozen          the pass on one TensorFlow device
          predicting      the pass on everything else
"""

import hashlib
import itertools
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from filelock import FileLock
from sklearn.utils.extmath import softmax
from tensorflow import keras

from petals import storage
from petals.accelerators import cluster
from petals.accelerators.detect import Accelerator
from petals.data import damage, pipeline
from petals.data.shards import Split
from petals.errors import DataError, DivergedError, StorageError
from petals.kaggle import cache_folder, kept_folder
from petals.progress import ShowProgress

VERSION = 1  # part of every key: raise it when the computation changes
CPU_BATCH = 32  # images; larger batches fall out of a core's cache
TPU_BATCH = 128  # images for each replica, also on a GPU
LARGE = 384  # pixels a side, above which that is
LARGE_BATCH = 32
Forward = Callable[..., Iterator[np.ndarray]]  # takes a dataset and what to call after each batch


@dataclass(frozen=True)
class Features:
    """float32 values (images, views, width), int64 labels (images,), ids (images,)."""

    values: np.ndarray
    labels: np.ndarray
    ids: np.ndarray
    stored: bool = False  # whether they were read instead of computed


class FeatureExtractor:
    """Computes the features of a split, or reads those that an earlier run stored.

    `model` maps uint8 images to features, with the weights that it has at the first call;
    `backbone`: its name, which tells it from others with the same weights; `progress` gets
    ("features", images done, images in all).
    """

    def __init__(
        self,
        model: keras.Model,
        backbone: str,
        device: Accelerator,
        progress: ShowProgress = lambda step, done, total: None,
    ) -> None:
        self.model = model
        self.backbone = backbone
        self.progress = progress
        self.frozen = device.backend == "tensorflow" and device.strategy is None
        self.batch_size = batch_size(device, model.input_shape[1])
        self._programs: dict[int, Forward] = {}  # by batch size
        self._weights = ""  # their digest

    @cluster.local_devices_only
    def __call__(self, split: Split, views: int = 1) -> Features:
        """The features of every image of a split, in the files' order.

        View 0 is the image itself, view 1 its mirror image.
        Every host computes a part of the images, and all hosts get all features. Features are
        stored per folder, so that the folds of a cross-validation share them.
        """
        here = cluster.here()
        own = split.part(here.index, here.count)
        model = cluster.local_copy(self.model)
        self._weights = self._weights or _digest(model)
        labels, ids = split.labels_and_ids()  # fails on every host if a file is damaged
        rows = []
        done = 0
        stored = True
        for folder in own.by_folder():

            def count(images: int, earlier: int = done) -> None:
                self.progress("features", earlier + images, views * own.count)

            values, was_stored = self._load_or_compute(model, folder, views, count)
            rows.append(values)
            stored = stored and was_stored
            done = done + views * len(values)
        return Features(cluster.gather(np.concatenate(rows)), labels, ids, stored)

    def _load_or_compute(
        self, model: keras.Model, folder: Split, views: int, count: Callable
    ) -> tuple[np.ndarray, bool]:
        """The features of one folder's images, and whether they were stored.

        The file's name is a digest of everything that the features depend on. If several processes
        need the same file at the same time, one computes it and the others wait.
        """
        key = [VERSION, self.backbone, self._weights, folder.fingerprint(), views]
        key += [folder.size, folder.record_size]
        key += [model.compute_dtype, model.output_shape[-1]]  # the last layer's or several depths'
        name = hashlib.blake2b(repr(key).encode(), digest_size=12).hexdigest()
        path = kept_folder() / "features" / f"{name}.npy"
        lock = cache_folder() / "features" / f"{name}.lock"
        try:
            lock.parent.mkdir(parents=True, exist_ok=True)
            locked = FileLock(lock).acquire()
        except OSError as error:
            raise storage.cannot_write(lock, error) from error
        with locked:
            stored = _stored(path)
            if stored is not None and len(stored) == folder.count:
                return stored, True
            values = self._compute(model, folder, views, count)
            try:
                with storage.replacing(path) as part:
                    np.save(part, values)
            except StorageError as error:  # this run has them; the next one computes them again
                print(f"  the features were not stored: {error}")
        return values, False

    def _compute(
        self, model: keras.Model, folder: Split, views: int, count: Callable
    ) -> np.ndarray:
        """float32 (images, views, width)."""
        size = folder.batch_size(self.batch_size) if self.frozen else self.batch_size
        if size not in self._programs:  # the splits of a run share it
            self._programs[size] = frozen(model, size) if self.frozen else predicting(model)
        forward = self._programs[size]
        columns = []
        for view in range(views):
            dataset = pipeline.images(folder, size, mirrored=view == 1)

            def count_batches(batches: int, earlier: int = view * folder.count) -> None:
                count(earlier + min(batches * size, folder.count))

            with damage.naming_damaged_files(folder):
                rows = np.concatenate(list(forward(dataset, count_batches)))
            columns.append(rows[: folder.count].astype(np.float32))
        return np.stack(columns, axis=1)


def batch_size(device: Accelerator, size: int) -> int:
    """The images of `size` pixels that go through the backbone at once, on all devices of one host.

    A transformer's attention takes memory with the fourth power of the size. By the TPU's compiler
    32 images of 518 pixels need 6 GiB in DINOv2-base, and not much more besides the weights in
    DINOv2-giant. How much memory they take is no rule from which a number would follow: of
    DINOv2-base, libtpu 0.0.42.1 gives 112 images 11 GiB and crashes over 128, for which 0.0.17
    needs 2 GiB.
    """
    own = LARGE_BATCH if size > LARGE else TPU_BATCH
    return (CPU_BATCH if device.on_cpu else own) * device.replicas // device.hosts


def _stored(path: Path) -> np.ndarray | None:
    """The features in a file; None if it is missing or damaged."""
    try:
        return np.load(path)
    except Exception:  # numpy raises half a dozen kinds
        return None


def _digest(model: keras.Model) -> str:
    # A backbone without pretrained weights differs from seed to seed.
    digest = hashlib.blake2b(digest_size=12)
    for values in model.get_weights():
        digest.update(np.ascontiguousarray(values).data)
    return digest.hexdigest()


def predicting(model: keras.Model) -> Forward:
    """The model's pass by Keras's `predict`."""

    def forward(dataset: tf.data.Dataset, count: Callable) -> Iterator[np.ndarray]:
        # The whole dataset at once: a call for each batch takes several times as long.
        watch = keras.callbacks.LambdaCallback(on_predict_batch_end=lambda n, logs: count(n + 1))
        yield np.asarray(model.predict(dataset, verbose=0, callbacks=[watch]))

    return forward


def frozen(model: keras.Model, batch_size: int) -> Forward:
    """The model's pass over datasets of `batch_size` uint8 images, on TensorFlow's CPU."""
    # With its weights made constants, TensorFlow folds each BatchNorm into the convolution
    # before it; two calls at a time fill the cores between an op's parallel parts.
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    images = tf.TensorSpec((batch_size, *model.input_shape[1:]), tf.uint8)
    traced = tf.function(lambda x: model(x, training=False)).get_concrete_function(images)
    call = convert_variables_to_constants_v2(traced)

    def forward(
        dataset: tf.data.Dataset, count: Callable = lambda batches: None
    ) -> Iterator[np.ndarray]:
        batches = iter(dataset)
        done = 0
        with ThreadPoolExecutor(2) as pool:
            while group := list(itertools.islice(batches, 8)):
                yield from pool.map(lambda batch: call(batch)[0].numpy(), group)
                count(done := done + len(group))

    return forward


def check(*parts: Features) -> None:
    """Raise `DivergedError` for features that are not finite numbers, `DataError` for equal ones.

    The first part is what a head is trained on: photos that are all the same teach it nothing.
    """
    if not all(np.isfinite(part.values).all() for part in parts):
        raise DivergedError(
            "some of the backbone's features are not finite numbers: set dtype=float32, or start "
            "from other weights"
        )
    trained = parts[0].values[:, 0]
    if len(trained) > 1 and (trained == trained[0]).all():
        raise DataError(
            f"all {len(trained)} training photos have the same features: they are copies of one "
            "photo, or blank. Look at them in 01_explore"
        )


def apply_head(head: Any, features: Features) -> np.ndarray:
    """float32 (images, classes) probabilities for stored features, averaged over their views.

    `head`: a layer or a model whose weights are a kernel and a bias.
    """
    kernel, bias = head.get_weights()
    views = [softmax(values @ kernel + bias) for values in np.moveaxis(features.values, 1, 0)]
    return np.asarray(np.mean(views, axis=0, dtype=np.float32))
