"""Writes what docs/how-to/tabular.md speaks of: a folder with its notebook and its competition."""

import csv
import random
import re
from pathlib import Path

import nbformat

PAGE = Path(__file__).parents[2] / "docs/how-to/tabular.md"
BLOCK = r"```{}[^\n]*\n(.*?)^```$"
REGIONS = ("north", "south", "west")


def block(language):
    """The first block of the page in this language."""
    return re.search(BLOCK.format(language), PAGE.read_text(), re.MULTILINE | re.DOTALL)[1]


def rows(count, first):
    for number in range(first, first + count):
        age, claims, region = random.randint(18, 80), random.randint(0, 4), random.choice(REGIONS)
        premium = 50 + 3 * claims**1.5 + 0.6 * age + 10 * (region == "west") + random.gauss(0, 8)
        yield [number, age, claims, region, round(premium, 2)]


def write(path, names, lines):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([names, *lines])


random.seed(0)
folder = Path("insurance")
files = folder / "input/competitions/playground-insurance"
files.mkdir(parents=True)
names = ["id", "age", "claims", "region", "premium"]
write(files / "train.csv", names, rows(400, 0))
write(files / "test.csv", names[:-1], [row[:-1] for row in rows(100, 400)])
write(
    files / "sample_submission.csv", ["id", "premium"], [[number, 0] for number in range(400, 500)]
)
parameters, *cells = re.split(
    r"\n\n(?=import os|import lightgbm|inputs =|out_of_fold|lgb\.plot|pd\.Data)", block("python")
)
notebook = nbformat.v4.new_notebook()
notebook.cells = [
    nbformat.v4.new_code_cell(parameters, metadata={"tags": ["parameters"]}),
    *map(nbformat.v4.new_code_cell, cells),
]
nbformat.write(notebook, folder / "insurance.ipynb")
(folder / "pyproject.toml").write_text(block("toml"))
(folder / "leaves.yaml").write_text(block("yaml"))
