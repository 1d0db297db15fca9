from pathlib import Path

import numpy as np
import pytest

from petals.comparison import agreement
from petals.comparison.agreement import FIRST, SECOND, Agreement
from petals.comparison.runs import FinishedRun
from petals.data.samples import sample_of
from petals.errors import DataError


def test_every_photo_is_in_one_part(write_run, read):
    write_run("strong", 0.9)
    write_run("weak", 0.5)
    pair = Agreement.of(read())
    assert [pair.first.name, pair.second.name] == ["strong", "weak"]
    assert sorted(np.concatenate(list(pair.positions.values())).tolist()) == list(range(60))
    assert pair.first.right[pair.positions[FIRST]].all()
    assert not pair.second.right[pair.positions[FIRST]].any()
    assert pair.chance < 0.01


@pytest.mark.parametrize(("first", "second", "chance"), [(5, 5, 1), (0, 0, 1), (0, 10, 2 / 1024)])
def test_equal_splits_may_be_chance(first, second, chance, monkeypatch):
    positions = {FIRST: np.arange(first), SECOND: np.arange(second)}
    monkeypatch.setattr(Agreement, "positions", positions)
    assert Agreement(None, None).chance == pytest.approx(chance)


def test_the_rival_knows_what_the_best_does_not():
    labels = np.arange(60) % 3

    def wrong_at(name, *positions):
        answers = labels.copy()
        answers[list(positions)] += 1
        return FinishedRun(name, Path(), {}, labels, labels, np.eye(3)[answers % 3])

    runs = [
        wrong_at("best", 0, 1, 2, 3),
        wrong_at("alike", 0, 1, 2, 3, 4),  # right nowhere where the best is wrong
        wrong_at("other", 3, *range(10, 40)),  # worse in all, and right in three of the best's four
        wrong_at("half", 2, 3, *range(10, 20)),
    ]
    pair = Agreement.of(runs)
    assert [pair.first.name, pair.second.name] == ["best", "other"]


def test_photos_are_found_by_id(write_run, read, dataset, splits):
    labels, ids = splits[1].labels_and_ids()
    for name, skill, order in (("one", 1.0, -1), ("two", 0.9, 1)):
        write_run(name, skill, labels=labels[::order], ids=ids[::order], data=str(dataset))
    pair = Agreement.of(read())
    photos, names = agreement.find_photos(pair.first)
    assert names == ("blue", "red", "yellow")
    images, captions = pair.surest(FIRST, photos, names, most=4)
    shown = sample_of(splits[1], splits[1].count).images
    places = [(shown == image).all(axis=(1, 2, 3)).argmax() for image in images]
    assert set(ids[places]) <= set(pair.first.ids[pair.positions[FIRST]])
    assert [caption.split("\n")[0] for caption in captions] == [names[labels[i]] for i in places]
    assert all("1: ✓" in caption and "2: ✓" not in caption for caption in captions)


def test_photos_that_are_gone_or_others_are_said(write_run, read, dataset):
    write_run("one")
    run = read()[0]
    with pytest.raises(DataError, match="no data at 'nowhere'"):
        agreement.find_photos(run)
    with pytest.raises(DataError, match="does not contain the photos"):
        agreement.find_photos(run, str(dataset))
