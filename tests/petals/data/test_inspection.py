from pathlib import Path

import pytest

from petals.data import inspection, records, writing
from petals.data.records import Example
from petals.data.shards import Split
from petals.errors import DataError


def test_inspect_finds_nothing_wrong_in_good_data(dataset):
    report = inspection.inspect(str(dataset))
    assert [(h.split, h.images) for h in report] == [("train", 50), ("val", 21), ("test", 13)]
    assert report[0].labels == {0: 17, 1: 17, 2: 16}
    assert str(report[0]).endswith("MB; 3 classes with 16 to 17 images each")
    assert not any(h.problems for h in report)


def test_inspect_finds_what_is_wrong(copied, flip):
    paths = [Path(p) for p in writing.shard_paths(copied, 32, "train")]
    examples = list(records.read(paths[0]))
    wrong = [
        *examples[:-3],
        Example(examples[-3].image, "a" * 9, 7),
        Example(b"no picture", "b" * 9, 1),
        Example(examples[-1].image, examples[0].id),
    ]
    writing.write_shard(paths[0], wrong)
    paths[1].rename(paths[1].with_name("01-32x32-99.tfrec"))
    flip(paths[2])
    (train, *_) = inspection.inspect(str(copied))
    for problem in (
        "label 7 is not in 0..2",
        f"(id {examples[0].id}): label -1 is not",
        "of no known format",
        f"1 ids occur more than once, such as {examples[0].id}",
        "17 records, its name says 99",
        "is damaged: ",
    ):
        assert problem in str(train)


def test_inspect_finds_images_of_another_size(copied):
    folder = (copied / "tfrecords-jpeg-32x32").rename(copied / "tfrecords-jpeg-64x64")
    for path in folder.glob("*/*.tfrec"):
        path.rename(path.with_name(path.name.replace("32x32", "64x64")))
    assert "image of 32 x 32 pixels" in str(inspection.inspect(str(copied))[0])


def test_a_limited_split_is_read_no_further_than_its_shards(dataset):
    split = Split.find(str(dataset), 32, "train", 18)
    health = inspection.inspect_split("train", split, 3)
    assert len(health.megabytes) == 2
    assert health.problems == []


def test_without_names_of_classes_any_label_is_right(copied):
    (copied / "classes.json").unlink()
    report = inspection.inspect(str(copied))
    assert report[0].labels == {0: 17, 1: 17, 2: 16}
    assert not any(h.problems for h in report)


def test_records_of_another_layout_are_read_too(copied):
    (copied / "tfrecords-jpeg-32x32").rename(copied / "records")
    report = inspection.inspect(str(copied))
    assert str(report[0]).startswith("any size, train: 50 images in ")
    assert not any(health.problems for health in report)


def test_inspect_of_nothing_is_an_error(tmp_path):
    with pytest.raises(DataError, match="has no train photos, and no other ones"):
        inspection.inspect(str(tmp_path))


@pytest.mark.parametrize(
    ("megabytes", "words"),
    [
        ([4.0], "1 shard of 4.0 MB"),
        ([4.01, 4.0], "2 shards of 4.0 MB"),
        ([3, 9], "2 shards of 3.0 to 9.0 MB"),
    ],
)
def test_shards_are_counted_in_words_that_fit_their_number(megabytes, words):
    assert writing.described(megabytes) == words
