"""Scoring a submission as `solutions/<slug>.toml` of the catalogue says.

metric = "rmse"                  # accuracy, f1_macro, mae, rmse, rmsle, log_loss, roc_auc, or a
                                 # function of sklearn.metrics, such as "cohen_kappa_score"
columns = ["store", "sales"]     # of a submission: the id, then what is predicted
                                 # (default: those of the answers, without Usage)
answers = "holdout.csv"          # beside this file (default: <slug>.csv)

The answers hold the same columns, and where wanted `Usage`: Public, Private, or Ignored. The score
of several predicted columns is the mean of theirs.
"""

from __future__ import annotations

import csv
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from local_kaggle.competitions import metrics
from local_kaggle.competitions.metrics import MetricError, Value

USAGE = "Usage"
IGNORED = "Ignored"
KEYS = ("metric", "columns", "answers")
Rows = dict[str, dict[str, str]]


class SubmissionError(Exception):
    """The submission cannot be scored; the message goes to its author."""


@dataclass(frozen=True)
class SubmissionScores:
    """The scores on the rows marked Public and Private; on all where none is marked."""

    public: float
    private: float


@dataclass(frozen=True)
class ScoringRules:
    """How a competition is scored: its metric, a submission's columns, the file of answers.

    No `columns` stand for those of the answers.
    """

    metric: str
    answers: Path
    columns: tuple[str, ...] = ()


def read_rules(file: Path) -> ScoringRules:
    """The rules in a competition's file; raises SubmissionError for one that does not say them."""
    name = f"solutions/{file.name}"
    if not file.is_file():
        raise SubmissionError(
            f"rehearsal: the catalogue does not say how to score this: write {name}, for example "
            'metric = "accuracy"'
        )
    try:
        written = tomllib.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:  # of the TOML, or of its UTF-8
        raise SubmissionError(f"rehearsal: {name} is not TOML: {error}") from None
    if unknown := sorted(set(written) - set(KEYS)):
        raise SubmissionError(
            f"rehearsal: {name} has no {unknown[0]!r}: it takes {', '.join(KEYS)}"
        )
    metric, columns = written.get("metric"), written.get("columns", [])
    answers = written.get("answers", f"{file.stem}.csv")
    if not isinstance(metric, str):
        raise SubmissionError(f'rehearsal: {name} names no metric: add metric = "accuracy"')
    if not _is_columns(columns):
        raise SubmissionError(f'rehearsal: {name}: write columns = ["id", "prediction"]')
    if not isinstance(answers, str) or not (file.parent / answers).is_file():
        raise SubmissionError(
            f"rehearsal: the catalogue has no answers to score against, put them in "
            f"solutions/{answers}"
        )
    return ScoringRules(metric, file.parent / answers, tuple(columns))


def score(submission: Path, rules: ScoringRules) -> SubmissionScores:
    """Score a submission's rows, in any order, against the answers.

    Raises SubmissionError for a wrong header, missing, foreign or repeated ids, and predictions
    that the metric does not take; where the catalogue is to blame, the message begins with
    "rehearsal".
    """
    try:
        metric = metrics.find_metric(rules.metric)
        answers, header = _read(rules.answers, rules.columns)
        columns = rules.columns or tuple(name for name in header if name != USAGE)
        if not _is_columns(list(columns)) or not answers:
            raise SubmissionError("they need an id, a column of answers, and rows")
        numbers = _of_numbers(rules.metric, answers, columns)
        truth = _typed(answers, columns, numbers=numbers)
    except (SubmissionError, MetricError) as error:
        raise SubmissionError(f"rehearsal: solutions/{rules.answers.name}: {error}") from None
    rows, _ = _read(submission, columns)
    _check_ids(rows, answers)
    if numbers:
        predicted = _typed(rows, columns, numbers=True)
    else:
        whole = {c: all(isinstance(row[c], int) for row in truth.values()) for c in columns[1:]}
        predicted = {i: _labels(i, row, whole) for i, row in rows.items()}

    def of(usage: str) -> float:
        ids = [i for i, row in answers.items() if row.get(USAGE, usage) == usage]
        if not ids:
            ids = [i for i, row in answers.items() if row.get(USAGE) != IGNORED]
        scores = [
            metric([truth[i][c] for i in ids], [predicted[i][c] for i in ids]) for c in columns[1:]
        ]
        return math.fsum(scores) / len(scores)

    try:
        return SubmissionScores(of("Public"), of("Private"))
    except MetricError as error:
        raise SubmissionError(f"Submission cannot be scored: {error}") from None


def _is_columns(columns: object) -> bool:
    return not columns or (
        isinstance(columns, list)
        and all(isinstance(name, str) and name for name in columns)
        and 2 <= len(columns) == len(set(columns))
    )


def _read(path: Path, columns: Sequence[str]) -> tuple[Rows, list[str]]:
    """The rows by id, and the header, which begins with `columns` where they are given."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        try:
            reader = csv.DictReader(file)
            header = list(reader.fieldnames or [])
            if header[: len(columns)] != list(columns):
                shown = f", not {', '.join(header)[:200]}" if header else ""
                raise SubmissionError(f"Submission must have the columns {_and(columns)}{shown}")
            rows = list(reader)
        except (UnicodeDecodeError, csv.Error) as error:
            raise SubmissionError(f"Submission is not a CSV file: {error}") from error
    found: Rows = {}
    for row in rows:
        key = row[header[0]]
        if key in found:
            raise SubmissionError(f"Submission has the {header[0]} {key} twice")
        found[key] = {name: (value or "").strip() for name, value in row.items() if name}
    return found, header


def _check_ids(rows: Rows, expected: Rows) -> None:
    if len(rows) != len(expected):
        raise SubmissionError(f"Submission must have {len(expected)} rows, not {len(rows)}")
    missing = expected.keys() - rows.keys()
    if missing:
        raise SubmissionError(f"Submission lacks {len(missing)} ids, among them {min(missing)}")


def _typed(rows: Rows, columns: Sequence[str], *, numbers: bool) -> dict[str, dict[str, Value]]:
    """Each row's values: numbers, or labels that are whole numbers where all in a column are."""
    if numbers:
        return {i: {c: _number(i, c, row[c]) for c in columns[1:]} for i, row in rows.items()}
    whole = {c: all(_is_whole(row[c]) for row in rows.values()) for c in columns[1:]}
    return {i: _labels(i, row, whole) for i, row in rows.items()}


def _labels(key: str, row: Mapping[str, str], whole: Mapping[str, bool]) -> dict[str, Value]:
    labels: dict[str, Value] = {}
    for column, is_whole in whole.items():
        text = row.get(column, "")
        if not text or (is_whole and not _is_whole(text)):
            kind = "a whole number" if is_whole else "a label"
            raise SubmissionError(f"Submission has the {column} {text!r} at {key}: give {kind}")
        labels[column] = int(text) if is_whole else text
    return labels


def _number(key: str, column: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise SubmissionError(f"Submission has the {column} {text!r} at {key}: give a number")
    return value


def _of_numbers(metric: str, expected: Rows, columns: Sequence[str]) -> bool:
    """Whether a metric takes numbers; scikit-learn's take what the answers are."""
    if metric in metrics.OF_NUMBERS or metric in metrics.OF_CLASSES:
        return metric in metrics.OF_NUMBERS
    try:
        return bool(_typed(expected, columns, numbers=True))
    except SubmissionError:
        return False


def _is_whole(text: str) -> bool:
    return text.lstrip("-").isdecimal() and text.isascii() and len(text) < 19


def _and(columns: Sequence[str]) -> str:
    return " and ".join([", ".join(columns[:-1]), columns[-1]] if len(columns) > 1 else columns)
