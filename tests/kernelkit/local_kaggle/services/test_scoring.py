from __future__ import annotations

import random

import pytest

from kernelkit.local_kaggle.services.scoring import SubmissionError, SubmissionScores, score


def scored(
    tmp_path, submission: str, solution: str = "id,label\na,0\nb,1\nc,1\n"
) -> SubmissionScores:
    (tmp_path / "submission.csv").write_text(submission)
    (tmp_path / "solution.csv").write_text(solution)
    return score(tmp_path / "submission.csv", tmp_path / "solution.csv")


def test_macro_f1_whatever_the_order(tmp_path):
    assert scored(tmp_path, "id,label\nc,1\na,0\nb,1\n").public == 1.0
    # Worked by hand: class 0 has F1 2/3 (precision 1/2, recall 1), class 1 the same.
    assert scored(tmp_path, "id,label\na,0\nb,1\nc,0\n").public == pytest.approx(2 / 3)


def test_public_and_private_rows_apart(tmp_path):
    solution = "id,label,Usage\na,0,Public\nb,1,Private\n"
    assert scored(tmp_path, "id,label\na,0\nb,2\n", solution) == SubmissionScores(1.0, 0.0)


@pytest.mark.parametrize(
    ("submission", "words"),
    [
        ("id,label\na,0\n", "must have 3 rows, not 1"),
        ("id,label\na,0\nb,1\nd,1\n", "lacks 1 ids, among them c"),
        ("id,label\na,0\na,1\nc,1\n", "the id a twice"),
        ("id,label\na,x\nb,1\nc,1\n", "the label 'x'"),
        ("image,class\na,0\n", "columns id and label"),
        ("", "columns id and label"),
        ("id,label\na\nb,1\nc,1\n", "the label None"),
    ],
)
def test_a_submission_that_cannot_be_scored_says_why(tmp_path, submission, words):
    with pytest.raises(SubmissionError, match=words):
        scored(tmp_path, submission)


def test_macro_f1_is_scikit_learns(tmp_path):
    metrics = pytest.importorskip("sklearn.metrics")
    draw = random.Random(4)
    truth = [draw.randrange(5) for _ in range(60)]
    guessed = [draw.choice([label, draw.randrange(7)]) for label in truth]
    files = ["id,label\n" + "".join(f"{i},{label}\n" for i, label in enumerate(labels))
             for labels in (guessed, truth)]  # fmt: skip
    found = scored(tmp_path, *files).public
    assert found == pytest.approx(metrics.f1_score(truth, guessed, average="macro"))
