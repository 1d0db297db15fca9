import json

import pytest

from kernelkit.runs import kit_folder, submitted
from kernelkit.runs.submitted import Submitted


@pytest.fixture
def keep(tmp_path):
    """`keep(entries)`: write them as the submissions of a run; returns its folder."""

    def keep(*entries):
        path = kit_folder.path(tmp_path, kit_folder.SUBMISSIONS)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"submissions": entries}))
        return tmp_path

    return keep


@pytest.mark.parametrize(
    "damaged",
    [
        {"competition": "petals", "when": 5},
        {"competition": "petals", "score": [1]},
        {"competition": "petals", "rank": "first"},
        {"competition": "petals", "parameters": "seed=1"},
        {"score": "0.5"},
        "petals",
    ],
)
def test_an_entry_that_is_no_submission_is_left_out(keep, damaged):
    folder = keep(damaged, {"competition": "petals", "score": "0.91", "later": "unknown"})
    assert submitted.read(folder) == [Submitted("petals", score="0.91")]


def test_a_submission_takes_the_place_of_its_earlier_entry(tmp_path):
    submitted.add(tmp_path, Submitted("petals", 7, "first"))
    submitted.add(tmp_path, Submitted("petals", 8, "second"))
    submitted.add(tmp_path, Submitted("petals", 7, "first", score="0.91"))
    kept = [(each.reference, each.score) for each in submitted.read(tmp_path)]
    assert kept == [(8, ""), (7, "0.91")]


def test_the_last_score_on_kaggle_counts_before_any_rehearsed_one(tmp_path):
    submitted.add(tmp_path, Submitted("petals", 7, score="0.91"))
    submitted.add(tmp_path, Submitted("petals", 8, score="0.92"))
    submitted.add(tmp_path, Submitted("petals", 1, score="0.99", rehearsal=True))
    assert submitted.public_score(tmp_path) == ("petals", 0.92)
