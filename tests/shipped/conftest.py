"""A rehearsal's competition of a few noisy pictures, in every size of the real one."""

import re
import shutil

import pytest
from checkouts import ROOT
from records import write_dataset

SIZES = (192, 224, 331, 512)
COUNTS = {"train": (9, 9), "val": (9,), "test": (6,)}
CATALOGUE = "runs/local_kaggle/catalogue"


@pytest.fixture(scope="session")
def competition(tmp_path_factory):
    """The competition's folder: three classes, 18 train, 9 val and 6 test images a size."""
    root = tmp_path_factory.mktemp("competition")
    for size in SIZES:
        ids = write_dataset(root, size, COUNTS)
    (root / "sample_submission.csv").write_text("id,label\n" + "".join(f"{n},0\n" for n in ids))
    return root


@pytest.fixture
def checkout(tmp_path, competition):
    """A copy of the repository to push from, whose local Kaggle has the competition already.

    It has no command that fills the catalogue: that would import TensorFlow to find it full.
    """
    root = tmp_path / "checkout"
    shutil.copytree(ROOT / "notebooks", root / "notebooks")
    (root / "src").symlink_to(ROOT / "src")
    shutil.copy(ROOT / "kernel-metadata.json", root)
    text, filling = re.subn(
        "^catalogue =.*\n", "", (ROOT / "pyproject.toml").read_text(), flags=re.M
    )
    assert filling == 1
    (root / "pyproject.toml").write_text(text)
    (root / CATALOGUE / "competitions").mkdir(parents=True)
    (root / CATALOGUE / "competitions" / "tpu-getting-started").symlink_to(competition)
    return root
