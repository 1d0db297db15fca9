"""Scoring a submission as `solutions/<slug>.toml` of the catalogue says.

metric = "rmse"                  # accuracy, f1_macro, mae, rmse, rmsle, log_loss, roc_auc, or a
                                 # function of sklearn.metrics, such as "cohen_kappa_score"
columns = ["store", "sales"]     # of a submission: the id, then what is predicted
                                 # (default: those of the answers, without Usage)
answers = "holdout.csv"          # beside this file (default: <slug>.csv)
hidden = "hidden.csv"            # the answers for the reruns of a code competition, likewise
                                 # (default: <slug>.hidden.csv)
minimize = true                  # whether the lowest score is the best (default: by the metric)

metric = "blossom.metric:score"  # or a function, see `metric_function`
path = ["/home/me/blossom/src"]  # where it can be imported from

The answers hold the same columns, and where wanted `Usage`: Public, Private, or Ignored. The score
of several predicted columns is the mean of theirs. The metrics are scikit-learn's.
"""

import csv
import importlib
import io
import math
import threading
import tomllib
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any
from zipfile import ZipFile

from local_kaggle.competitions import metric_function

Rows = dict[str, dict[str, str]]  # by id and column

LARGEST, MOST_ROWS = 2_000_000_000, 50_000_000  # of a submission; a small archive can hold more
LARGEST_CELL = 2**31 - 1  # characters; Python's own limit is exceeded by masks
USAGE = "Usage"
PUBLIC, PRIVATE, IGNORED = "Public", "Private", "Ignored"
# scikit-learn's names of the usual metrics, and what they are called with.
METRICS: dict[str, tuple[str, dict[str, Any]]] = {
    "accuracy": ("accuracy_score", {}),
    "f1_macro": ("f1_score", {"average": "macro"}),
    "mae": ("mean_absolute_error", {}),
    "rmse": ("root_mean_squared_error", {}),
    "rmsle": ("root_mean_squared_log_error", {}),
    "log_loss": ("log_loss", {"labels": [0, 1]}),
    "roc_auc": ("roc_auc_score", {}),
}
LOWER_ENDINGS = ("_error", "_loss", "_deviance")  # of metrics that are better when lower


class SubmissionError(Exception):
    """The submission cannot be scored; the message goes to its author."""


@dataclass(frozen=True)
class ScoringRules:
    """How a competition is scored: what `solutions/<slug>.toml` holds.

    Empty `columns` mean those of the answers.
    """

    metric: str
    columns: Sequence[str] = ()
    answers: str = "{slug}.csv"
    hidden: str = "{slug}.hidden.csv"
    minimize: bool | None = None
    path: Sequence[str] = ()

    @property
    def is_function(self) -> bool:
        """Whether the metric is a function of somebody's, which is given all columns."""
        return ":" in self.metric


def prepare() -> None:
    """Import scikit-learn in the background: it takes seconds, and requests should not wait."""

    def load() -> None:
        with suppress(ImportError):  # which the score will tell
            importlib.import_module("sklearn.metrics")

    threading.Thread(target=load, daemon=True).start()


def read_rules(file: Path) -> ScoringRules:
    """The rules in a competition's file; raises SubmissionError if the file lacks them."""
    try:
        return ScoringRules(**tomllib.loads(file.read_text("utf-8")))
    except (OSError, ValueError, TypeError) as error:
        why = f"{file} is not there" if isinstance(error, FileNotFoundError) else str(error)
        raise SubmissionError(
            f"rehearsal: the catalogue does not say how to score this ({why}): write "
            f'solutions/{file.name}, for example metric = "accuracy"; it also takes columns, '
            "answers and hidden"
        ) from None


def lower_is_better(file: Path) -> bool:
    """Whether the lowest value of a competition's metric is the best one."""
    try:
        rules = read_rules(file)
    except SubmissionError:  # the rules went after they had served
        return False
    if rules.minimize is not None:
        return rules.minimize
    scorer, _ = METRICS.get(rules.metric, (rules.metric, {}))
    return scorer.endswith(LOWER_ENDINGS)


@dataclass(frozen=True)
class Scores:
    """The scores of one submission; `private` is None if the answers have no private part."""

    public: float
    private: float | None


def scores(
    submission: Path, file: Path, *, hidden: bool = False, by_gateway: bool = False
) -> Scores:
    """Score a submission by the rules in `file`, against the answers marked Public and Private.

    Without a mark all answers are public. Its rows may be in any order. `hidden`: against the
    answers for reruns. `by_gateway`: the competition's host named the columns, so that the only one
    to be predicted may have another name than in the answers. Raises SubmissionError for a wrong
    header, missing, foreign or repeated ids, and predictions that the metric does not take; where
    the catalogue is to blame, the message begins with "rehearsal".
    """
    rules = read_rules(file)
    name = (rules.hidden if hidden else rules.answers).replace("{slug}", file.stem)
    if not (file.parent / name).is_file():
        raise SubmissionError(f"rehearsal: there are no answers, put them in solutions/{name}")
    try:
        answers, header = _read(file.parent / name, rules.columns)
        columns = rules.columns or [column for column in header if column != USAGE]
        public = [key for key, row in answers.items() if row.get(USAGE, PUBLIC) == PUBLIC]
        private = [key for key, row in answers.items() if row.get(USAGE) == PRIVATE]
        if not public:
            public = [key for key, row in answers.items() if row.get(USAGE) != IGNORED]
        if not public or (len(columns) == 1 and not rules.is_function):
            raise SubmissionError("there is nothing to score")
        if rules.is_function:
            columns = columns[:1]
        truth = {column: _values(answers, column) for column in columns[1:]}
    except SubmissionError as error:
        reason = str(error).removeprefix("Submission ")
        raise SubmissionError(f"rehearsal: solutions/{name}: {reason}") from None
    if by_gateway and len(columns) == 2:
        rows = _read_renamed(submission, columns)
    else:
        rows, _ = _read(submission, columns)
    if len(rows) != len(answers):
        raise SubmissionError(f"Submission must have {len(answers)} rows, not {len(rows)}")
    if missing := answers.keys() - rows.keys():
        raise SubmissionError(f"Submission lacks {len(missing)} ids, among them {min(missing)}")
    if rules.is_function:
        by_usage = [_by_function(rules, answers, rows, ids) for ids in (public, private) if ids]
        return Scores(by_usage[0], by_usage[1] if private else None)
    predicted = {column: _values(rows, column, answers) for column in truth}

    def mean(ids: list[str]) -> float:
        values = []
        for column in truth:
            right = [truth[column][key] for key in ids]
            answered = [predicted[column][key] for key in ids]
            values.append(_metric(rules.metric, right, answered))
        return fmean(values)

    return Scores(mean(public), mean(private) if private else None)


def _by_function(rules: ScoringRules, answers: Rows, rows: Rows, ids: Sequence[str]) -> float:
    """The score of these ids by somebody's function; raises SubmissionError where it has none."""
    solution = {}
    for key in ids:
        solution[key] = {name: text for name, text in answers[key].items() if name != USAGE}
    name = next(iter(solution[ids[0]]))
    try:
        value = metric_function.evaluate(rules.metric, rules.path, name, solution, rows)
    except metric_function.MetricError as error:
        blamed = "Submission cannot be scored" if error.blames_submission else "rehearsal"
        raise SubmissionError(f"{blamed}: {error}") from None
    if not math.isfinite(value):
        raise SubmissionError(f"Submission cannot be scored: {rules.metric} is {value}")
    return value


def _metric(name: str, truth: list[float | str], predictions: list[float | str]) -> float:
    """The value of a metric; raises SubmissionError if it is not finite."""
    try:
        import sklearn.metrics
    except ImportError:
        raise SubmissionError(
            "rehearsal: to score submissions, install scikit-learn (pip install scikit-learn)"
        ) from None
    own_name, options = METRICS.get(name, (name, {}))
    function = getattr(sklearn.metrics, own_name, None)
    if own_name not in sklearn.metrics.__all__ or not callable(function):
        raise SubmissionError(
            f"rehearsal: no metric {name!r}: choose {', '.join(METRICS)}, or a function of "
            "sklearn.metrics"
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they are for the author of a script
            value = float(function(truth, predictions, **options))
    except (TypeError, ValueError) as error:
        raise SubmissionError(f"Submission cannot be scored: {name}: {error}") from None
    if not math.isfinite(value):
        raise SubmissionError(f"Submission cannot be scored: {name} is {value}")
    return value


def _read(path: Path, columns: Sequence[str]) -> tuple[Rows, list[str]]:
    """The rows by id, and the header, which begins with `columns` if given."""
    try:
        header, rows = _table(path)
    except ImportError:
        raise SubmissionError("rehearsal: to score a .parquet, install pyarrow") from None
    except Exception as error:  # broken archives and tables end in errors of many kinds
        raise SubmissionError(
            f"Submission is not a CSV file, plain or in a ZIP archive, or a Parquet file: {error}"
        ) from None
    if header[: len(columns)] != list(columns) or len(header) < 2:
        wanted = " and ".join(columns) or "of an id and of answers"
        raise SubmissionError(
            f"Submission must have the columns {wanted}, not {', '.join(header)[:200]}"
        )
    by_id: Rows = {}
    for row in rows:
        values = {}
        for name in header:
            cell = row[name]
            values[name] = "" if cell is None else str(cell).strip()
        key = values[header[0]]
        if key in by_id:
            raise SubmissionError(f"Submission has the {header[0]} {key} twice")
        by_id[key] = values
    return by_id, header


def _read_renamed(path: Path, columns: Sequence[str]) -> Rows:
    """The rows by id of a table whose only column beside the id may have any name."""
    rows, header = _read(path, columns[:1])
    if len(header) > len(columns):
        rows, _ = _read(path, columns)
        return rows
    return {key: {columns[0]: key, columns[1]: row[header[1]]} for key, row in rows.items()}


def _table(path: Path) -> tuple[list[str], list[dict[str, Any]]]:
    """The header and the rows of a CSV file, of the only one in a ZIP archive, or of Parquet."""
    if path.stat().st_size > LARGEST:
        raise ValueError(f"it has more than {LARGEST / 1e9:.0f} GB")
    if path.suffix == ".parquet":
        from pyarrow import parquet

        if parquet.read_metadata(path).num_rows > MOST_ROWS:
            raise ValueError(f"it has more than {MOST_ROWS} rows")
        table = parquet.read_table(path)
        return table.column_names, table.to_pylist()
    data = path.read_bytes()
    if path.suffix == ".zip":
        with ZipFile(path) as archive:
            (packed,) = archive.infolist()
            with archive.open(packed) as file:  # whatever size its entry says
                data = file.read(LARGEST + 1)
            if len(data) > LARGEST:
                raise ValueError(f"it has more than {LARGEST / 1e9:.0f} GB")
    csv.field_size_limit(LARGEST_CELL)
    reader = csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline=""))
    return list(reader.fieldnames or []), list(reader)


def _values(rows: Rows, column: str, answers: Rows | None = None) -> dict[str, float | str]:
    """A column's values by id: numbers if the `answers` or the values are numeric, else text."""
    is_numeric = all(_number(row[column]) is not None for row in (answers or rows).values())
    values: dict[str, float | str] = {}
    for key, row in rows.items():
        value = _number(row[column]) if is_numeric else row[column] or None
        if value is None:
            kind = "number" if is_numeric else "label"
            raise SubmissionError(
                f"Submission has the {column} {row[column]!r} at {key}: give a {kind}"
            )
        values[key] = value
    return values


def _number(text: str) -> float | None:
    """A finite number; None for any other text."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
