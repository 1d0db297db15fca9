import io
from collections import Counter
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from PIL import Image
from records import jpeg, write_dataset

from petals.augment.augmentation import augmentation
from petals.data import damage, pipeline, records, writing
from petals.data.samples import sample_of
from petals.data.shards import Split
from petals.errors import DataError


def take(split, count, size=8, start=0, **settings):
    """(images, labels) of the first batches of `size` images of three classes."""
    batches = pipeline.Batches(split, size, 3, **settings).dataset(start)
    return [tuple(np.array(t) for t in batch) for batch in islice(batches, count)]


def equal(batches, others):
    pairs = zip(batches, others, strict=True)
    return all(np.array_equal(a, b) for pair in pairs for a, b in zip(*pair, strict=True))


def sums(batches):
    """A number for each image among the batches, other than that of any other image."""
    return {int(image.astype(np.int64).sum()) for images, _ in batches for image in images}


def test_training_goes_on_for_ever_with_every_image_as_uint8_and_one_hot_labels(splits):
    batches = take(splits[0], 25, 10)
    assert len(sums(batches)) == splits[0].count
    images, labels = batches[0]
    assert (images.dtype, images.shape) == (np.uint8, (10, 32, 32, 3))
    assert (labels.dtype, labels.shape) == (np.float32, (10, 3))
    assert (labels.sum(axis=1) == 1).all()


def test_batches_larger_than_one_decoding_are_whole(splits, monkeypatch):
    monkeypatch.setattr(pipeline, "DECODE_AT_ONCE", 8)
    images, labels = take(splits[0], 1, 24)[0]
    assert images.shape[0] == labels.shape[0] == 24


@pytest.mark.parametrize("cache", [False, True])
def test_a_pipeline_ends_at_once(splits, cache):
    train, val, _ = splits
    batches = pipeline.Batches(train, 8, 3, cache=cache)
    for dataset in (batches.dataset(), pipeline.images(val, 8)):
        assert dataset.options().autotune.enabled is False


def test_kept_records_have_the_files_order_however_many_are_read_at_a_time(splits, monkeypatch):
    train = splits[0]
    taken = []
    for readers in (1, 2, 16):
        monkeypatch.setattr(pipeline, "READERS", readers)
        taken.append(take(train, 3, cache=True, deterministic=True, seed=3))
    assert equal(taken[0], taken[1])
    assert equal(taken[0], taken[2])


@pytest.fixture(scope="module")
def only_192(tmp_path_factory):
    """A dataset whose records have 192 pixels and no other size."""
    root = tmp_path_factory.mktemp("only_192")
    write_dataset(root, 192, {"train": (5, 3), "val": (6,)})
    return str(root)


@pytest.mark.parametrize("size", [96, 192, 224, 518])
def test_records_of_one_size_give_batches_of_any_other(only_192, size):
    train, val = (Split.find(only_192, size, name) for name in ("train", "val"))
    assert {Path(path).parents[1].name for path in train.paths} == {"tfrecords-jpeg-192x192"}
    (images, labels), *_ = take(train, 1, 4)
    assert (images.dtype, images.shape) == (np.uint8, (4, size, size, 3))
    assert (labels.dtype, labels.shape) == (np.float32, (4, 3))

    (validated,) = pipeline.images(val, 8).as_numpy_iterator()  # two rows more than photos
    assert (validated.dtype, validated.shape) == (np.uint8, (8, size, size, 3))
    for number, pixels in enumerate(validated[: val.count], start=train.count):
        photo = Image.open(io.BytesIO(jpeg(number, 192)))
        resized = np.asarray(photo.resize((size, size), Image.Resampling.BILINEAR), int)
        assert np.abs(pixels - resized).mean() < 2
    sample = sample_of(val, val.count)
    assert (sample.images == validated[: val.count]).all()


@pytest.mark.parametrize("batch", [8, 21, 64])
def test_one_pass_is_complete_and_filled(splits, batch):
    val = splits[1]
    batches = list(pipeline.images(val, batch).as_numpy_iterator())
    assert {len(pixels) for pixels in batches} == {batch}
    rows = np.concatenate(batches)
    assert (rows[: val.count] == sample_of(val, val.count).images).all()
    assert not rows[val.count :].any()
    mirrored = np.concatenate(list(pipeline.images(val, batch, mirrored=True)))
    assert (mirrored == rows[:, :, ::-1]).all()


@pytest.mark.parametrize("how", ["flipped", "no picture"])
def test_damage_stops_training_with_the_files_name(copied, flip, how):
    split = Split.find(str(copied), 32, "train")
    path = Path(split.paths[1])
    if how == "flipped":
        flip(path)
    else:
        examples = list(records.read(path))
        examples[4] = records.Example(b"\xff\xd8no picture", "bad", 1)
        writing.write_shard(path, examples)
    told = pytest.raises(DataError, match=f"{path.name}.*make the file again")
    with told, damage.naming_damaged_files(split):
        take(split, 12, 10)
    with pytest.raises(DataError, match=path.name), damage.naming_damaged_files(split):
        list(pipeline.images(split, 8))


@pytest.mark.parametrize("hosts", [1, pytest.param(2, marks=pytest.mark.long)])
def test_images_are_left_for_the_device_with_draws_by_seed_step_and_place(splits, hosts):
    change, settings = augmentation("strong"), {"seed": 1, "deterministic": True}

    def drawn(start=0, **part):
        part = {"augment": change, "hosts": hosts, **settings, **part}
        batches = pipeline.Batches(splits[0], 8 // hosts, 3, **part).dataset(start)
        return [inputs for inputs, _ in batches.take(4).as_numpy_iterator()]

    def changes(batches):
        return np.stack([inputs["changes"] for inputs in batches])

    parts = [drawn(host=host) for host in range(hosts)]
    key = [[1, step] for step in range(4)]
    expected = [change.draw(tf.constant(one, tf.int64), 8, 32).numpy() for one in key]
    assert (np.concatenate([*map(changes, parts)], axis=1) == expected).all()
    if hosts == 1:
        plain = take(splits[0], 4, **settings)
        images = zip(parts[0], plain, strict=True)
        assert all((inputs["image"] == image).all() for inputs, (image, _) in images)
    else:
        assert (changes(drawn(start=2))[:2] == changes(parts[0])[2:]).all()
        assert (changes(drawn(seed=2)) != changes(parts[0])).any()


@pytest.mark.parametrize("cache", [True, False])
def test_a_part_trains_on_its_own_images_alone(splits, cache):
    parts = [splits[0].part(index, 3) for index in range(3)]
    seen = [sums(take(part, 30, 4, cache=cache)) for part in parts]
    assert list(map(len, seen)) == [part.count for part in parts]
    assert len(set.union(*seen)) == splits[0].count


@pytest.mark.parametrize(("cache", "deterministic"), [(True, True), (False, True), (True, False)])
@pytest.mark.parametrize("limit", [0, 40])
def test_begun_again_or_further_on_the_order_is_the_same(dataset, cache, deterministic, limit):
    split = Split.find(str(dataset), 32, "train", limit)
    batches = pipeline.Batches(split, 8, 3, seed=3, deterministic=deterministic, cache=cache)
    begun, later = batches.dataset(), batches.dataset(7)
    first = list(begun.take(12))
    assert not equal(first[:5], first[5:10])
    assert equal(first, begun.take(12))
    for _ in range(2):
        assert equal(first[7:], later.take(5))


def times_seen(batches, steps):
    """{a photo: how often it comes} for each epoch of so many batches."""
    numbers = [int(image.astype(np.int64).sum()) for images, _ in batches for image in images]
    size = steps * len(batches[0][0])
    return [Counter(numbers[at : at + size]) for at in range(0, len(numbers), size)]


@pytest.mark.parametrize("cache", [True, False])
@pytest.mark.parametrize("deterministic", [True, False])
@pytest.mark.parametrize("size", [7, 8, 60])
@pytest.mark.parametrize("limit", [0, 41])
def test_an_epoch_holds_each_photo_once(dataset, monkeypatch, cache, deterministic, size, limit):
    monkeypatch.setattr(pipeline, "SHUFFLE", 16)
    split = Split.find(str(dataset), 32, "train", limit)
    if size > split.count:
        size = split.count
    steps = split.count // size
    options = {"cache": cache, "deterministic": deterministic, "seed": 5}
    epochs = times_seen(take(split, 6 * steps, size, **options), steps)
    assert [len(epoch) for epoch in epochs] == [steps * size] * 6
    assert {times for epoch in epochs for times in epoch.values()} == {1}
    # Those that fill no batch are not the same each time.
    assert len(set().union(*epochs)) == split.count


@pytest.mark.parametrize(("cache", "deterministic"), [(True, False), (False, True)])
def test_an_epoch_that_is_resumed_midway_holds_each_photo_once(splits, cache, deterministic):
    options = {"cache": cache, "deterministic": deterministic, "seed": 5}
    before = take(splits[0], 10 + 3, 5, **options)  # an epoch of ten steps, and three of the next
    after = take(splits[0], 7, 5, start=13, **options)
    (second,) = times_seen(before[10:] + after, 10)
    assert len(second) == splits[0].count == 50
    assert set(second.values()) == {1}


@pytest.mark.parametrize("cache", [True, False])
def test_an_epoch_of_fewer_steps_or_of_a_large_batch_holds_each_photo_as_often(splits, cache):
    train = splits[0]
    short = times_seen(take(train, 6, steps=3, cache=cache), steps=3)
    assert [set(epoch.values()) for epoch in short] == [{1}, {1}]
    assert short[0] != short[1]
    (one, other) = times_seen(take(train, 2, train.count + 9, cache=cache), steps=1)
    for epoch in (one, other):
        assert sorted(epoch.values()) == [1] * (train.count - 9) + [2] * 9
    assert one != other


@pytest.mark.parametrize("cache", [True, False])
def test_several_hosts_together_hold_each_photo_once_an_epoch(splits, cache):
    train, hosts, size = splits[0], 3, 4
    steps = train.count // (size * hosts)
    seen = [
        times_seen(
            take(train.part(host, hosts), 4 * steps, size, steps=steps, host=host, cache=cache),
            steps,
        )
        for host in range(hosts)
    ]
    for parts in zip(*seen, strict=True):
        together = sum(parts, Counter())
        assert set(together.values()) == {1}
        assert len(together) == steps * size * hosts


@pytest.mark.parametrize("cache", [True, False])
def test_photos_of_several_sets_are_mixed_and_each_comes_once(splits, cache):
    train, val, _ = splits
    both = replace(train, paths=(*val.paths, *train.paths), count=val.count + train.count)
    steps = both.count // 8
    (epoch,) = times_seen(take(both, steps, cache=cache), steps)
    assert set(epoch.values()) == {1}
    first = sums(take(both, steps // 2, cache=cache))
    of_val = {int(image.astype(np.int64).sum()) for image in sample_of(val, val.count).images}
    assert 0.25 < len(first & of_val) / len(of_val) < 0.75
