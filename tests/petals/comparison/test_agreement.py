import numpy as np
import pytest

from petals.comparison import agreement as agreement_module
from petals.comparison import runs
from petals.comparison.agreement import Agreement
from petals.data import shards
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
    found = Agreement.of(*pair)
    parts = (found.both, found.only_first, found.only_second, found.neither)
    assert sorted(np.concatenate(parts).tolist()) == list(range(60))
    assert pair[0].right[found.only_first].all()
    assert not pair[1].right[found.only_first].any()
    assert found.chance < 0.01


def test_equal_splits_may_be_chance():
    def agreement(first, second):
        empty = np.arange(0)
        return Agreement(empty, np.arange(first), np.arange(second), empty)

    assert agreement(5, 5).chance == 1.0
    assert agreement(0, 0).chance == 1.0
    assert agreement(0, 10).chance == pytest.approx(2 / 1024)


def test_the_rival_knows_what_the_best_does_not(write_run, read, monkeypatch):
    for name, skill in (("best", 0.95), ("alike", 0.9), ("other", 0.7)):
        write_run(name, skill)
    best, rival = agreement_module.most_complementary(read())
    gains = {r.name: (r.right & ~best.right).sum() for r in read() if r.name != best.name}
    assert gains[rival.name] == max(gains.values())


def test_one_run_has_no_rival(write_run, read):
    write_run("alone")
    with pytest.raises(DataError, match="only one run"):
        agreement_module.most_complementary(read())


def test_photos_are_found_by_id(write_run, read, dataset, splits):
    labels, ids = shards.labels_and_ids(splits[1])
    for name in ("one", "two"):
        write_run(name, labels=labels[::-1], ids=ids[::-1], data=str(dataset))
    pair = agreement_module.most_complementary(read())
    photos = agreement_module.photos(pair[0])
    assert not photos.missing
    assert photos.names == ("blue", "red", "yellow")
    images = photos.of(pair[0], np.array([0, 5]))
    expected = shards.sample(splits[1], [len(ids) - 1, len(ids) - 6]).images
    assert np.array_equal(images, expected)
    compare.told_by_two(photos, pair, np.arange(6), most=4).canvas.draw()
    compare.agreement(Agreement.of(*pair), pair).canvas.draw()


def test_photos_that_are_gone_or_others_are_said(write_run, read, dataset):
    write_run("one")
    run = read()[0]
    assert "no pictures: no data at 'nowhere'" in agreement_module.photos(run).missing
    assert "does not hold the photos" in agreement_module.photos(run, str(dataset)).missing
    with pytest.raises(DataError, match="does not hold the photos"):
        agreement_module.photos(run, str(dataset)).of(run, np.arange(2))
    assert list(agreement_module.photos(run).names) == ["class 0", "class 1", "class 2"]
