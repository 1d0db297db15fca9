import io
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from PIL import Image

from petals.data import damage, records, shards, writing
from petals.data.records import Example
from petals.data.samples import sample_of
from petals.data.shards import Split
from petals.data.source import Source
from petals.errors import DataError


def first_shard(root):
    return Path(writing.shard_paths(root, 32, "train")[0])


def test_names_carry_the_count():
    assert shards.shard_count("gs://b/train/03-192x192-798.tfrec") == 798


def test_files_with_other_names_are_counted(copied):
    path = first_shard(copied)
    other = path.rename(path.with_name("flowers.tfrecord"))
    assert shards.shard_count(str(other)) == 17
    assert Split.find(str(copied), 32, "train").count == 50
    other.write_bytes(other.read_bytes()[:-9])
    with pytest.raises(DataError, match="record 16 is damaged: the file ends within it"):
        shards.shard_count(str(other))


def test_the_fingerprint_follows_the_content(dataset, copied):
    before = Split.find(copied, 32, "train").fingerprint()
    assert before == Split.find(dataset, 32, "train").fingerprint()
    path = first_shard(copied)
    examples = list(records.read(path))
    writing.write_shard(path, [*examples[:-1], Example(b"new", "n", 0)])
    assert before != Split.find(copied, 32, "train").fingerprint()


def test_limit_takes_the_first_images(dataset):
    split, whole = (Split.find(str(dataset), 32, "val", limit) for limit in (5, 0))
    assert split.count == 5
    assert (split.labels_and_ids()[1] == whole.labels_and_ids()[1][:5]).all()
    assert split.fingerprint() != whole.fingerprint()


def test_splits_that_are_not_there_are_left_out(copied):
    copied = copied.rename(copied.with_name("copy [1]"))
    source = Source(str(copied), "folder")
    for part in ("val", "test"):
        shutil.rmtree(copied / "tfrecords-jpeg-32x32" / part)
    assert list(source.splits(32)) == ["train"]
    with pytest.raises(DataError, match="has no val photos, and train ones: add TFRecords"):
        Split.find(str(copied), 32, "val")
    assert source.splits(64)["train"].record_size == 32


@pytest.fixture
def two_sizes(copied):
    """A dataset whose photos are there in 32 pixels and, enlarged, in 64."""
    for name in shards.SPLITS:
        for path in writing.shard_paths(copied, 32, name):
            examples = [
                replace(example, image=in_size(example.image, 64)) for example in records.read(path)
            ]
            target = Path(writing.folder(copied, 64, name))
            writing.write_shard(target / Path(path).name.replace("32x32", "64x64"), examples)
    return str(copied)


def in_size(jpeg, size):
    resized = tf.image.resize(tf.io.decode_jpeg(jpeg), (size, size))
    return tf.io.encode_jpeg(tf.cast(resized, tf.uint8), quality=100).numpy()


@pytest.mark.parametrize(
    ("size", "stored"), [(16, 32), (32, 32), (33, 64), (60, 64), (64, 64), (90, 64)]
)
def test_records_are_the_smallest_that_are_not_smaller_or_the_largest(two_sizes, size, stored):
    for name in shards.SPLITS:
        split = Split.find(two_sizes, size, name)
        assert (split.size, split.record_size) == (size, stored)
        assert split.part(1, 2).record_size == split.holding(split.paths).record_size == stored
        assert sample_of(split, 2).images.shape == (2, size, size, 3)


@pytest.mark.parametrize(
    ("record", "size", "fraction"), [(64, 32, 2), (64, 30, 2), (64, 8, 8), (64, 5, 8), (64, 33, 1)]
)
def test_a_jpeg_is_decoded_in_the_largest_fraction_that_is_enough(record, size, fraction):
    ramp = np.linspace(0, 255, record).astype(np.uint8)
    picture = np.stack([np.tile(ramp, (record, 1))] * 3, axis=-1)
    jpeg = tf.io.encode_jpeg(picture, quality=100)
    pixels = np.asarray(shards.decoded(jpeg, record, size))

    assert (pixels.shape, pixels.dtype) == ((size, size, 3), np.uint8)
    places = (np.arange(size) + 0.5) / size * record - 0.5  # the centres of the new pixels
    expected = np.interp(places, np.arange(record), ramp)
    assert np.abs(pixels[size // 2, :, 0] - expected).max() < 5
    whole = tf.io.decode_jpeg(jpeg, ratio=fraction)
    assert whole.shape[0] >= size
    assert fraction == 8 or tf.io.decode_jpeg(jpeg, ratio=2 * fraction).shape[0] < size


def test_an_enlarged_photo_is_smooth():
    picture = np.zeros((8, 8, 3), np.uint8)
    picture[:, 4:] = 200
    pixels = np.asarray(shards.decoded(tf.io.encode_png(picture), 8, 24))
    assert {0, 200} < set(pixels[12, :, 0].tolist())  # there are values between


def test_photos_of_another_size_than_the_records_have_the_name_of_a_damaged_file(two_sizes):
    path = Path(writing.shard_paths(two_sizes, 64, "train")[0])
    first, *others = records.read(path)
    writing.write_shard(path, [replace(first, image=in_size(first.image, 48)), *others])
    with pytest.raises(DataError, match="image of 48 x 48 pixels"):
        sample_of(Split.find(two_sizes, 60, "train"), 1)


@pytest.mark.parametrize("of", [2, 7])
def test_parts_of_a_split_are_its_images_in_order(splits, of):
    train = splits[0]
    parts = [train.part(index, of) for index in range(of)]

    def ids(pieces):
        return [id_ for piece in pieces for id_ in piece.labels_and_ids()[1]]

    assert ids(parts) == ids([train])
    assert ids(parts[-1].part(i, 2) for i in range(2)) == ids(parts[-1:]), "divided again"
    counts = [part.count for part in parts]
    assert max(counts) - min(counts) <= 1
    assert len({part.fingerprint() for part in parts}) == of


@pytest.mark.parametrize(
    ("count", "most", "size"), [(21, 10, 10), (21, 256, 32), (1, 32, 1), (8, 32, 8), (9, 32, 16)]
)
def test_a_batch_is_no_larger_than_a_small_split_needs(count, most, size):
    assert Split((), 32, count).batch_size(most) == size


def test_fewer_images_than_hosts_are_an_error_that_says_so(splits):
    with pytest.raises(DataError, match="13 images for 14 hosts: use fewer hosts"):
        splits[2].part(0, 14)
    assert len(splits[2].paths) == 1, "fewer shards than hosts are none"
    assert splits[2].part(12, 13).count == 1


@pytest.mark.parametrize("name", ["._00-32x32-17.tfrec", ".hidden-32x32-5.tfrec"])
def test_what_a_system_leaves_is_no_shard(copied, name):
    shutil.copy(first_shard(copied), first_shard(copied).with_name(name))
    assert Split.find(str(copied), 32, "train").count == 50


def test_a_record_of_two_classes_or_another_format_is_told_in_one_line(copied):
    path = first_shard(copied)
    first, *rest = list(records.read(path))
    record = tf.train.Example.FromString(writing.serialize(first))
    record.features.feature["class"].int64_list.value.append(2)
    rows = [*map(writing.serialize, rest), record.SerializeToString()]
    with tf.io.TFRecordWriter(str(path)) as writer:
        for one in rows:
            writer.write(one)
    with pytest.raises(DataError, match=r"record 16: it has class \(2 int64\), id"):
        Split.find(str(copied), 32, "train").labels_and_ids()


@pytest.mark.parametrize(
    ("kind", "what"), [("WEBP", "a WebP"), ("GIF", "a GIF"), ("TIFF", "a TIFF")]
)
def test_an_image_of_a_format_that_is_not_decoded_is_named(copied, kind, what):
    path, buffer = first_shard(copied), io.BytesIO()
    Image.new("RGB", (32, 32)).save(buffer, kind)
    examples = list(records.read(path))
    writing.write_shard(path, [*examples[:-1], Example(buffer.getvalue(), "odd", 0)])
    message = f"image odd: its image is {what}: write the records again"
    with pytest.raises(DataError, match=message):
        Split.find(str(copied), 32, "train").labels_and_ids()
    assert damage.fault(Example(buffer.getvalue(), "odd", 0), 32).startswith(f"its image is {what}")


def test_digests_are_of_the_images_alone(splits):
    digests = splits[0].digests()
    assert (digests.dtype, digests.shape) == (np.uint64, (50,))
    assert len(set(digests.tolist())) == 50
