import shutil
from pathlib import Path

import pytest
import tensorflow as tf

from petals.data import shards, tfrecords
from petals.data.shards import Split
from petals.data.tfrecords import Example
from petals.errors import DataError, StorageError


def copied(dataset, tmp_path) -> Path:
    shutil.copytree(dataset, tmp_path / "copy")
    return tmp_path / "copy"


def first_shard(root, split="train") -> Path:
    return Path(shards.shard_paths(root, 32, split)[0])


def flip_byte(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 0xFF
    path.write_bytes(data)


def test_written_records_are_read_back(tmp_path):
    examples = [Example(b"jpeg", "0123456789"[:9], 3), Example(b"other", "x", None)]
    path = tmp_path / shards.shard_name(0, 32, 2)
    tfrecords.write_shard(path, examples)
    assert list(tfrecords.read_shard(path)) == examples


def test_names_carry_number_size_and_count():
    assert shards.shard_name(3, 192, 798) == "03-192x192-798.tfrec"
    assert shards.shard_count("gs://b/train/03-192x192-798.tfrec") == 798
    with pytest.raises(DataError, match="not named"):
        shards.shard_count("train.tfrec")


def test_a_missing_size_names_those_on_disk(dataset):
    with pytest.raises(DataError, match=r"no images of size 192; the sizes there: 32"):
        shards.shard_paths(dataset, 192, "train")


@pytest.mark.parametrize("keep", [400, -3])
def test_a_shard_cut_short_is_named(dataset, tmp_path, keep):
    path = first_shard(copied(dataset, tmp_path))
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(DataError, match=path.name):
        list(tfrecords.read_shard(path))


def test_one_flipped_byte_is_found(dataset, tmp_path):
    path = first_shard(copied(dataset, tmp_path))
    flip_byte(path, path.stat().st_size // 2)
    with pytest.raises(DataError, match="damaged after"):
        list(tfrecords.read_shard(path))


def test_the_fingerprint_follows_the_content(dataset, tmp_path):
    root = copied(dataset, tmp_path)
    before = Split.find(root, 32, "train").fingerprint()
    assert before == Split.find(dataset, 32, "train").fingerprint()
    path = first_shard(root)
    examples = list(tfrecords.read_shard(path))
    tfrecords.write_shard(path, [*examples[:-1], Example(b"new", "n", 0)])
    assert before != Split.find(root, 32, "train").fingerprint()


def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(StorageError, match="No space left"):
        tfrecords.write_shard(tmp_path / "00-32x32-1.tfrec", [Example(b"a", "a", 0)])
    assert list(tmp_path.iterdir()) == []


def test_a_writer_that_fails_says_so(tmp_path, monkeypatch):
    class Full(tf.io.TFRecordWriter):
        def write(self, record):
            raise tf.errors.ResourceExhaustedError(None, None, "disk quota exceeded")

    monkeypatch.setattr(tf.io, "TFRecordWriter", Full)
    with pytest.raises(StorageError, match="disk quota exceeded"):
        tfrecords.write_shard(tmp_path / "00-32x32-1.tfrec", [Example(b"a", "a", 0)])
    assert list(tmp_path.iterdir()) == []
