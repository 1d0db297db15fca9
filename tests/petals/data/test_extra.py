import json

import pytest

from petals.data.extra import more_to_train_on
from petals.data.shards import Split
from petals.data.source import Source
from petals.errors import DataError

SIZE = 64
NAMES = ("blue", "red ", "yellow")


@pytest.fixture
def write(picture, write_split, tmp_path):
    """Writes a source of {split: [(seed, label)]}; the seed makes the picture and the id."""

    def write(name, names=NAMES, **splits):
        quality = 90 if name == "main" else 60  # of another set the same photo has other bytes
        for split, rows in splits.items():
            pictures = [(picture(n, quality), f"{n:09x}", label) for n, label in rows]
            write_split(tmp_path / name, split, pictures)
        (tmp_path / name / "classes.json").write_text(
            json.dumps(names), "utf-8-sig"
        )  # as Windows does
        return Source(str(tmp_path / name), "folder")

    return write


@pytest.fixture
def main(write):
    source = write(
        "main",
        train=[(n, n % 3) for n in range(12)],
        val=[(n, n % 3) for n in range(12, 18)],
        test=[(n, -1) for n in range(18, 24)],
    )
    return {part: Split.find(source.root, SIZE, part) for part in ("train", "val", "test")}


OTHER = ["Yellow", "red"]  # in another order, and fewer
ROWS = [(n, n % 2) for n in (*range(100, 110), 18, 19, 12, 0)]  # two of test, one of val and train


@pytest.fixture
def add(main, write, tmp_path):
    """The additions of another source to the main one."""

    def add(rows=ROWS, names=OTHER, splits=main):
        other = write("other", names, train=rows[:-3], val=rows[-3:])
        return more_to_train_on([other], NAMES, splits, splits["train"], tmp_path / "cache")

    return add


def test_classes_are_matched_by_name_and_twins_left_out(add, tmp_path):
    (added,) = add()
    assert added.added == 10
    assert added.summary()["twins"] == {"test": 2, "val": 1, "train": 1}
    assert "10 of 14 photos added; 2 are also in test; 1 are also in val" in str(added)
    assert added.twins[0][1:] == ["test", "000000012"]
    labels = {example.id: example.label for example in Split.of(added.paths, SIZE).examples()}
    assert len(labels) == 10
    assert labels[f"{100:09x}"] == 2  # Yellow is the first there and the last here
    assert labels[f"{101:09x}"] == 1


def test_a_photo_of_test_that_is_in_train_too_counts_as_one_of_test(add, write):
    both = write("main", train=[(18, 0), (1, 1)])
    splits = {part: Split.find(both.root, SIZE, part) for part in ("train", "test")}
    (added,) = add(splits=splits)
    assert added.summary()["twins"] == {"test": 2, "train": 1}


def test_a_source_that_is_the_test_set_is_refused(add, tmp_path):
    rows = [(n, 0) for n in (*range(18, 24), 100, 101, 102)]
    with pytest.raises(DataError, match="is the test set: 6 of its 9 photos"):
        add(rows)
    assert not list((tmp_path / "cache").rglob("*.tfrec"))


def test_a_source_of_other_classes_is_refused(add):
    with pytest.raises(DataError, match="first source lacks: oak, elm"):
        add(names=["oak", "elm"])


def test_a_second_run_finds_the_written_photos(add, tmp_path):
    def written():
        return {p: p.stat().st_mtime_ns for p in (tmp_path / "cache").rglob("*.tfrec")}

    first, before = add(), written()
    assert add() == first
    assert written() == before
