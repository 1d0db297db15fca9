"""Small data in the competition's format, and a cache that no test shares with a user."""

import os
import shutil
import subprocess
import sys
import time

import numpy as np
import pytest
from records import COLOURS, jpeg, write_dataset

SIZE = 32


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("PETALS_CACHE", str(tmp_path_factory.getbasetemp() / "petals_cache"))
    monkeypatch.setenv("KERNELKIT_INPUT_ROOT", str(tmp_path_factory.getbasetemp() / "no_mounts"))
    monkeypatch.delenv("KAGGLE_KERNEL_RUN_TYPE", raising=False)


@pytest.fixture
def photos(tmp_path):
    """A folder of class folders: three colours, 20 photos each."""
    for number in range(60):
        place = tmp_path / "photos" / list(COLOURS)[number % 3]
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{number // 3:02}.jpg").write_bytes(jpeg(number, 48))
    return tmp_path / "photos"


@pytest.fixture(scope="session")
def dataset(tmp_path_factory):
    """A dataset of three classes: 50 train, 21 val and 13 test images in several shards."""
    root = tmp_path_factory.mktemp("dataset")
    write_dataset(root, SIZE, {"train": (17, 17, 16), "val": (11, 10), "test": (13,)})
    return root


@pytest.fixture
def copied(dataset, tmp_path):
    """A copy of the dataset, to be changed."""
    return shutil.copytree(dataset, tmp_path / "copy")


@pytest.fixture
def splits(dataset):
    """(train, val, test) of the small dataset."""
    from petals.data.shards import Split

    return tuple(Split.find(str(dataset), SIZE, part) for part in ("train", "val", "test"))


@pytest.fixture(scope="session")
def python():
    """Runs code, or a script, in a process whose Keras is chosen anew; returns its output.

    For another `exit_code` than 0 that is what it wrote to standard error.
    """

    def run(code, *arguments, exit_code=0, timeout=600, **variables):
        own = ("KERAS_", "KAGGLE_", "TF_", "TPU_")
        clean = {name: text for name, text in os.environ.items() if not name.startswith(own)}
        program = ["-c", code] if isinstance(code, str) else [code]
        done = subprocess.run(
            [sys.executable, "-W", "ignore", *map(str, [*program, *arguments])],
            env={**clean, "TF_CPP_MIN_LOG_LEVEL": "3", **variables},
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        assert done.returncode == exit_code, done.stderr[-4000:]
        return done.stderr if exit_code else done.stdout

    return run


@pytest.fixture(scope="session")
def classifier():
    """A SmallNet for the three classes, which no test changes: to build one takes a while."""
    from tuning import untrained

    return untrained()


@pytest.fixture
def policy():
    """Sets the dtype policy of Keras for a test."""
    from tensorflow import keras

    yield keras.mixed_precision.set_global_policy
    keras.mixed_precision.set_global_policy("float32")


@pytest.fixture
def clock(monkeypatch):
    """The seconds that `time.monotonic` gives, which a test moves."""
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


@pytest.fixture
def narrow(monkeypatch):
    """SmallNet with two layers, which compile fast, where the test is not about its answers."""
    from petals.models import backbones

    monkeypatch.setattr(backbones, "_WIDTHS", (4, 8))


@pytest.fixture
def write_run(tmp_path):
    """Writes a run folder under `runs`: answers that are right as often as `skill` says."""
    from petals import storage

    rng = np.random.default_rng(0)

    def write(
        name,
        skill=0.8,
        *,
        labels=(0, 1, 2) * 20,
        ids=tuple(f"{i:09x}" for i in range(60)),
        test_ids=tuple(f"t{i}" for i in range(9)),
        trainable_params=300_000,
        device=None,
        **parameters,
    ):
        folder = tmp_path / "runs" / name
        defaults = {"data": "nowhere", "validation": "val", "backbone": "SmallNet", "seed": 0}
        metrics = {
            "seconds": 10.0,
            "first_epoch_seconds": 4.0,
            "later_epoch_seconds": 2.0,
            "images_per_second": 25.0,
            "total_params": 5_000_000,
            "trainable_params": trainable_params,
            "device": {"name": "a CPU", "replicas": 1} | (device or {}),
            "data": {"image_size": 32},
            "parameters": defaults | parameters,
        }
        storage.write_json(folder / "metrics.json", metrics)
        labels = np.asarray(labels)
        answers = np.where(rng.random(len(labels)) < skill, labels, (labels + 1) % 3)
        rows = (np.eye(3)[answers] + 0.2 * rng.random((len(labels), 3))).astype(np.float32)
        rows /= rows.sum(axis=1, keepdims=True)
        np.savez(folder / "val_predictions.npz", ids=ids, labels=labels, probabilities=rows)
        tests = rng.dirichlet(np.ones(3), len(test_ids)).astype(np.float32)
        np.savez(folder / "test_predictions.npz", ids=test_ids, probabilities=tests)
        lines = "".join(f"{i},{p.argmax()}\n" for i, p in zip(test_ids, tests, strict=True))
        storage.write_text(folder / "submission.csv", "id,label\n" + lines)
        return folder

    return write
