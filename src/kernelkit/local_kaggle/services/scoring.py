"""Scoring a submission against the catalogue's answers: macro F1, the competition's metric."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


class SubmissionError(Exception):
    """The submission cannot be scored; the message is what its author is told."""


@dataclass(frozen=True)
class SubmissionScores:
    """Macro F1, 0 to 1, on the rows marked Public and Private; on all where none is marked."""

    public: float
    private: float


def score(submission: Path, solution: Path) -> SubmissionScores:
    """Score `id,label` rows against `id,label[,Usage]` rows, in any order.

    Raises SubmissionError for a wrong header, missing, foreign or repeated ids, or labels that
    are no whole numbers.
    """
    answers = _read(solution)
    guesses = _read(submission)
    if len(guesses) != len(answers):
        raise SubmissionError(f"Submission must have {len(answers)} rows, not {len(guesses)}")
    missing = answers.keys() - guesses.keys()
    if missing:
        raise SubmissionError(f"Submission lacks {len(missing)} ids, among them {min(missing)}")

    def f1(usage: str) -> float:
        ids = [i for i, row in answers.items() if row.get("Usage", usage) == usage]
        truth = [answers[i]["label"] for i in ids]
        return _mean_f1(truth, [guesses[i]["label"] for i in ids])

    return SubmissionScores(f1("Public"), f1("Private"))


def _mean_f1(truth: Sequence[str], guessed: Sequence[str]) -> float:
    """The mean over all labels, true or guessed, of each one's F1; 0 of no rows."""
    occurring, named = Counter(truth), Counter(guessed)
    right = Counter(true for true, guess in zip(truth, guessed, strict=True) if true == guess)
    scores = [2 * right[label] / (count + named[label]) for label, count in occurring.items()]
    return sum(scores) / len(occurring | named) if scores else 0.0


def _read(path: Path) -> dict[str, dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        try:
            reader = csv.DictReader(file)
            if list(reader.fieldnames or [])[:2] != ["id", "label"]:
                raise SubmissionError("Submission must have the columns id and label")
            rows = list(reader)
        except (UnicodeDecodeError, csv.Error) as error:
            raise SubmissionError(f"Submission is not a CSV file: {error}") from error
    found: dict[str, dict[str, str]] = {}
    for row in rows:
        if row["id"] in found:
            raise SubmissionError(f"Submission has the id {row['id']} twice")
        if not (row["label"] or "").strip().isdigit():
            raise SubmissionError(f"Submission has the label {row['label']!r}")
        found[row["id"]] = {**row, "label": row["label"].strip()}
    return found
