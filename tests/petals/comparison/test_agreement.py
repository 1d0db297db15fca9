import numpy as np
import pytest

from petals.comparison import agreement as agreement_module
from petals.comparison import runs
from petals.comparison.agreement import Agreement
from petals.errors import DataError
from petals.plots import compare


@pytest.fixture
def read(tmp_path):
    return lambda: runs.read(str(tmp_path / "runs" / "*"))[0]


def test_every_photo_is_in_one_part(write_run, read):
    write_run("strong", 0.9)
    write_run("weak", 0.5)
    pair = agreement_module.most_complementary(read())
    assert [run.name for run in pair] == ["strong", "weak"]
    answers = Agreement.of(*pair)
    parts = (answers.both, answers.only_first, answers.only_second, answers.neither)
    assert sorted(np.concatenate(parts).tolist()) == list(range(60))
    assert pair[0].right[answers.only_first].all()
    assert not pair[1].right[answers.only_first].any()
    assert answers.chance < 0.01


def test_equal_splits_may_be_chance():
    def agreement(first, second):
        empty = np.arange(0)
        return Agreement(empty, np.arange(first), np.arange(second), empty)

    assert agreement(5, 5).chance == 1.0
    assert agreement(0, 0).chance == 1.0
    assert agreement(0, 10).chance == pytest.approx(2 / 1024)


def test_the_rival_knows_what_the_best_does_not(write_run, read, tmp_path):
    def wrong_at(name, *positions):
        folder = write_run(name)
        stored = dict(np.load(folder / "val_predictions.npz"))
        answers = np.arange(60) % 3
        answers[list(positions)] = (answers[list(positions)] + 1) % 3
        stored["probabilities"] = np.eye(3, dtype=np.float32)[answers]
        np.savez(folder / "val_predictions.npz", **stored)

    wrong_at("best", 0, 1, 2, 3)
    wrong_at("alike", 0, 1, 2, 3, 4)  # right nowhere where the best is wrong
    wrong_at("other", 3, *range(10, 40))  # worse in all, and right in three of the best's four
    wrong_at("half", 2, 3, *range(10, 20))
    assert [run.name for run in agreement_module.most_complementary(read())] == ["best", "other"]


def test_one_run_has_no_rival(write_run, read):
    write_run("alone")
    with pytest.raises(DataError, match="only one run"):
        agreement_module.most_complementary(read())


def test_photos_are_found_by_id(write_run, read, dataset, splits):
    labels, ids = splits[1].labels_and_ids()
    for name in ("one", "two"):
        write_run(name, labels=labels[::-1], ids=ids[::-1], data=str(dataset))
    pair = agreement_module.most_complementary(read())
    photos = agreement_module.photos(pair[0])
    assert not photos.missing
    assert photos.names == ("blue", "red", "yellow")
    images = photos.of(pair[0], np.array([0, 5]))
    expected = splits[1].sample([len(ids) - 1, len(ids) - 6]).images
    assert np.array_equal(images, expected)
    compare.surest(photos, pair, np.arange(6), most=4).canvas.draw()
    compare.agreement(Agreement.of(*pair), pair).canvas.draw()


def test_photos_that_are_gone_or_others_are_said(write_run, read, dataset):
    write_run("one")
    run = read()[0]
    assert "no pictures: no data at 'nowhere'" in agreement_module.photos(run).missing
    assert "does not contain the photos" in agreement_module.photos(run, str(dataset)).missing
    with pytest.raises(DataError, match="does not contain the photos"):
        agreement_module.photos(run, str(dataset)).of(run, np.arange(2))
    assert list(agreement_module.photos(run).names) == ["class 0", "class 1", "class 2"]
