"""What a rehearsal finds as the competition: drawn flowers in the sizes that are asked for."""

import tomllib

import pytest

from petals.data import shards
from petals.data.source import COMPETITION
from petals.prepare import rehearsal_data


@pytest.fixture
def small(few, monkeypatch):
    """A flower of each class, and a competition whose photos have few pixels."""
    monkeypatch.setattr(rehearsal_data, "SIZES", (8, 9, 10))


def test_the_sizes_that_are_asked_for_are_made_and_no_others(small, tmp_path):
    root = rehearsal_data.fill(tmp_path, [9])
    assert root == tmp_path / "competitions" / COMPETITION
    assert shards.sizes(root) == [9]
    assert not (root / "solution.csv").exists()

    rehearsal_data.fill(tmp_path, [9, 8])
    assert shards.sizes(root) == [8, 9]
    assert shards.shard_paths(root, 8, "val")
    assert not list(root.rglob("manifest.json"))
    rehearsal_data.fill(tmp_path, [777])  # of the largest that the competition has
    assert shards.sizes(root) == [8, 9, 10]


def test_files_that_were_put_there_by_hand_stay_as_they_are(small, tmp_path):
    own = tmp_path / "competitions" / COMPETITION / "tfrecords-jpeg-9x9"
    own.mkdir(parents=True)

    rehearsal_data.fill(tmp_path, [8])
    assert shards.sizes(own.parent) == [9]
    answers = tmp_path / "solutions" / f"{COMPETITION}.csv"
    answers.write_text("id,label\n0,1\n")
    rehearsal_data.fill(tmp_path, [8])
    assert shards.sizes(own.parent) == [9]


def test_it_says_how_the_competition_is_scored(tmp_path):
    real = tmp_path / "competitions" / COMPETITION  # put there by hand, or by an older version
    real.mkdir(parents=True)
    assert rehearsal_data.fill(tmp_path) == real
    rules = tmp_path / "solutions" / f"{COMPETITION}.toml"
    assert tomllib.loads(rules.read_text()) == {"metric": "f1_macro", "columns": ["id", "label"]}
    rules.write_text('metric = "accuracy"')
    rehearsal_data.fill(tmp_path)
    assert rules.read_text() == 'metric = "accuracy"'
