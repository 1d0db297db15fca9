"""Input pipelines from shards to uint8 batches; the model converts them to float.

What makes them faster than the competition's tutorial:

* records are shuffled while they are still JPEG bytes, a tenth of the size of pixels;
* a whole batch is parsed by one op and decoded inside one map call, so the cost of moving an
element between stages is paid once per batch;
* pixels stay uint8 all the way to the device: a quarter of the bytes to copy;
* the device augments; the host only draws the random changes for each image.

All parallelism is explicit, and tf.data's autotuning is off: see `petals.data.records.untuned`.
"""

import os
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Protocol

import tensorflow as tf

from petals.data import records, shards
from petals.data.shards import Split

DECODE_AT_ONCE = 128  # images decoded by one call; larger batches are assembled from these
DECODERS = 32  # concurrent calls, at most; each keeps its batch in memory
READERS = 16  # files that are read at the same time, at most
AHEAD = 4  # batches that are finished before they are asked for, and as many at a time
SHUFFLE = 4096  # records
IMAGE, CHANGES = "image", "changes"  # the parts of a batch that the device augments
CACHE_SHARE = 0.25  # share of the machine's memory for decoded images


class Augments(Protocol):
    """What `Batches` needs of an augmentation, as `petals.augment` has it."""

    def draw(self, key: tf.Tensor, count: int, size: int) -> tf.Tensor:
        """How to change each image of a batch: float32 (count, columns)."""

    def labels(self, labels: tf.Tensor, changes: tf.Tensor, size: int) -> tf.Tensor:
        """The one-hot labels, blended as the images are."""

    def compiled(self) -> Callable[[tf.Tensor, tf.Tensor], tf.Tensor]:
        """The function that changes images on the host."""


@dataclass(frozen=True)
class Batches:
    """Endless shuffled batches of a split to train on, epoch after epoch.

    An epoch of `steps` batches, 0 = as many as the photos fill, holds no photo twice. The photos
    left over, too few for another batch, are others in each epoch. Where an epoch takes more photos
    than there are, it holds each of them before any comes again.

    Files are read in parallel and, unless `deterministic`, in no fixed order. The same seed with
    `deterministic` gives the same batches every time, whatever the number of threads. `cache` keeps
    the decoded images in memory after the first pass; None = if they fit easily. This is `host` of
    `hosts`, which provides `batch_size` images from its own part of the photos; `steps` must be
    given then, since the parts differ by a photo.

    With `augment`, labels are mixed together with images. The random changes depend on the seed,
    the step and the image's position in the batch of all hosts.
    """

    split: Split
    batch_size: int
    num_classes: int
    _: KW_ONLY
    steps: int = 0
    augment: Augments | None = None
    on_device: bool = True
    seed: int = 0
    host: int = 0
    hosts: int = 1
    deterministic: bool = False
    cache: bool | None = None

    def dataset(self, start: int = 0) -> tf.data.Dataset:
        """uint8 (batch, size, size, 3) and one-hot float32 (batch, classes), from `start` on.

        With `augment`, the images are instead {"image": as they are, "changes": float32 (batch,
        columns)}, for a model of `petals.augment.layer.augmenting`; unless `on_device`, the images
        themselves are changed. To go on with an interrupted training, the batches before `start`
        are left out. Where their order cannot be repeated, because neither `deterministic` nor the
        cache fixes it, the images are shuffled anew: an epoch that is resumed midway may then hold
        some of them twice and others not.
        """
        split = self.split
        steps = self.steps or max(1, split.count // self.batch_size)
        length = steps * self.batch_size
        cache = _fits_in_memory(split) if self.cache is None else self.cache
        seed = self.seed + self.host
        past = 0  # images
        if self.deterministic or cache:
            past = start * self.batch_size
        else:
            seed += start
        if cache:
            records = split.records()
            if split.complete:
                files = tf.data.Dataset.from_tensor_slices(list(split.paths))
                records = _read(files, split, block=split.count)
            images = _decoded(records, split, DECODE_AT_ONCE, False).unbatch()
            images = shuffled(images.cache(), split.count, seed, length).skip(past)
            dataset = images.batch(self.batch_size, drop_remainder=True, num_parallel_calls=AHEAD)
        else:
            records = self._shuffled_records(seed, length).skip(past)
            dataset = _decoded(records, split, self.batch_size, drop_remainder=True)

        def finished(step: tf.Tensor, batch: dict[str, tf.Tensor]) -> tuple[Any, tf.Tensor]:
            labels = tf.one_hot(batch["class"], self.num_classes)
            return self.changed(step, batch["image"], labels)

        calls = AHEAD if self.on_device else _decoders()
        dataset = dataset.enumerate(start).map(finished, num_parallel_calls=calls)
        return dataset.prefetch(AHEAD).with_options(_options())

    def _shuffled_records(self, seed: int, length: int) -> tf.data.Dataset:
        """The serialized examples in epochs of `length`.

        Of whole files, few records are in memory: the files are shuffled, and so are the records
        that are near one another when several files are read in turn.
        """
        split = self.split
        if not split.complete:
            return shuffled(split.records().cache(), split.count, seed, length)
        files = tf.data.Dataset.from_tensor_slices(list(split.paths))

        def in_one_order() -> tf.data.Dataset:
            order = files.shuffle(len(split.paths), seed=seed)
            records = _read(order, split, 16, self.deterministic)
            return records.shuffle(min(SHUFFLE, split.count), seed=seed + 1)

        return in_epochs(in_one_order, split.count, length)

    def changed(
        self, step: tf.Tensor, images: tf.Tensor, labels: tf.Tensor
    ) -> tuple[Any, tf.Tensor]:
        """The batch of a step with its drawn changes, or with the changes applied."""
        if self.augment is None:
            return images, labels
        size = images.shape[1]
        begin = self.host * self.batch_size
        key = tf.stack([tf.constant(self.seed, tf.int64), step])
        drawn = self.augment.draw(key, self.batch_size * self.hosts, size)
        changes = drawn[begin : begin + self.batch_size]
        labels = self.augment.labels(labels, changes, size)
        if self.on_device:
            return {IMAGE: images, CHANGES: changes}, labels
        return self.augment.compiled()(images, changes), labels


def _fits_in_memory(split: Split) -> bool:
    """Whether the decoded images take a small enough share of this machine's memory."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return split.count * split.size**2 * 3 < CACHE_SHARE * memory


def _read(
    files: tf.data.Dataset, split: Split, block: int, deterministic: bool = True
) -> tf.data.Dataset:
    """The records of a split's files, `READERS` of which are read at the same time.

    They come in blocks of so many from each. In a block of all of them, they have the files' order.
    """
    readers = min(READERS, len(split.paths))
    return files.interleave(
        tf.data.TFRecordDataset,
        cycle_length=readers,
        block_length=block,
        num_parallel_calls=readers,
        deterministic=deterministic,
    )


def shuffled(dataset: tf.data.Dataset, size: int, seed: int, length: int) -> tf.data.Dataset:
    """Endless epochs of `length` from the `size` elements of a dataset, each in another order."""
    return in_epochs(lambda: dataset.shuffle(size, seed=seed), size, length)


def in_epochs(
    in_one_order: Callable[[], tf.data.Dataset], size: int, length: int
) -> tf.data.Dataset:
    """Endless epochs of `length` elements, and the same ones after a restart.

    `in_one_order`: a dataset of `size` elements that it shuffles in each iteration. An epoch begins
    an iteration of its own, so that it holds no element twice; only one that is longer than the
    dataset goes on with the next.
    """

    def epochs(_: tf.Tensor) -> tf.data.Dataset:
        dataset = in_one_order()
        if length > size:
            dataset = dataset.repeat()
        if length != size:
            dataset = dataset.take(length)
        return dataset.repeat()  # TensorFlow joins it with a shuffle that it follows directly

    # A plain shuffle continues its random numbers when iteration restarts, as Keras does after
    # peeking at the first batch; a shuffle created inside a function restarts them.
    return tf.data.Dataset.range(1).flat_map(epochs)


def images(split: Split, batch_size: int, *, mirrored: bool = False) -> tf.data.Dataset:
    """One pass in the files' order: uint8 (batch, size, size, 3), or their mirror images.

    Every batch has `batch_size` rows, so that it can be divided among replicas and a TPU compiles
    one program; the last is padded with black images.
    """
    shape = (batch_size, split.size, split.size, 3)

    def filled(batch: dict[str, tf.Tensor]) -> tf.Tensor:
        missing = batch_size - tf.shape(batch["image"])[0]
        pixels = tf.pad(batch["image"], [[0, missing], [0, 0], [0, 0], [0, 0]])
        if mirrored:  # as rows of pixels, for which TensorFlow has a fast path
            rows = tf.reshape(pixels, [-1, split.size, 3])
            pixels = tf.reshape(tf.reverse(rows, axis=[1]), shape)
        return tf.ensure_shape(pixels, shape)

    dataset = _decoded(split.records(), split, batch_size, drop_remainder=False)
    dataset = dataset.map(filled, num_parallel_calls=AHEAD)
    dataset = dataset.apply(tf.data.experimental.assert_cardinality(-(-split.count // batch_size)))
    return dataset.prefetch(AHEAD).with_options(_options())


def _decoded(
    records: tf.data.Dataset, split: Split, batch_size: int, drop_remainder: bool
) -> tf.data.Dataset:
    at_once = next(n for n in range(min(batch_size, DECODE_AT_ONCE), 0, -1) if batch_size % n == 0)
    pixels = tf.TensorSpec((split.size, split.size, 3), tf.uint8)

    def decode(jpeg: tf.Tensor) -> tf.Tensor:
        return shards.decoded(jpeg, split.record_size, split.size)

    def parse(batch: tf.Tensor) -> dict[str, tf.Tensor]:
        parsed = tf.io.parse_example(batch, split.features.parsing())
        images = tf.map_fn(decode, parsed[split.features.image], fn_output_signature=pixels)
        return {"image": images, "class": parsed[split.features.label]}

    whole = drop_remainder and at_once == batch_size
    batches = records.batch(at_once, drop_remainder=whole)
    batches = batches.map(parse, num_parallel_calls=_decoders())
    if at_once == batch_size:
        return batches
    return batches.rebatch(batch_size, drop_remainder=drop_remainder)


def _decoders() -> int:
    """How many batches are decoded at a time."""
    return min(os.cpu_count() or 1, DECODERS)


def _options() -> tf.data.Options:
    options = records.untuned()
    # Batches that overtake one another would mix the end of an epoch with the next one's begin.
    options.deterministic = True
    # Each host reads its own files, so TensorFlow must not shard them again.
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
    return options
