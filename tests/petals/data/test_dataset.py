import csv
import shutil

import pytest
import tensorflow as tf

from petals.data import dataset as dataset_
from petals.data import records, writing
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


def test_a_limit_that_leaves_out_test_photos_is_told_and_a_larger_one_is_none(find):
    assert "submission.partial.csv will lack them" in str(find(limit=12))
    assert "partial" not in str(find(limit=13))
    assert "partial" not in str(find(limit=0))


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
    examples = list(records.read(writing.shard_paths(dataset, 32, "val")[0]))[:3]
    write_split(other, "train", [(e.image, e.id, e.label) for e in examples], 32)
    (other / "classes.json").write_text('["blue", "red", "yellow"]')

    found = find(data=f"{dataset}, {other}")

    assert str(found).startswith(f"folder {other}: 0 of 3 photos added; 3 are also in val")
    assert found.added[0].summary()["twins"]["val"] == 3
    with (tmp_path / "run" / dataset_.TWINS).open() as file:
        twins = [row["twin"] for row in csv.DictReader(file)]
    assert set(twins) <= set(found.val.labels_and_ids()[1].tolist())


def test_a_source_that_is_named_twice_is_refused(find, dataset, monkeypatch):
    monkeypatch.chdir(dataset.parent)
    for again in (dataset, dataset.name, f"./{dataset.name}/"):
        with pytest.raises(DataError, match="names a source twice: name each once"):
            find(data=f"{dataset},{again}")


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
        ("val", lambda one, *_: [one.replace(b"class", b"other")], "1 images, .* in 0..2"),
        ("test", lambda one, *_: [one.replace(b"image", b"other")], "record 0: it has id"),
        ("val", lambda one, other: [other, one.replace(b"class", b"other")], "1 images, .* in 0"),
        ("train", lambda one, other: [other, one.replace(b"image", b"other")], "record 1: it has"),
        ("test", lambda *_: [], "hold 12 images where their names say 13"),
        ("test", lambda _, other: [other], "1 test ids occur twice"),
    ],
)
def test_bad_records_are_found_before_training(find, copied, split, change, message):
    path = writing.shard_paths(copied, 32, split)[0]
    first, *rest = map(writing.serialize, records.read(path))
    with tf.io.TFRecordWriter(path) as writer:
        for record in [*change(first, rest[0]), *rest]:
            writer.write(record)
    with pytest.raises(DataError, match=message):
        find(data=str(copied))


def without(copied, *splits):
    for split in splits:
        shutil.rmtree(copied / "tfrecords-jpeg-32x32" / split)
    return str(copied)


def test_without_test_photos_a_run_trains_and_says_so(find, copied):
    found = find(data=without(copied, "test"))
    assert found.test is None
    assert list(found.splits) == ["train", "val"]
    assert str(found).endswith("50 train, 21 val, no test photos, so there will be no submission")


def test_without_validation_photos_folds_cut_them_from_train(find, copied):
    data = without(copied, "val", "test")
    with pytest.raises(DataError, match=r"no validation photos \(val\): set validation=fold:1/5"):
        find(data=data)
    found = find(data=data, validation="fold:2/5")
    assert (found.train.count, found.val.count) == (40, 10)
    together = find(data=data, validation="none")
    assert together.train.count == together.val.count == 50


def test_without_training_photos_there_is_no_run(find, copied):
    with pytest.raises(DataError, match="has no train photos, and test, val ones: add"):
        find(data=without(copied, "train"))


def test_what_makes_a_score_mean_less_is_said(find, copied):
    (copied / "classes.json").write_text('["blue", "red", "yellow", "green"]')
    found = find(data=str(copied))
    assert [line.split(":")[0] for line in found.warnings] == [
        "1 of 4 classes have no training photo, so no photo is recognised as one of them",
        "1 of 4 classes have no validation photo, so the scores say nothing about them",
    ]
    assert str(found).count("\nwarning: ") == 2


def test_a_wrong_place_deletes_nothing_and_a_right_one_an_earlier_list_of_twins(find, tmp_path):
    (tmp_path / "run").mkdir()
    twins = tmp_path / "run" / dataset_.TWINS
    twins.write_text("earlier")
    with pytest.raises(DataError):
        find(data=str(tmp_path / "nowhere"))
    assert twins.read_text() == "earlier"
    find()
    assert not twins.exists()


def test_more_photos_without_names_are_taken_as_of_the_same_classes(
    find, dataset, tmp_path, picture, write_split, capsys
):
    other = tmp_path / "more" / "imagenet"
    write_split(other, "train", [(picture(n, size=32), f"m{n}", n % 3) for n in range(6)], 32)
    found = find(data=f"{dataset},{other.parent}")
    assert "6 of 6 photos added" in str(found)
    assert "its labels are taken as those of the first source" in capsys.readouterr().out
    write_split(other, "train", [(picture(n, size=32), f"m{n}", n) for n in range(6)], 32)
    with pytest.raises(DataError, match="classes that the first source lacks: 0, 1, 2, 3, 4, 5"):
        find(data=f"{dataset},{other.parent}")
