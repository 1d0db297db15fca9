"""02_train killed at random moments and started again: the scores of one left alone."""

import csv
import json
import random
import subprocess
import sys
import time

import psutil
import pytest
from checkouts import ROOT

SCORES = ("macro_f1", "accuracy", "macro_precision", "macro_recall", "loss", "epochs")


def start(dataset, run, log):
    """The same command each time; Jupyter's kernel is this environment's."""
    parameters = (
        f"data={dataset}",
        "image_size=32",
        "backbone=SmallNet",
        "weights=none",
        "head=gradient",
        "fine_tune=all",
        "epochs=8",
        "batch_size=10",
        "learning_rate=1e-3",
    )
    given = [text for parameter in parameters for text in ("-p", parameter)]
    return subprocess.Popen(
        [
            sys.executable,
            "-m",
            "kernelkit",
            "run",
            str(ROOT / "notebooks/02_train.py"),
            "--output",
            str(run),
            *given,
        ],
        stdout=log,
        stderr=log,
    )


def kill(process):
    family = [*psutil.Process(process.pid).children(recursive=True), psutil.Process(process.pid)]
    for member in family:
        member.kill()
    process.wait(timeout=30)
    psutil.wait_procs(family, timeout=30)


def losses(run):
    rows = csv.DictReader((run / "history.csv").read_text().splitlines())
    return [row["val_loss"] for row in rows]


@pytest.mark.long
def test_killed_at_random_moments_it_ends_with_the_same_scores(dataset, tmp_path):
    with (tmp_path / "log.txt").open("w") as log:
        begun = time.monotonic()
        assert start(dataset, tmp_path / "alone", log).wait(timeout=600) == 0
        took = time.monotonic() - begun
        rng = random.Random(7)
        for share in (0.4, 0.7):
            process = start(dataset, tmp_path / "cut", log)
            time.sleep(took * (share + 0.3 * rng.random()))
            if process.poll() is None:
                kill(process)
        assert start(dataset, tmp_path / "cut", log).wait(timeout=600) == 0

    alone, cut = (json.loads((tmp_path / n / "metrics.json").read_text()) for n in ("alone", "cut"))
    assert {name: cut[name] for name in SCORES} == {name: alone[name] for name in SCORES}
    answers = [(tmp_path / name / "submission.csv").read_text() for name in ("alone", "cut")]
    assert answers[0] == answers[1]
    assert losses(tmp_path / "cut") == losses(tmp_path / "alone")
    assert not (tmp_path / "cut" / "checkpoints").exists()
