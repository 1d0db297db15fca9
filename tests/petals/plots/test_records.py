"""What a report lays out itself, from a run's predictions and photos."""

import csv
import io
import json

import numpy as np
import pytest

from petals.data.shards import Split
from petals.plots import records

NAMES = ("rose", "iris", "lily")
LABELS = np.array([0, 0, 0, 1, 1, 2])
PROBABILITIES = np.array(
    [[0.9, 0.1, 0], [0.3, 0.7, 0], [0.2, 0.8, 0], [0, 1, 0], [0.1, 0.9, 0], [0.6, 0.4, 0]]
)


def rows(text):
    return list(csv.reader(io.StringIO(text)))


def test_scores_confusion_and_calibration_are_tables_with_names_and_percents():
    scores = rows(records.class_scores(LABELS[:5], PROBABILITIES[:5], NAMES))
    assert [row[0] for row in scores] == ["class", "rose", "iris"]  # the worst, and no empty one
    assert scores[1] == ["rose", "0.5000", "1.0000", "0.3333", "3"]
    names, *counts = rows(records.matrix(LABELS, PROBABILITIES, NAMES))
    assert names[1:] == list(NAMES)
    assert counts[:2] == [["rose", "1", "2", "0"], ["iris", "0", "2", "0"]]
    tenths = rows(records.calibration(LABELS, PROBABILITIES))
    assert tenths[1] == ["60 to 70 %", "60.0 %", "0.0 %", "1"]
    assert tenths[-1] == ["90 to 100 %", "93.3 %", "100.0 %", "3"]


OVERALL = [(1.0, "Overconfident"), (0.5, "Well calibrated"), (0.4, "Underconfident")]


@pytest.mark.parametrize(("sure", "verdict"), OVERALL)
def test_calibration_concludes(sure, verdict):
    probabilities = np.full((10, 3), (1 - sure) / 2)
    probabilities[:, 0] = sure
    text = records.conclusion(np.arange(10) % 2, probabilities)
    assert text.startswith(f"{verdict} overall: the mean probability is {100 * sure:.1f} %, and")
    assert "50.0 % of the predictions are correct." in text


def test_pairs_and_mistakes_have_the_photos_of_the_split(dataset):
    split = Split.find(str(dataset), 32, "val")
    labels, ids = split.labels_and_ids()
    probabilities = np.eye(3)[(labels + (np.arange(len(labels)) < 2)) % 3]
    pairs = records.confused(split, labels, probabilities, NAMES)
    assert sum(pair["times"] for pair in pairs) == 2
    assert pairs[0]["a mistake"].startswith("data:image/jpeg;base64,")
    wrong = records.mistakes(split, labels, probabilities, NAMES)
    assert {row["id"] for row in wrong} == set(ids[:2])
    assert wrong[0]["true"] != wrong[0]["predicted"]
    assert records.mistakes(split, labels, np.eye(3)[labels], NAMES) == []
    json.dumps([pairs, wrong])
