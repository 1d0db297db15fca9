"""Sweeps of as many runs as one likes, with the files that real runs leave; nothing is trained.

    python tests/browser/made_sweep.py FOLDER COUNT

The score follows the learning rate and, for wide networks alone, the augmentation; `epochs` goes
with `width`; the other settings do nothing.
"""

import csv
import json
import math
import random
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from kernelkit.notebook.interface.parameters import Parameter
from kernelkit.sweep import sweep_folder
from kernelkit.sweep.planning.specification import PlannedRun, Specification
from kernelkit.sweep.planning.sweep_file import SEED, SearchSettings
from kernelkit.sweep.results import table
from kernelkit.sweep.sweep_folder import Record, SweepFolder

CLASSES = [f"flower {n:03}" for n in range(104)]
PHOTOS = 1000
PICTURE = (  # of one colour
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAA"
    "EElEQVR4nGM4EVUBRAwQCgAuJgZpOYmLlgAAAABJRU5ErkJggg=="
)
EPOCHS = 20
NOISE = 0.012
BEGAN = datetime(2026, 11, 1, tzinfo=UTC)


def settings(chance):
    width = chance.choice([16, 32, 64])
    return {
        "learning_rate": 10 ** chance.uniform(-4.5, -1.5),
        "augment": chance.choice(["none", "flip", "strong"]),
        "width": width,
        "epochs": {16: 10, 32: 20, 64: 20}[width],
        "dropout": round(chance.uniform(0, 0.6), 3),
        "schedule": chance.choice(["cosine", "constant"]),
        "weight_decay": 10 ** chance.uniform(-6, -3),
        "label_smoothing": chance.choice([0.0, 0.05, 0.1]),
    }


def score_of(values):
    rate = -0.05 * (math.log10(values["learning_rate"]) + 2.9) ** 2
    strong = 0.06 if values["augment"] == "strong" and values["width"] == 64 else 0.0
    return 0.84 + rate + strong + 0.015 * (values["augment"] != "none")


def planned(count, seeds=2):
    """Random settings with so many seeds each."""
    chance, runs = random.Random(24), []
    base = {"backbone": "SmallNet", "image_size": 192, "output": ""}
    while len(runs) < count:
        own = settings(chance)
        for seed in range(seeds):
            values = own | {"seed": seed}
            runs.append(
                PlannedRun(f"{len(runs):012x}", own | {"backbone": "SmallNet"}, values | base)
            )
    return runs[:count]


def write_csv(path, rows):
    with path.open("w", newline="") as lines:
        csv.writer(lines).writerows(rows)


def leave(folder, number, run):
    """What a run leaves in its folder."""
    chance = np.random.default_rng(number)
    score = float(np.clip(score_of(run.values) + chance.normal(0, NOISE), 0.01, 0.99))
    seconds = 40 + run.values["width"] * run.values["epochs"] / 10 + chance.exponential(20)
    folder.mkdir(parents=True, exist_ok=True)
    metrics = {
        "macro_f1": round(score, 4),
        "accuracy": round(min(0.999, score + 0.02), 4),
        "seconds": round(seconds, 2),
        "images_per_second": round(400_000 / seconds, 1),
        "device": {"name": "TPU v5e", "replicas": 8},
        "data": {"source": "tpu-getting-started", "val": PHOTOS},
        "ended": (BEGAN + timedelta(minutes=3 * number)).isoformat(),
    }
    (folder / "metrics.json").write_text(json.dumps(metrics))
    epochs = [["epoch", "loss", "val_macro_f1", "seconds"]]
    for epoch in range(1, run.values["epochs"] + 1):
        value = score * (1 - math.exp(-epoch / 3)) + chance.normal(0, 0.004)
        epochs.append([epoch, 2 / epoch, round(value, 4), round(seconds / EPOCHS, 2)])
    write_csv(folder / "history.csv", epochs)
    by_class = np.clip(score + np.random.default_rng(7).normal(0, 0.08, len(CLASSES)), 0, 1)
    by_class = np.clip(by_class + chance.normal(0, 0.03, len(CLASSES)), 0, 1)
    scores = [[c, *[f"{s:.4f}"] * 3, 10] for c, s in zip(CLASSES, by_class, strict=True)]
    header = ["class", "F1", "precision", "recall", "images"]
    write_csv(folder / "class_scores.csv", [header, *scores])
    return score


def leave_predictions(folder, number, score, best):
    """What each photo was taken for; of the best runs also the mistakes, and the matrix that names
    the classes."""
    chance = np.random.default_rng(1000 + number)
    labels = np.arange(PHOTOS) % len(CLASSES)
    hard = np.random.default_rng(8).random(PHOTOS) + chance.normal(0, 0.05, PHOTOS)
    guesses = np.where(hard < score, labels, (labels + 1) % len(CLASSES))
    np.savez_compressed(
        folder / "val_predictions.npz",
        ids=np.array([f"photo{n:05}" for n in range(PHOTOS)]),
        labels=labels,
        probabilities=np.eye(len(CLASSES), dtype=np.float32)[guesses],
    )
    if not best:
        return
    wrong = np.flatnonzero(guesses != labels)[:24]
    photos = [{"photo": PICTURE, "id": f"photo{n:05}"} for n in wrong]
    (folder / "mistakes.json").write_text(json.dumps(photos))
    counts = np.zeros((len(CLASSES), len(CLASSES)), int)
    np.add.at(counts, (labels, guesses), 1)
    rows = [[name, *row] for name, row in zip(CLASSES, counts.tolist(), strict=True)]
    write_csv(folder / "confusion.csv", [["true", *CLASSES], *rows])


def make(folder, count):
    """Write a sweep's folder with its page; returns the page."""
    folder = Path(folder)
    runs = planned(count)
    scores = {run.id: leave(folder / run.id, n, run) for n, run in enumerate(runs)}
    among_the_best = sorted(scores.values())[-20:][0]
    for n, run in enumerate(runs):
        score = scores[run.id]
        leave_predictions(folder / run.id, n, score, best=score >= among_the_best)
    made = SweepFolder(folder)
    for run in runs:
        made.write(run.id, Record(sweep_folder.DONE, dict(run.overrides), seconds=90.0))
    space = dict.fromkeys([*settings(random.Random(0)), SEED])
    sweep = Specification(
        folder.name,
        Path("notebooks/02_train.py"),
        declared={name: Parameter(name, None) for name in space},
        base={},
        code="",
        score="macro_f1",
        search=SearchSettings(count, space),
    )
    table.write(table.gather(made, sweep, runs))
    return folder / "index.html"


if __name__ == "__main__":
    print(make(sys.argv[1], int(sys.argv[2])))
