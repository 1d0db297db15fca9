import numpy as np
import pytest

from petals.data import folds
from petals.data.shards import Split
from petals.errors import DataError

SIZE = 32


@pytest.fixture
def cut(splits, tmp_path):
    def cut(count, number):
        return folds.divided(splits[0], splits[1], count, number, tmp_path)

    return cut


def ids(split):
    return split.labels_and_ids()[1].tolist()


def test_out_of_fold_each_image_comes_once_as_it_was_and_is_written_once(cut, splits, tmp_path):
    def examples(*parts):
        return sorted((e.id, e.label, e.image) for part in parts for e in part.examples())

    def written():
        return {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.tfrec")}

    cut(3, 0)
    before, parts = written(), [cut(3, number) for number in range(3)]
    assert written() == before
    everything = examples(*splits[:2])
    assert all(examples(train, val) == everything for train, val in parts)
    assert examples(*(val for _, val in parts)) == everything


def test_the_parts_of_a_class_differ_by_one_image(splits):
    columns = zip(*(split.labels_and_ids() for split in splits[:2]), strict=True)
    labels, names = map(np.concatenate, columns)
    part = folds.assigned(labels, names, 4)
    for label in range(3):
        counts = np.bincount(part[labels == label], minlength=4)
        assert counts.max() - counts.min() <= 1
    assert np.ptp(np.bincount(part)) <= 1
    order = np.random.default_rng(0).permutation(len(labels))
    assert (folds.assigned(labels[order], names[order], 4) == part[order]).all()


def test_together_both_are_trained_on(cut, splits, dataset, tmp_path):
    train, val = cut(1, 0)
    assert ids(train) == ids(splits[0]) + ids(splits[1])
    assert val == splits[1]
    some = Split.find(str(dataset), SIZE, "train", 10)
    train, _ = folds.divided(some, splits[1], 1, 0, tmp_path)
    assert sorted(ids(train)) == sorted(ids(splits[0])[:10] + ids(splits[1]))


def test_more_folds_than_images_and_an_image_in_both_splits_are_refused(cut, splits, tmp_path):
    with pytest.raises(DataError, match="71 images cannot make 80 folds"):
        cut(80, 0)
    with pytest.raises(DataError, match="21 ids occur twice"):
        folds.divided(splits[1], splits[1], 2, 0, tmp_path)
    assert not list(tmp_path.rglob("*.tfrec"))


def test_images_that_look_alike_stay_together(picture, write_split, tmp_path):
    def written(part, quality):
        rows = [(picture(n, quality), f"{n:02} {part}", n % 3) for n in range(12)]
        return write_split(tmp_path, part, rows)

    parts = written("train", 90), written("val", 60)
    for number in range(3):
        _, val = folds.divided(*parts, 3, number, tmp_path / "cache")
        numbers = sorted(id_.split()[0] for id_ in ids(val))
        assert numbers[::2] == numbers[1::2] != []


def test_all_labelled_images_can_be_in_train(splits, tmp_path):
    parts = [folds.divided(splits[0], None, 5, number, tmp_path) for number in range(5)]
    assert sorted(id_ for _, val in parts for id_ in ids(val)) == sorted(ids(splits[0]))
    assert folds.divided(splits[0], None, folds.TOGETHER, 0, tmp_path) == (splits[0], splits[0])
