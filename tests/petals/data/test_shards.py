import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from petals.data.shards import Split, existing_splits
from petals.errors import DataError


def test_labels_and_ids_follow_the_same_order(splits):
    labels, ids = splits[2].labels_and_ids()
    assert len(ids) == 13
    assert (labels == -1).all()
    labels, _ = splits[1].labels_and_ids()
    assert set(labels) == {0, 1, 2}


def test_limit_takes_the_first_images(dataset):
    split = Split.find(str(dataset), 32, "val", 5)
    whole = Split.find(str(dataset), 32, "val")
    assert split.count == 5
    assert (split.labels_and_ids()[1] == whole.labels_and_ids()[1][:5]).all()
    assert split.fingerprint() != whole.fingerprint()


def test_splits_that_are_not_there_are_left_out(dataset, tmp_path):
    folder = tmp_path / "tfrecords-jpeg-32x32"
    folder.mkdir()
    (folder / "train").symlink_to(dataset / "tfrecords-jpeg-32x32" / "train")
    assert list(existing_splits(str(tmp_path), 32)) == ["train"]
    with pytest.raises(DataError, match="no images of size 64"):
        existing_splits(str(tmp_path), 64)


def test_a_sample_is_of_the_positions_asked_for(splits):
    labels, _ = splits[1].labels_and_ids()
    sample = splits[1].sample([20, 3, 11])
    assert sample.images.shape == (3, 32, 32, 3)
    assert sample.labels.tolist() == labels[[20, 3, 11]].tolist()
    assert len(splits[1].sample(100).labels) == 21


def test_an_empty_shard_does_not_pass_for_a_full_one(dataset, tmp_path):
    shutil.copytree(dataset, tmp_path / "copy")
    split = Split.find(str(tmp_path / "copy"), 32, "val")
    Path(split.paths[0]).write_bytes(b"")
    with pytest.raises(DataError, match="hold 10 images where their names say 21"):
        split.labels_and_ids()


@pytest.mark.parametrize("of", [1, 2, 3, 7])
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
    first = parts[-1].sample(1)
    assert (first.images == train.sample([train.count - counts[-1]]).images).all()


def test_a_batch_is_no_larger_than_a_small_split_needs():
    split = Split(("00-32x32-21.tfrec",), 32, 21)
    assert [split.batch_size(most) for most in (1, 10, 32, 256)] == [1, 10, 32, 32]
    assert [replace(split, count=count).batch_size(32) for count in (1, 6, 8, 9)] == [1, 8, 8, 16]


def test_fewer_images_than_hosts_are_an_error_that_says_so(splits):
    with pytest.raises(DataError, match="13 images for 14 hosts: use fewer hosts"):
        splits[2].part(0, 14)
    assert len(splits[2].paths) == 1, "fewer shards than hosts are none"
    assert [splits[2].part(i, 13).count for i in range(13)] == [1] * 13
