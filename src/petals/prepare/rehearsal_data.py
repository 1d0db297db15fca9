"""Inputs for a rehearsal: the drawn flowers where a local Kaggle looks for the competition.

python -m petals.prepare.rehearsal_data FOLDER
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from petals.data.source import COMPETITION
from petals.kaggle import cache_folder
from petals.prepare import synthetic

SIZE = 192
SCORING = """\
# The competition's metric and its submissions' columns, for a rehearsal's score.
metric = "f1_macro"
columns = ["id", "label"]
"""


def fill(folder: str | Path, size: int = SIZE) -> Path:
    """Put the embedded data of `size` pixels into a catalogue, its answers beside it.

    Returns the competition's folder. It is left as it is where it exists already, so that the
    real competition's files, put there by hand, stay; how it is scored is added where missing.
    Raises what `ensure_dataset` raises.
    """
    folder = Path(folder)
    competition = folder / "competitions" / COMPETITION
    answers = folder / "solutions" / f"{COMPETITION}.csv"
    answers.parent.mkdir(parents=True, exist_ok=True)
    rules = answers.with_suffix(".toml")
    if not rules.exists():
        rules.write_text(SCORING, encoding="utf-8")
    if competition.exists():
        return competition
    source = synthetic.ensure_dataset(cache_folder() / "embedded", size)
    part = competition.with_suffix(".part")
    shutil.rmtree(part, ignore_errors=True)
    shutil.copytree(source, part)
    (part / "solution.csv").replace(answers)
    part.rename(competition)
    return competition


if __name__ == "__main__":
    fill(sys.argv[1])
