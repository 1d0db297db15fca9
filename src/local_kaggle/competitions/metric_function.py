"""A competition's metric as a function, in the form that Kaggle's own metrics have.

    def score(solution, submission, row_id_column_name) -> float

Both are pandas frames with the same ids in the same order; numbers are numbers, all else is text.
The function runs in a process of its own, so that nothing it imports stays here.
"""

import csv
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

SECONDS = 600.0
LAST_WORDS = 400  # characters of a failed function's message
CHILD = """\
import importlib, json, os, sys
import pandas
answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)  # keep the function's own output out of the answer
function, folder, name = sys.argv[1:]
module, _, attribute = function.partition(":")
score = getattr(importlib.import_module(module), attribute)
frames = [
    pandas.read_csv(os.path.join(folder, table), dtype={name: str}, keep_default_na=False)
    for table in ("solution.csv", "submission.csv")
]
try:
    answer = {"score": float(score(*frames, name))}
except Exception as error:
    answer = {"error": f"{type(error).__name__}: {error}"}
json.dump(answer, answers)
answers.close()
"""


class MetricError(Exception):
    """The function gave no score; `blames_submission` says whether it ran and refused it."""

    def __init__(self, message: str, *, blames_submission: bool) -> None:
        super().__init__(message)
        self.blames_submission = blames_submission


def evaluate(
    function: str,
    path: Sequence[str],
    name: str,
    solution: Mapping[str, Mapping[str, str]],
    submission: Mapping[str, Mapping[str, str]],
) -> float:
    """The score by a function "package.module:function", importable from the folders in `path`.

    `name` is the column of ids, by which both tables have their rows. Raises `MetricError`.
    """
    with tempfile.TemporaryDirectory() as folder:
        for table, rows in (("solution", solution), ("submission", submission)):
            with Path(folder, f"{table}.csv").open("w", newline="", encoding="utf-8") as file:
                first = next(iter(rows.values()))
                writer = csv.DictWriter(file, list(first))
                writer.writeheader()
                writer.writerows(rows[key] for key in solution)
        answer = _ask(function, path, name, folder)
    if "error" in answer:
        raise MetricError(str(answer["error"])[:LAST_WORDS], blames_submission=True)
    return float(str(answer["score"]))


def _ask(function: str, path: Sequence[str], name: str, folder: str) -> dict[str, object]:
    """What the function answers about the two tables in a folder."""
    before = os.environ.get("PYTHONPATH", "")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*path, *filter(None, [before])])}
    try:
        process = subprocess.run(
            [sys.executable, "-c", CHILD, function, folder, name],
            capture_output=True,
            text=True,
            timeout=SECONDS,
            env=environment,
            check=True,
        )
        return dict(json.loads(process.stdout))
    except subprocess.TimeoutExpired:
        why = f"it took more than {SECONDS:.0f} s"
    except subprocess.CalledProcessError as error:
        why = error.stderr.strip()[-LAST_WORDS:].rpartition("\n")[2]
    except (OSError, ValueError) as error:
        why = str(error)
    raise MetricError(f"the metric {function} cannot be called: {why}", blames_submission=False)
