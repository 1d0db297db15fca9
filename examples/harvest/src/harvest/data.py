"""The competition's tables: a plot's weather, soil and fertiliser, and the tonnes it yielded."""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

SLUG = "harvest-forecast"
KEY, TARGET = "plot", "tonnes"  # the submission's columns
NUMBERS = ("rain_mm", "sun_hours", "nitrogen_kg")
SOILS = ("clay", "loam", "sand")


@dataclass(frozen=True)
class Plots:
    """Rows of a table.

    names     the plots' names, in the file's order
    features  float array (rows, 6): the three numbers, then one column for each kind of soil
    tonnes    float array (rows,), tonnes a hectare; empty where they are to be predicted
    """

    names: list[str]
    features: np.ndarray
    tonnes: np.ndarray


def read(name: str) -> Plots:
    """The competition's table of that name, "train" or "test".

    Raises FileNotFoundError where the session does not have it.
    """
    with (folder() / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    numbers = [[float(row[column]) for column in NUMBERS] for row in rows]
    soils = [[float(row["soil"] == soil) for soil in SOILS] for row in rows]
    tonnes = [float(row[TARGET]) for row in rows if TARGET in row]
    return Plots([row[KEY] for row in rows], np.hstack([numbers, soils]), np.array(tonnes))


def folder() -> Path:
    """Where the competition's files are: mounted in a session, or left by a rehearsal."""
    mounts = Path(os.environ.get("KERNELKIT_INPUT_ROOT", "/kaggle/input"))
    catalogue = "runs/local_kaggle/catalogue/competitions"  # at the desk: what a rehearsal left
    desk = [folder / catalogue / SLUG for folder in Path(__file__).resolve().parents[2:]]
    for place in (mounts / "competitions" / SLUG, mounts / SLUG, *desk):
        if (place / "train.csv").is_file():
            return place
    raise FileNotFoundError(
        f"no train.csv of {SLUG}: add it to competition_sources in kernel-metadata.json; at the "
        "desk run `kernelkit rehearse` first, which draws one"
    )


def write_submission(path: Path, names: list[str], tonnes: np.ndarray) -> None:
    """Write a line for each plot under the competition's header."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow((KEY, TARGET))
        writer.writerows((name, f"{value:.4f}") for name, value in zip(names, tonnes, strict=True))
