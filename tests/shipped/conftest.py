"""A rehearsal's competition of a few noisy pictures, in every size of the real one."""

import json
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from records import write_dataset

SIZES = (192, 224, 331, 512)
COUNTS = {"train": (9, 9), "val": (9,), "test": (6,)}
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def competition(tmp_path_factory) -> Path:
    """The competition's folder: three classes, 18 train, 9 val and 6 test images a size."""
    root = tmp_path_factory.mktemp("competition")
    for size in SIZES:
        ids = write_dataset(root, size, COUNTS)
    (root / "sample_submission.csv").write_text("id,label\n" + "".join(f"{n},0\n" for n in ids))
    return root


@dataclass
class Checkout:
    """A copy of the repository to push from, whose local Kaggle has the competition already.

    It has no command that fills the catalogue: that would import TensorFlow to find it full.
    """

    root: Path

    @property
    def runs(self) -> Path:
        return self.root / "runs"

    @property
    def catalogue(self) -> Path:
        return self.runs / "local_kaggle" / "catalogue"

    def attach(self, dataset: Path, name: str) -> None:
        """Offer a folder as a dataset, and attach it to what the default metadata pushes."""
        place = self.catalogue / "datasets" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(dataset)
        file = self.root / "kernel-metadata.json"
        values = json.loads(file.read_text()) | {"dataset_sources": [name]}
        file.write_text(json.dumps(values))


@pytest.fixture
def checkout(tmp_path, competition) -> Checkout:
    root = tmp_path / "checkout"
    shutil.copytree(ROOT / "notebooks", root / "notebooks")
    (root / "src").symlink_to(ROOT / "src")
    shutil.copy(ROOT / "kernel-metadata.json", root / "kernel-metadata.json")
    lines = (ROOT / "pyproject.toml").read_text().splitlines(keepends=True)
    kept = [line for line in lines if not line.startswith("catalogue =")]
    assert len(kept) == len(lines) - 1
    (root / "pyproject.toml").write_text("".join(kept))
    found = Checkout(root)
    (found.catalogue / "competitions").mkdir(parents=True)
    (found.catalogue / "competitions" / "tpu-getting-started").symlink_to(competition)
    return found


@pytest.fixture(autouse=True)
def own_python(monkeypatch):
    """Kernels are those of this environment, wherever the tests have their home."""
    monkeypatch.setenv("JUPYTER_PATH", str(Path(sys.prefix) / "share" / "jupyter"))
