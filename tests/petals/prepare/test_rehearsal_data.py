"""What a rehearsal finds as the competition: drawn once, in the sizes that are asked for."""

import pytest

from petals.data import tfrecords
from petals.data.source import COMPETITION
from petals.prepare import rehearsal_data, synthetic


@pytest.fixture
def small(monkeypatch, tmp_path):
    """Three flowers a class, of few pixels."""
    drawn = []

    def ensure(root, size):
        drawn.append(size)
        return whole(root, size, train=1, val=1, test=1)

    whole = synthetic.ensure_dataset
    monkeypatch.setattr(rehearsal_data, "SIZES", (8, 9, 10))
    monkeypatch.setattr(rehearsal_data.synthetic, "ensure_dataset", ensure)
    return drawn


def test_the_sizes_that_are_asked_for_are_drawn_and_no_others(small, tmp_path):
    root = rehearsal_data.fill(tmp_path, [9])
    assert root == tmp_path / "competitions" / COMPETITION
    assert tfrecords.sizes(root) == [9]
    assert not (root / "solution.csv").exists()

    rehearsal_data.fill(tmp_path, [9, 8])
    assert tfrecords.sizes(root) == [8, 9]
    assert tfrecords.shards(root, 8, "val")
    assert small == [9, 8]
    rehearsal_data.fill(tmp_path, [777])
    assert tfrecords.sizes(root) == [8, 9]


def test_files_that_were_put_there_by_hand_stay_as_they_are(small, tmp_path):
    own = tmp_path / "competitions" / COMPETITION / "tfrecords-jpeg-9x9"
    own.mkdir(parents=True)

    rehearsal_data.fill(tmp_path, [8])
    assert tfrecords.sizes(own.parent) == [9]
    answers = tmp_path / "solutions" / f"{COMPETITION}.csv"
    answers.parent.mkdir()
    answers.write_text("id,label\n0,1\n")
    rehearsal_data.fill(tmp_path, [8])
    assert tfrecords.sizes(own.parent) == [9]
