"""What a rehearsal finds of the competition, and how it is scored."""

import tomllib

from petals.data.source import COMPETITION
from petals.prepare import rehearsal_data


def test_it_says_how_the_competition_is_scored(tmp_path):
    real = tmp_path / "competitions" / COMPETITION  # put there by hand, or by an older version
    real.mkdir(parents=True)
    assert rehearsal_data.fill(tmp_path) == real
    rules = tmp_path / "solutions" / f"{COMPETITION}.toml"
    assert tomllib.loads(rules.read_text()) == {"metric": "f1_macro", "columns": ["id", "label"]}
    rules.write_text('metric = "accuracy"')
    rehearsal_data.fill(tmp_path)
    assert rules.read_text() == 'metric = "accuracy"'
