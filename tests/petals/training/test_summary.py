"""What metrics.json says of a training."""

from dataclasses import replace

import pytest

from petals.accelerators.detect import detect
from petals.data.dataset import Dataset
from petals.data.source import Source
from petals.evaluation.metrics import Scores
from petals.training.summary import summary

HISTORY = [
    {"phase": phase, "epoch": 1, "images_per_second": 100.0, "seconds": seconds}
    for phase, seconds in (
        ("head", 9.0),
        ("fine-tune", 5.0),
        ("fine-tune", 3.0),
        ("fine-tune", 2.0),
    )
]


@pytest.fixture
def known(splits):
    """What `summary` needs besides scores and history."""
    dataset = Dataset(Source("data", "folder"), ("a", "b", "c"), *splits)
    given = {"accelerator": detect("cpu"), "dataset": dataset, "counts": (100, 10)}
    return given | {"parameters": {"seed": 1, "batch_size": 8}}


def test_it_has_scores_pace_device_photos_and_parameters(known):
    metrics = summary(Scores(0.9, 0.91, 0.92, 0.93, 0.3), HISTORY, **known)
    speed = {"first_epoch_seconds": 5.0, "later_epoch_seconds": 2.5}
    speed["step_seconds"] = 0.08  # 8 images at 100 a second
    assert metrics.items() >= {"macro_f1": 0.9, **speed}.items()
    assert metrics["device"]["kind"] == "cpu"
    data = {"source": "folder data", "name": "data", "image_size": 32, "record_size": 32}
    counts = {"train": 50, "val": 21, "test": 13, "test_complete": True}
    assert metrics["data"] == data | counts
    assert (metrics["total_params"], metrics["trainable_params"]) == (100, 10)
    assert metrics["parameters"] == {"seed": 1, "batch_size": 8}


def test_photos_that_a_limit_left_out_of_the_test_split_are_noted(known, splits):
    dataset = replace(known["dataset"], test=splits[2].part(0, 2))
    metrics = summary(None, HISTORY, **known | {"dataset": dataset})
    assert metrics["data"]["test"] == 6
    assert metrics["data"]["test_complete"] is False


def test_without_test_photos_and_scores_it_says_so(known):
    dataset = replace(known["dataset"], test=None)
    metrics = summary(None, HISTORY, **known | {"dataset": dataset})
    assert metrics["data"]["test"] == 0
    assert metrics["macro_f1"] is None
