"""The tool that draws flowers: the same everywhere, told apart by shape, as TFRecords."""

import hashlib
import io
import json
import subprocess
import sys

import numpy as np
import pytest
from checkouts import ROOT
from click.testing import CliRunner
from PIL import Image

from draw_flowers import dataset as drawing
from draw_flowers.__main__ import main
from draw_flowers.canvas import OUTLINES
from draw_flowers.flora import COLOURS, FLORA
from draw_flowers.picture import FORMS, draw_flower
from petals.data import records, shards, writing
from petals.data.classes import CLASSES
from petals.errors import SettingError, StorageError

ONE = {"train": 1, "val": 1, "test": 1}


# After a change on purpose: put the new hashes here, raise VERSION, and draw the set anew.
@pytest.mark.parametrize(
    ("label", "index", "size", "expected"),
    [
        (0, 0, 192, "2ef1786b0b01a0f9"),
        (2, 7, 192, "bec3a497c274b9f9"),
        (53, 1, 512, "19fc838acb356f3f"),
        (76, 2, 192, "a27cc442e6fe4a6b"),
        (102, 1_000_000, 331, "f88b7f6f4351c58e"),
    ],
)
def test_pixels_are_the_same_on_every_machine(label, index, size, expected):
    pixels = draw_flower(label, index, size)
    assert pixels.shape == (size, size, 3)
    assert pixels.dtype == np.uint8
    assert hashlib.sha256(pixels.tobytes()).hexdigest()[:16] == expected


@pytest.mark.parametrize("label", [3, 24, 53, 73, 98])
def test_a_flower_is_the_same_at_every_size(label):
    def away(index, size):
        pictures = draw_flower(label, 4, 192), draw_flower(label, index, size)
        first, second = (
            np.asarray(Image.fromarray(pixels).resize((32, 32), Image.Resampling.BOX), float)
            for pixels in pictures
        )
        return np.abs(first - second).mean()

    assert max(away(4, size) for size in (224, 331, 512)) < 3.0
    assert away(5, 192) > 10.0


def test_a_flower_that_is_too_small_is_refused():
    with pytest.raises(SettingError, match="image_size=7: flowers are drawn from 8 pixels on"):
        draw_flower(0, 0, 7)


def test_every_class_has_its_own_traits_that_exist():
    assert tuple(traits.name for traits in FLORA) == CLASSES
    for traits in FLORA:
        assert traits.form in FORMS
        assert traits.outline in OUTLINES
        assert {*traits.tip.split("/"), traits.base, traits.accent, traits.heart} <= set(COLOURS)
        assert 0.0 < traits.width < 1.0
        assert 0.0 < traits.radius < 1.0
    assert {traits.form for traits in FLORA} == set(FORMS)
    shapes = [(t.form, t.petals, t.layers, t.outline, t.width, t.centre, t.leaf) for t in FLORA]
    assert len(set(shapes)) == len(FLORA)  # no class differs from another by its colour alone


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    seen = []
    root = tmp_path_factory.mktemp("data") / "flowers"
    counts = {"train": 6, "val": 2, "test": 1}
    drawing.write_dataset(root, 32, 75, counts, progress=lambda _, *done: seen.append(done))
    return root, seen


def _split(root, split):
    whole = shards.Split.find(str(root), 32, split)
    examples = list(whole.examples())
    assert len(examples) == whole.count
    return examples


def test_the_dataset_has_the_competitions_format(dataset):
    root, seen = dataset
    splits = {split: _split(root, split) for split in shards.SPLITS}
    counts = {split: len(examples) for split, examples in splits.items()}
    assert counts["val"] == 2 * 104
    assert counts["test"] == 104
    assert 5.5 * 104 < counts["train"] < 6.5 * 104
    ids = [example.id for examples in splits.values() for example in examples]
    assert len(set(ids)) == len(ids)
    assert all(len(name) == 9 and int(name, 16) >= 0 for name in ids)
    assert all(example.label == records.UNLABELLED for example in splits["test"])
    assert seen == [(k + 1, len(ids)) for k in range(len(ids))]
    with Image.open(io.BytesIO(splits["val"][0].image)) as image:
        assert (image.format, image.mode, image.size) == ("JPEG", "RGB", (32, 32))


def test_train_is_uneven_and_shuffled_and_holds_every_class(dataset):
    labels = [example.label for example in _split(dataset[0], "train")]
    counts = np.bincount(labels, minlength=104)
    assert counts.min() >= 1
    assert 1.8 <= counts.max() / counts.min() <= 2.5
    assert len(set(labels[:50])) > 20


def test_records_hold_the_picture_of_their_label(dataset):
    def away(pixels, label):
        drawn = [draw_flower(label, 1_000_000 + k, 32) for k in range(2)]
        return min(np.abs(pixels - picture).mean() for picture in drawn)

    for example in _split(dataset[0], "val")[:5]:
        with Image.open(io.BytesIO(example.image)) as image:
            stored = np.asarray(image, float)
        assert away(stored, example.label) < 10.0  # what JPEG alters
        assert away(stored, (example.label + 1) % 104) > 20.0


def test_the_solution_has_a_label_for_every_row_of_the_sample_submission(dataset):
    root, _ = dataset
    sample, solution = (
        [line.split(",") for line in (root / name).read_text().splitlines()]
        for name in ("sample_submission.csv", "solution.csv")
    )
    ids = [example.id for example in _split(root, "test")]
    assert sample == [["id", "label"], *([id_, "0"] for id_ in ids)]
    assert [row[0] for row in solution] == ["id", *ids]
    assert sorted(int(label) for _, label in solution[1:]) == list(range(104))


def test_the_manifest_says_how_the_set_was_made(dataset):
    root, _ = dataset
    manifest = json.loads((root / "manifest.json").read_text())
    assert manifest["command"] == "python -m draw_flowers FOLDER --size 32 --quality 75"
    assert manifest["drawings"] == drawing.VERSION
    assert manifest["images_per_class"] == {"train": 6, "val": 2, "test": 1}
    files = {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}
    assert set(manifest["files"]) == files - {"manifest.json"}
    for name, facts in manifest["files"].items():
        data = (root / name).read_bytes()
        assert facts == {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def test_a_lower_quality_makes_smaller_files(tmp_path):
    sizes = []
    for quality in (40, 90):
        root = tmp_path / str(quality)
        drawing.write_dataset(root, 32, quality, ONE)
        sizes.append(sum(path.stat().st_size for path in root.rglob("*.tfrec")))
    assert sizes[0] < 0.8 * sizes[1]


def test_a_failure_leaves_no_set_behind(tmp_path, monkeypatch):
    def full(*_, **__):
        raise StorageError("the disk is full")

    monkeypatch.setattr(writing, "write_shard", full)
    with pytest.raises(StorageError, match="the disk is full"):
        drawing.write_dataset(tmp_path / "set", 16, 75, ONE)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_there_is_not_written_over(tmp_path):
    done = CliRunner().invoke(main, [str(tmp_path)])
    assert done.exit_code == 12
    assert done.output == f"error: {tmp_path} exists already: remove it, or choose another folder\n"


def test_a_place_that_is_a_file_is_a_storage_error(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="choose another folder"):
        drawing.write_dataset(tmp_path / "file" / "set", 16, 75, ONE)


def test_drawing_needs_neither_tensorflow_nor_keras():
    code = (
        "import sys, draw_flowers.picture; "
        "sys.exit(bool({'tensorflow', 'keras'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT / "tools", check=False)
    assert done.returncode == 0
