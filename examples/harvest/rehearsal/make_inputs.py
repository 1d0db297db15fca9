"""Draw the inputs of a rehearsal, as the competition's files look, and the answers it scores by.

python rehearsal/make_inputs.py CATALOGUE

Nothing here is the competition's data. Give COLUMNS and METRIC the competition's own names.
"""

from __future__ import annotations

import csv
import math
import random
import sys
from collections.abc import Sequence
from pathlib import Path

COMPETITION = "harvest-forecast"
COLUMNS = ("plot", "tonnes")  # of a submission
METRIC = "mae"  # accuracy, f1_macro, mae, rmse, rmsle, log_loss, roc_auc, or of sklearn.metrics
FEATURES = ("rain_mm", "sun_hours", "nitrogen_kg", "soil")
SOILS = {"clay": 0.6, "loam": 1.5, "sand": -0.8}  # tonnes that a soil adds
ROWS = {"train": 400, "test": 120}


def main(catalogue: Path) -> None:
    """Write the competition's tables, and the answers and the metric beside them."""
    rng = random.Random(7)
    folder = catalogue / "competitions" / COMPETITION
    solutions = catalogue / "solutions"
    for place in (folder, solutions):
        place.mkdir(parents=True, exist_ok=True)
    train, test = ([draw(rng, f"{table}-{n:03d}") for n in range(ROWS[table])] for table in ROWS)
    write(folder / "train.csv", ("plot", *FEATURES, "tonnes"), train)
    write(folder / "test.csv", ("plot", *FEATURES), [row[:-1] for row in test])
    write(folder / "sample_submission.csv", COLUMNS, [(row[0], 0) for row in test])
    answers = [(row[0], row[-1], "Public" if n % 3 else "Private") for n, row in enumerate(test)]
    write(solutions / f"{COMPETITION}.csv", (*COLUMNS, "Usage"), answers)
    rules = f'metric = "{METRIC}"\ncolumns = ["{COLUMNS[0]}", "{COLUMNS[1]}"]\n'
    (solutions / f"{COMPETITION}.toml").write_text(rules, encoding="utf-8")


def draw(rng: random.Random, name: str) -> tuple[object, ...]:
    """One plot: too little and too much rain both cost, nitrogen helps less and less."""
    rain, sun, nitrogen = rng.uniform(200, 900), rng.uniform(900, 2200), rng.uniform(0, 200)
    soil = rng.choice(sorted(SOILS))
    tonnes = 6 - ((rain - 600) / 200) ** 2 + sun / 1000 + math.sqrt(nitrogen) / 5 + SOILS[soil]
    tonnes = max(0.0, tonnes + rng.gauss(0, 0.4))
    return name, round(rain), round(sun), round(nitrogen), soil, round(tonnes, 3)


def write(path: Path, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Write one table."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
