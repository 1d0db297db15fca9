"""Scoring a submission as `solutions/<slug>.toml` of the catalogue says.

metric = "rmse"                  # accuracy, f1_macro, mae, rmse, rmsle, log_loss, roc_auc, or a
                                 # function of sklearn.metrics, such as "cohen_kappa_score"
columns = ["store", "sales"]     # of a submission: the id, then what is predicted
                                 # (default: those of the answers, without Usage)
answers = "holdout.csv"          # beside this file (default: <slug>.csv)
hidden = "hidden.csv"            # the answers for the reruns of a code competition, likewise
                                 # (default: <slug>.hidden.csv)

The answers hold the same columns, and where wanted `Usage`: Public, Private, or Ignored. The score
of several predicted columns is the mean of theirs.
"""

from __future__ import annotations

import csv
import io
import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TextIO
from zipfile import BadZipFile, ZipFile

from local_kaggle.competitions import metrics
from local_kaggle.competitions.metrics import MetricError, Value

USAGE = "Usage"
PUBLIC, IGNORED = "Public", "Ignored"
KEYS = ("metric", "columns", "answers", "hidden")
NUMBER, WHOLE = "a number", "a whole number"
Rows = dict[str, dict[str, str]]


class SubmissionError(Exception):
    """The submission cannot be scored; the message goes to its author."""


@dataclass(frozen=True)
class ScoringRules:
    """How a competition is scored: its metric, a submission's columns, the file of answers.

    No `columns` stand for those of the answers.
    """

    metric: str
    answers: Path
    columns: tuple[str, ...] = ()


def read_rules(file: Path, *, hidden: bool = False) -> ScoringRules:
    """The rules in a competition's file; raises SubmissionError for one that does not say them.

    `hidden`: score against the answers for reruns.
    """
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
    if hidden:
        answers = written.get("hidden", f"{file.stem}.hidden.csv")
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


def score(submission: Path, rules: ScoringRules) -> float:
    """Score a submission's rows, in any order, against the answers marked Public, or against all.

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
        kinds = {c: _kind(rules.metric, [r[c] for r in answers.values()]) for c in columns[1:]}
        truth = _typed(answers, kinds)
    except (SubmissionError, MetricError) as error:
        raise SubmissionError(f"rehearsal: solutions/{rules.answers.name}: {error}") from None
    rows, _ = _read(submission, columns)
    if len(rows) != len(answers):
        raise SubmissionError(f"Submission must have {len(answers)} rows, not {len(rows)}")
    if missing := answers.keys() - rows.keys():
        raise SubmissionError(f"Submission lacks {len(missing)} ids, among them {min(missing)}")
    predicted = _typed(rows, kinds)

    ids = [i for i, row in answers.items() if row.get(USAGE, PUBLIC) == PUBLIC]
    if not ids:
        ids = [i for i, row in answers.items() if row.get(USAGE) != IGNORED]
    try:
        return fmean(
            metric([truth[i][c] for i in ids], [predicted[i][c] for i in ids]) for c in columns[1:]
        )
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
    with _table(path) as file:
        try:
            reader = csv.DictReader(file)
            header = list(reader.fieldnames or [])
            if header[: len(columns)] != list(columns):
                shown = f", not {', '.join(header)[:200]}" if header else ""
                raise SubmissionError(
                    f"Submission must have the columns {' and '.join(columns)}{shown}"
                )
            rows = list(reader)
        except (UnicodeDecodeError, csv.Error) as error:
            raise SubmissionError(f"Submission is not a CSV file: {error}") from error
    by_id: Rows = {}
    for row in rows:
        key = row[header[0]]
        if key in by_id:
            raise SubmissionError(f"Submission has the {header[0]} {key} twice")
        by_id[key] = {name: (value or "").strip() for name, value in row.items() if name}
    return by_id, header


@contextmanager
def _table(path: Path) -> Iterator[TextIO]:
    """The text of a CSV file, of the only one in a ZIP archive, or of a Parquet file's rows."""
    if path.suffix == ".parquet":
        yield _of_parquet(path)
    elif path.suffix == ".zip":
        try:
            with ZipFile(path) as archive:
                (name,) = archive.namelist()
                with archive.open(name) as file:
                    yield io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
        except (BadZipFile, ValueError):
            raise SubmissionError("Submission is not a ZIP archive of one file") from None
    else:
        with path.open(newline="", encoding="utf-8-sig") as file:
            yield file


def _of_parquet(path: Path) -> TextIO:
    try:
        from pyarrow import ArrowInvalid, parquet  # type: ignore[import-not-found]
    except ImportError:
        raise SubmissionError("rehearsal: to score a .parquet, install pyarrow") from None
    try:
        table = parquet.read_table(path)
    except ArrowInvalid as error:
        raise SubmissionError(f"Submission is not a Parquet file: {error}") from None
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(table.column_names)
    writer.writerows(zip(*(column.to_pylist() for column in table.columns), strict=True))
    text.seek(0)
    return text


def _kind(metric: str, answers: Sequence[str]) -> str:
    """What a column holds; scikit-learn's metrics take what the answers are."""
    if metric in metrics.OF_NUMBERS:
        return NUMBER
    kinds = (WHOLE,) if metric in metrics.OF_CLASSES else (NUMBER, WHOLE)
    for kind in kinds:
        if all(_value(kind, text) is not None for text in answers):
            return kind
    return "a label"


def _typed(rows: Rows, kinds: Mapping[str, str]) -> dict[str, dict[str, Value]]:
    """Each row's values as what their columns hold."""
    typed: dict[str, dict[str, Value]] = {key: {} for key in rows}
    for key, row in rows.items():
        for column, kind in kinds.items():
            value = _value(kind, row[column])
            if value is None:
                raise SubmissionError(
                    f"Submission has the {column} {row[column]!r} at {key}: give {kind}"
                )
            typed[key][column] = value
    return typed


def _value(kind: str, text: str) -> Value | None:
    """What a text stands for; None where it is not of this kind."""
    if kind == NUMBER:
        with suppress(ValueError):
            return number if math.isfinite(number := float(text)) else None
        return None
    if kind == WHOLE:
        return int(text) if re.fullmatch(r"-?[0-9]{1,18}", text) else None
    return text or None
