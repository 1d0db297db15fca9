"""A rehearsal's competition of a few noisy pictures, in every size of the real one."""

from __future__ import annotations

import io
import json
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

SIZES = (192, 224, 331, 512)
COUNTS = {"train": (9, 9), "val": (9,), "test": (6,)}
COLOURS = ((40, 60, 220), (220, 50, 40), (230, 210, 40))


def jpeg(label: int, seed: int, size: int) -> bytes:
    """A noisy picture of one colour."""
    rng = np.random.default_rng(seed)
    noise = rng.integers(-60, 60, (16, 16, 3)) + np.array(COLOURS[label])
    buffer = io.BytesIO()
    picture = Image.fromarray(noise.clip(0, 255).astype(np.uint8)).resize((size, size))
    picture.save(buffer, "JPEG")
    return buffer.getvalue()


@pytest.fixture(scope="session")
def competition(tmp_path_factory) -> Path:
    """The competition's folder: three classes, 18 train, 9 val and 6 test images a size."""
    from petals import storage
    from petals.data import classes, shards

    root = tmp_path_factory.mktemp("competition")
    ids: list[str] = []
    for size in SIZES:
        seed = 0
        for split, counts in COUNTS.items():
            for number, count in enumerate(counts):
                examples = []
                for _ in range(count):
                    label = -1 if split == "test" else seed % 3
                    name = f"{seed:09x}"
                    ids += [name] if split == "test" and size == SIZES[0] else []
                    image = jpeg(seed % 3, seed, size)
                    examples.append(shards.Example(image, name, label))
                    seed += 1
                shard = shards.shard_name(number, size, count)
                folder = Path(shards.folder(root, size, split))
                shards.write_shard(folder / shard, examples)
    storage.write_json(root / classes.FILE_NAME, ["blue", "red", "yellow"])
    (root / "sample_submission.csv").write_text("id,label\n" + "".join(f"{n},0\n" for n in ids))
    return root


ROOT = Path(__file__).parents[2]


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
