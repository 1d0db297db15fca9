"""Draw the inputs of a rehearsal: the public files, the hidden ones of the rerun, the answers.

python rehearsal/make_inputs.py CATALOGUE

Nothing here is a real competition's data.
"""

from __future__ import annotations

import csv
import math
import random
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

COMPETITION = "tide-levels"
DAYS = {"train": range(60), "test": range(60, 63), "hidden": range(63, 93)}
PERIODS = {12.42: 1.9, 12.0: 0.6, 25.82: 0.2}  # hours, and metres of each tide
INPUTS = ("hour_id", "day", "hour", "pressure")


def main(catalogue: Path) -> None:
    """Write both folders of the competition, its evaluation package and its answers."""
    rng = random.Random(11)
    rows = {name: list(draw(rng, days)) for name, days in DAYS.items()}
    places = {"test": catalogue / "competitions", "hidden": catalogue / "hidden"}
    package = Path(__file__).parent / "kaggle_evaluation"
    solutions = catalogue / "solutions"
    for name, place in places.items():
        folder = place / COMPETITION
        left = shutil.ignore_patterns("__pycache__")
        shutil.copytree(package, folder / package.name, dirs_exist_ok=True, ignore=left)
        write(folder / "train.csv", (*INPUTS, "level"), rows["train"])
        write(folder / "test.csv", INPUTS, [row[:-1] for row in rows[name]])
        sample = [(row[0], 0) for row in rows[name]]
        write(folder / "sample_submission.csv", ("hour_id", "level"), sample)
        ending = ".csv" if name == "test" else ".hidden.csv"
        answers = [(row[0], row[-1]) for row in rows[name]]
        write(solutions / f"{COMPETITION}{ending}", ("hour_id", "level"), answers)
    rules = 'metric = "rmse"\ncolumns = ["hour_id", "level"]\n'
    (solutions / f"{COMPETITION}.toml").write_text(rules, encoding="utf-8")


def draw(rng: random.Random, days: Iterable[int]) -> Iterable[tuple[object, ...]]:
    """The hours of some days: tides, less under high air pressure, and some weather."""
    for hour in (24 * day + hour for day in days for hour in range(24)):
        pressure = round(1013 + 12 * math.sin(hour / 61) + rng.gauss(0, 2), 1)
        tide = sum(high * math.cos(2 * math.pi * hour / t) for t, high in PERIODS.items())
        level = tide - 0.01 * (pressure - 1013) + rng.gauss(0, 0.05)
        yield f"h{hour:05d}", hour // 24, hour % 24, pressure, round(level, 3)


def write(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write one table."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
