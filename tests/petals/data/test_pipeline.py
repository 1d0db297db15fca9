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


def take(dataset, count):
    return [tuple(np.array(t) for t in batch) for batch in islice(dataset, count)]


def test_training_batches_are_uint8_and_one_hot(splits):
    images, labels = take(pipeline.Batches(splits[0], 8, 3).dataset(), 1)[0]
    assert (images.dtype, images.shape) == (np.uint8, (8, 32, 32, 3))
    assert (labels.dtype, labels.shape) == (np.float32, (8, 3))
    assert (labels.sum(axis=1) == 1).all()


def test_training_goes_on_for_ever_and_sees_every_image(splits):
    batches = take(pipeline.Batches(splits[0], 10, 3).dataset(), 25)
    sums = {int(image.astype(np.int64).sum()) for images, _ in batches for image in images}
    assert len(sums) == splits[0].count


@pytest.mark.long
@pytest.mark.parametrize("limit", [0, 20])
def test_the_same_seed_gives_the_same_batches(dataset, limit):
    split = Split.find(str(dataset), 32, "train", limit)
    change = augmentation("strong", "mixup")

    def batches(seed):
        made = pipeline.Batches(
            split, 8, 3, augment=change, on_device=False, seed=seed, deterministic=True
        ).dataset()
        return take(made, 6)

    for first, second in zip(batches(1), batches(1), strict=True):
        assert all((a == b).all() for a, b in zip(first, second, strict=True))
    assert any((a[0] != b[0]).any() for a, b in zip(batches(1), batches(2), strict=True))


def test_batches_larger_than_one_decoding_are_whole(splits, monkeypatch):
    monkeypatch.setattr(pipeline, "DECODE_AT_ONCE", 8)
    images, labels = take(pipeline.Batches(splits[0], 24, 3).dataset(), 1)[0]
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


def damaged(dataset, tmp_path, how) -> Split:
    shutil.copytree(dataset, tmp_path / "copy")
    split = Split.find(str(tmp_path / "copy"), 32, "train")
    path = Path(split.paths[1])
    data = bytearray(path.read_bytes())
    if how == "flipped":
        data[len(data) // 2] ^= 0xFF
    elif how == "cut":
        del data[-100:]
    else:
        examples = list(shards.read_shard(path))
        examples[4] = shards.Example(b"\xff\xd8no picture", "bad", 1)
        shards.write_shard(path, examples)
        return split
    path.write_bytes(data)
    return split


@pytest.mark.parametrize("how", ["flipped", "cut", "no picture"])
def test_damage_stops_training_with_the_files_name(dataset, tmp_path, how):
    split = damaged(dataset, tmp_path, how)
    name = Path(split.paths[1]).name
    with (
        pytest.raises(DataError, match=f"{name}.*make the file again"),
        pipeline.naming_damaged_files(split),
    ):
        take(pipeline.Batches(split, 10, 3).dataset(), 12)
    with pytest.raises(DataError, match=name), pipeline.naming_damaged_files(split):
        list(pipeline.images(split, 8))


def test_a_label_out_of_range_is_named(dataset, tmp_path):
    shutil.copytree(dataset, tmp_path / "copy")
    split = Split.find(str(tmp_path / "copy"), 32, "train")
    with (
        pytest.raises(DataError, match=r"label 2 is not in 0\.\.1"),
        pipeline.naming_damaged_files(split, num_classes=2),
    ):
        take(pipeline.Batches(split, 10, 2).dataset(), 12)


@pytest.mark.parametrize("hosts", [1, pytest.param(2, marks=pytest.mark.long)])
def test_what_is_drawn_follows_from_seed_step_and_place_in_the_batch(splits, hosts):
    change = augmentation("strong")

    def drawn(seed=1, start=0, **part):
        made = pipeline.Batches(
            splits[0],
            8 // hosts,
            3,
            augment=change,
            seed=seed,
            deterministic=True,
            **part,
        ).dataset(start)
        return np.stack([inputs["changes"].numpy() for inputs, _ in made.take(4)])

    parts = [drawn(host=host, hosts=hosts) for host in range(hosts)]
    key = [[1, step] for step in range(4)]
    expected = [change.draw(tf.constant(one, tf.int64), 8, 32).numpy() for one in key]
    assert (np.concatenate(parts, axis=1) == expected).all()
    if hosts > 1:
        assert (drawn(start=2, hosts=hosts)[:2] == parts[0][2:]).all()
        assert (drawn(seed=2, hosts=hosts) != parts[0]).any()


def test_the_images_are_left_for_the_device_to_change(splits):
    change = augmentation("strong")
    given = {"seed": 1, "deterministic": True}
    plain = pipeline.Batches(splits[0], 8, 3, **given).dataset()
    left = pipeline.Batches(splits[0], 8, 3, augment=change, **given).dataset()
    for (images, _), (inputs, _) in zip(plain.take(3), left.take(3), strict=True):
        assert (inputs["image"].numpy() == images.numpy()).all()


@pytest.mark.parametrize("cache", [True, False])
def test_a_part_trains_on_its_own_images_alone(splits, cache):
    parts = [splits[0].part(index, 3) for index in range(3)]
    seen = [
        {
            int(image.astype(np.int64).sum())
            for images, _ in take(pipeline.Batches(part, 4, 3, cache=cache).dataset(), 30)
            for image in images
        }
        for part in parts
    ]
    assert [len(sums) for sums in seen] == [part.count for part in parts]
    assert len(set.union(*seen)) == splits[0].count


@pytest.mark.parametrize("cache", [True, False])
@pytest.mark.parametrize("limit", [0, 40])
def test_begun_again_or_further_on_the_order_is_the_same(dataset, cache, limit):
    split = Split.find(str(dataset), 32, "train", limit)

    def rows(batches, count):
        return [images.numpy() for images, _ in batches.take(count)]

    given = {"seed": 3, "deterministic": True, "cache": cache}
    batches = pipeline.Batches(split, 8, 3, **given).dataset()
    first = rows(batches, 12)
    assert not all((a == b).all() for a, b in zip(first[:5], first[5:10], strict=True))
    later = pipeline.Batches(split, 8, 3, **given).dataset(7)
    for expected, found in ((first, rows(batches, 12)), (first[7:], rows(later, 5))):
        assert all((a == b).all() for a, b in zip(expected, found, strict=True))
    assert all((a == b).all() for a, b in zip(first[7:], rows(later, 5), strict=True))
