import csv
import shutil

import pytest
import tensorflow as tf

from petals.data import dataset as dataset_
from petals.data import shards
from petals.errors import DataError, SettingError


@pytest.fixture
def find(dataset, tmp_path):
    def find(**changed):
        usual = {"data": str(dataset), "image_size": 32, "limit": 0, "validation": "val"}
        return dataset_.find_dataset(usual | changed, tmp_path / "run")

    return find


def test_the_three_splits_and_how_they_are_told(find, dataset):
    found = find()

    assert {name: split.count for name, split in found.splits.items()} == {
        "train": 50,
        "val": 21,
        "test": 13,
    }
    assert str(found) == f"folder {dataset}: 3 classes; 50 train, 21 val, 13 test"


def test_a_fold_is_cut_from_both_labelled_splits(find):
    found = find(validation="fold:2/3")

    assert found.train.count + found.val.count == 71
    assert find(validation="none").train.count == 71
    with pytest.raises(SettingError, match="names no fold"):
        find(validation="fold:4/3")


def test_photos_of_another_source_are_counted_and_its_twins_written(
    find, dataset, tmp_path, write_split
):
    other = tmp_path / "other"
    examples = list(shards.read_shard(shards.shard_paths(dataset, 32, "val")[0]))[:3]
    write_split(other, "train", [(e.image, e.id, e.label) for e in examples], 32)
    (other / "classes.json").write_text('["blue", "red", "yellow"]')

    found = find(data=f"{dataset}, {other}")

    assert str(found).startswith(f"folder {other}: 0 of 3 photos added; 3 are also in val")
    assert found.added[0].summary()["twins"]["val"] == 3
    with (tmp_path / "run" / dataset_.TWINS).open() as file:
        twins = [row["twin"] for row in csv.DictReader(file)]
    assert set(twins) <= set(found.val.labels_and_ids()[1].tolist())


def test_a_sample_of_another_test_split_is_noticed_before_training(find, copied):
    sample = copied / "sample_submission.csv"
    rows = "".join(f"{example.id},0\r\n" for example in find().test.examples())
    sample.write_text(f"id,label\r\n{rows}", "utf-8-sig")  # as Windows writes it
    find(data=str(copied))
    for text, message in (
        (f"id,label\n{rows[4:]}zzz,0", "2 are only in the list, 1 only in the split"),
        (f"Id,label\n{rows}", "must be a CSV in UTF-8 with a column id"),
    ):
        sample.write_text(text)
        with pytest.raises(DataError, match=message):
            find(data=str(copied))
    part = find(data=str(copied), limit=5)  # of which no sample is
    shutil.rmtree(copied)
    assert len(part.train.labels_and_ids()[1]) == len(part.test.labels_and_ids()[1]) == 5


@pytest.mark.parametrize(
    ("split", "change", "message"),
    [
        ("train", lambda one, *_: [one.replace(b"\3\n\1\0", b"\3\n\1\7")], "1 images, .* in 0..2"),
        ("val", lambda one, *_: [one.replace(b"class", b"other")], "record 0: .*like a label"),
        ("test", lambda one, *_: [one.replace(b"image", b"other")], "record 0: .*like an image"),
        ("val", lambda one, other: [other, one.replace(b"class", b"other")], "1 images, .* in 0"),
        ("train", lambda one, other: [other, one.replace(b"image", b"other")], "record 1: .* 0 of"),
        ("test", lambda *_: [], "hold 12 images where their names say 13"),
        ("test", lambda _, other: [other], "1 test ids occur twice"),
    ],
)
def test_bad_records_are_found_before_training(find, copied, split, change, message):
    path = shards.shard_paths(copied, 32, split)[0]
    first, *rest = map(shards.serialize, shards.read_shard(path))
    with tf.io.TFRecordWriter(path) as writer:
        for record in [*change(first, rest[0]), *rest]:
            writer.write(record)
    with pytest.raises(DataError, match=message):
        find(data=str(copied))
