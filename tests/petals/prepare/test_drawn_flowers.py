"""The drawn flowers that the repository holds: what they are, and that any size can be read."""

import hashlib
import io
import json

import numpy as np
import pytest
from checkouts import ROOT, git
from PIL import Image

from draw_flowers import dataset as drawing
from draw_flowers.picture import draw_flower
from petals.data import layout, shards, writing
from petals.data.shards import Split
from petals.errors import DataError, SettingError, StorageError
from petals.prepare import drawn_flowers
from petals.progress import Progress

MANIFEST = json.loads((drawn_flowers.FOLDER / "manifest.json").read_text())
SIZE = MANIFEST["image_size"]


def pixels(jpeg):
    with Image.open(io.BytesIO(jpeg)) as image:
        return np.asarray(image, float)


def examples(folder, size, split):
    return list(Split.find(str(folder), size, split).examples())


def test_the_files_are_those_of_the_manifest():
    files = [path for path in drawn_flowers.FOLDER.rglob("*") if path.is_file()]
    names = {path.relative_to(drawn_flowers.FOLDER).as_posix() for path in files}
    assert names == {*MANIFEST["files"], "manifest.json"}
    for name, facts in MANIFEST["files"].items():
        data = (drawn_flowers.FOLDER / name).read_bytes()
        assert facts == {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def test_a_clone_stays_small():
    sizes = [facts["bytes"] for facts in MANIFEST["files"].values()]
    assert sum(sizes) < 8_000_000
    assert max(sizes) < 6 << 20


def test_the_manifest_names_the_command_that_draws_this_set():
    command = f"--size {drawing.SIZE} --quality {drawing.QUALITY}"
    assert MANIFEST["command"] == f"python -m draw_flowers FOLDER {command}"
    assert MANIFEST["drawings"] == drawing.VERSION
    assert MANIFEST["images_per_class"] == drawing.COUNTS
    assert MANIFEST["image_size"] == drawing.SIZE
    assert MANIFEST["jpeg_quality"] == drawing.QUALITY


def test_every_class_is_in_train_and_val():
    for split in ("train", "val"):
        whole = Split.find(str(drawn_flowers.FOLDER), SIZE, split)
        labels, _ = whole.labels_and_ids(104)
        assert set(labels.tolist()) == set(range(104))


def test_records_hold_what_the_tool_draws_for_their_label():
    val = examples(drawn_flowers.FOLDER, SIZE, "val")[:3]
    for example in val:
        drawn = [draw_flower(example.label, 1_000_000 + k, SIZE) for k in range(5)]
        away = [np.abs(pixels(example.image) - picture).mean() for picture in drawn]
        assert min(away) < 8.0  # what JPEG alters
        assert sorted(away)[1] > 15.0  # no other picture of the class


def test_the_size_of_the_set_is_read_where_it_lies(tmp_path):
    assert drawn_flowers.at_size(tmp_path, SIZE) == drawn_flowers.FOLDER
    assert list(tmp_path.iterdir()) == []


def test_another_size_is_a_copy_with_the_same_ids_labels_and_pictures(few, tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(Progress, "__call__", lambda self, what, *done: seen.append(done))
    copy = drawn_flowers.at_size(tmp_path / "cache", 48)
    assert layout.sizes(copy) == [48]
    for split in shards.SPLITS:
        first, second = examples(few, 16, split), examples(copy, 48, split)
        assert [(e.id, e.label) for e in first] == [(e.id, e.label) for e in second]
        for own, other in zip(first[:5], second[:5], strict=True):
            large = pixels(other.image)
            assert large.shape == (48, 48, 3)
            means = large.reshape(16, 3, 16, 3, 3).mean(axis=(1, 3))
            assert np.abs(means - pixels(own.image)).mean() < 8.0
    for table in ("sample_submission.csv", "solution.csv"):
        assert (copy / table).read_text() == (few / table).read_text()
    assert seen == [(n, 3 * 104) for n in range(1, 3 * 104 + 1)]


def test_a_copy_is_made_once_and_anew_for_another_set(few, tmp_path):
    cache = tmp_path / "cache"
    first = drawn_flowers.at_size(cache, 24)
    made = (first / "solution.csv").stat().st_mtime_ns
    assert drawn_flowers.at_size(cache, 24) == first
    assert (first / "solution.csv").stat().st_mtime_ns == made
    assert drawn_flowers.at_size(cache, 20) != first
    (few / "manifest.json").write_text("{}")
    assert drawn_flowers.at_size(cache, 24) != first
    assert not list(cache.glob(".*"))


def test_a_failure_leaves_no_copy_behind(few, tmp_path, monkeypatch):
    def full(*_):
        raise StorageError("the disk is full")

    monkeypatch.setattr(writing, "write_shard", full)
    with pytest.raises(StorageError):
        drawn_flowers.at_size(tmp_path / "cache", 24)
    assert not [path for path in (tmp_path / "cache").iterdir() if path.is_dir()]


def test_a_cache_that_cannot_be_made_is_a_storage_error(few, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="choose another folder"):
        drawn_flowers.at_size(tmp_path / "file", 24)


def test_a_copy_of_the_code_without_the_set_says_where_it_is(monkeypatch, tmp_path):
    monkeypatch.setattr(drawn_flowers, "FOLDER", tmp_path / "nowhere")
    with pytest.raises(DataError, match=r"no drawn flowers in .*nowhere: only a checkout"):
        drawn_flowers.at_size(tmp_path, SIZE)


def test_a_damaged_set_names_the_file(few, tmp_path):
    (path,) = few.glob("tfrecords-jpeg-16x16/val/*.tfrec")
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(DataError, match=rf"{path.name}: record 103 is damaged: truncated record"):
        drawn_flowers.at_size(tmp_path / "cache", 24)


def test_a_flower_that_is_too_small_is_refused(tmp_path):
    with pytest.raises(SettingError, match="image_size=7: the drawn flowers have 8 pixels or more"):
        drawn_flowers.at_size(tmp_path, 7)


def test_git_keeps_the_whole_set():
    files = {*MANIFEST["files"], "manifest.json"}
    kept = git(ROOT, "ls-files", "--cached", "--others", "--exclude-standard", "drawn_flowers")
    assert set(kept.splitlines()) == {f"drawn_flowers/{name}" for name in files}
