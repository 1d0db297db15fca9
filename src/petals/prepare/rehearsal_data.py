"""Inputs for a rehearsal: drawn flowers in place of the competition's files in a local Kaggle.

python -m petals.prepare.rehearsal_data FOLDER [SIZE ...]
"""

import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

from petals import storage
from petals.data import shards
from petals.data.source import COMPETITION
from petals.kaggle import cache_folder
from petals.prepare import drawn_flowers
from petals.progress import Progress

SIZES = (192, 224, 331, 512)  # in pixels, those of the competition
SCORING = """\
# The competition's metric and its submissions' columns, for a rehearsal's score.
metric = "f1_macro"
columns = ["id", "label"]
"""


def fill(folder: Path, sizes: Iterable[int] = ()) -> Path:
    """Copy the drawn flowers and their solution to a catalogue; return the competition's folder.

    `sizes` are in pixels, by default 192; sizes that the competition does not have are ignored.
    Existing files stay. Sizes are added only if the answers show that the existing files are drawn
    flowers: the real competition's files are never mixed with them. Scoring rules are written if
    there are none. Raises what `drawn_flowers.at_size` raises.
    """
    competition = folder / "competitions" / COMPETITION
    solution = folder / "solutions" / f"{COMPETITION}.csv"
    rules = solution.with_suffix(".toml")
    if not rules.exists():
        storage.write_text(rules, SCORING)
    if competition.exists() and not solution.exists():
        return competition
    for size in [size for size in sizes if size in SIZES] or SIZES[:1]:
        shown = Path(shards.folder(competition, size, "train")).parent
        if shown.exists():
            continue
        drawn = drawn_flowers.at_size(cache_folder() / "embedded", size, Progress())
        answers = (drawn / "solution.csv").read_text("utf-8")
        if not competition.exists():
            storage.write_text(solution, answers)
            _copy(drawn, competition)
        elif answers == solution.read_text("utf-8"):
            _copy(drawn / shown.name, shown)
    return competition


def _copy(source: Path, target: Path) -> None:
    part = target.with_suffix(".part")
    shutil.rmtree(part, ignore_errors=True)
    shutil.copytree(source, part, ignore=shutil.ignore_patterns("solution.csv"))
    part.rename(target)


if __name__ == "__main__":
    fill(Path(sys.argv[1]), map(int, sys.argv[2:]))
