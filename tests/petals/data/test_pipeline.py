import shutil
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from petals.augment.augmentation import augmentation
from petals.data import pipeline, shards
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


def test_training_batches_are_uint8_and_one_hot(splits):
    images, labels = take(splits[0], 1)[0]
    assert (images.dtype, images.shape) == (np.uint8, (8, 32, 32, 3))
    assert (labels.dtype, labels.shape) == (np.float32, (8, 3))
    assert (labels.sum(axis=1) == 1).all()


def test_training_goes_on_for_ever_and_sees_every_image(splits):
    assert len(sums(take(splits[0], 25, 10))) == splits[0].count


@pytest.mark.long
@pytest.mark.parametrize("limit", [0, 20])
def test_the_same_seed_gives_the_same_batches(dataset, limit):
    split = Split.find(str(dataset), 32, "train", limit)
    settings = {"augment": augmentation("strong", "mixup"), "on_device": False}
    first, again, other = (
        take(split, 6, seed=seed, deterministic=True, **settings) for seed in (1, 1, 2)
    )
    assert equal(first, again)
    assert not equal(first, other)


def test_batches_larger_than_one_decoding_are_whole(splits, monkeypatch):
    monkeypatch.setattr(pipeline, "DECODE_AT_ONCE", 8)
    images, labels = take(splits[0], 1, 24)[0]
    assert images.shape[0] == labels.shape[0] == 24


@pytest.mark.parametrize("batch", [1, 4, 8, 21, 64])
def test_one_pass_is_complete_filled_and_cut(splits, batch):
    val = splits[1]
    batches = list(pipeline.images(val, batch).as_numpy_iterator())
    assert {len(pixels) for pixels in batches} == {batch}
    rows = np.concatenate(batches)
    assert (pipeline.cut(rows, val) == val.sample(val.count).images).all()
    assert not rows[val.count :].any()
    mirrored = np.concatenate(list(pipeline.images(val, batch, mirrored=True)))
    assert (mirrored == rows[:, :, ::-1]).all()


@pytest.mark.parametrize("how", ["flipped", "cut", "no picture"])
def test_damage_stops_training_with_the_files_name(dataset, tmp_path, how):
    shutil.copytree(dataset, tmp_path / "copy")
    split = Split.find(str(tmp_path / "copy"), 32, "train")
    path = Path(split.paths[1])
    data, examples = bytearray(path.read_bytes()), list(shards.read_shard(path))
    if how == "flipped":
        data[len(data) // 2] ^= 0xFF
    elif how == "cut":
        del data[-100:]
    path.write_bytes(data)
    if how == "no picture":
        examples[4] = shards.Example(b"\xff\xd8no picture", "bad", 1)
        shards.write_shard(path, examples)
    with (
        pytest.raises(DataError, match=f"{path.name}.*make the file again"),
        pipeline.naming_damaged_files(split),
    ):
        take(split, 12, 10)
    with pytest.raises(DataError, match=path.name), pipeline.naming_damaged_files(split):
        list(pipeline.images(split, 8))


def test_a_label_out_of_range_is_named(splits):
    with (
        pytest.raises(DataError, match=r"label 2 is not in 0\.\.1"),
        pipeline.naming_damaged_files(splits[0], num_classes=2),
    ):
        list(pipeline.Batches(splits[0], 10, 2).dataset().take(12))


@pytest.mark.parametrize("hosts", [1, pytest.param(2, marks=pytest.mark.long)])
def test_what_is_drawn_follows_from_seed_step_and_place_in_the_batch(splits, hosts):
    change = augmentation("strong")

    def drawn(seed=1, start=0, **part):
        settings = {"augment": change, "seed": seed, "deterministic": True, **part}
        batches = pipeline.Batches(splits[0], 8 // hosts, 3, **settings).dataset(start)
        return np.stack([inputs["changes"].numpy() for inputs, _ in batches.take(4)])

    parts = [drawn(host=host, hosts=hosts) for host in range(hosts)]
    key = [[1, step] for step in range(4)]
    expected = [change.draw(tf.constant(one, tf.int64), 8, 32).numpy() for one in key]
    assert (np.concatenate(parts, axis=1) == expected).all()
    if hosts > 1:
        assert (drawn(start=2, hosts=hosts)[:2] == parts[0][2:]).all()
        assert (drawn(seed=2, hosts=hosts) != parts[0]).any()


def test_the_images_are_left_for_the_device_to_change(splits):
    settings = {"seed": 1, "deterministic": True}
    change = augmentation("strong")
    left = pipeline.Batches(splits[0], 8, 3, augment=change, **settings).dataset().take(3)
    for (images, _), (inputs, _) in zip(take(splits[0], 3, **settings), left, strict=True):
        assert (inputs["image"].numpy() == images).all()


@pytest.mark.parametrize("cache", [True, False])
def test_a_part_trains_on_its_own_images_alone(splits, cache):
    parts = [splits[0].part(index, 3) for index in range(3)]
    seen = [sums(take(part, 30, 4, cache=cache)) for part in parts]
    assert list(map(len, seen)) == [part.count for part in parts]
    assert len(set.union(*seen)) == splits[0].count


@pytest.mark.parametrize("cache", [True, False])
@pytest.mark.parametrize("limit", [0, 40])
def test_begun_again_or_further_on_the_order_is_the_same(dataset, cache, limit):
    split = Split.find(str(dataset), 32, "train", limit)
    batches = pipeline.Batches(split, 8, 3, seed=3, deterministic=True, cache=cache)
    begun, later = batches.dataset(), batches.dataset(7)
    first = list(begun.take(12))
    assert not equal(first[:5], first[5:10])
    assert equal(first, begun.take(12))
    for _ in range(2):
        assert equal(first[7:], later.take(5))
