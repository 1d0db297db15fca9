"""The tool as a person meets it: messages, exit codes, an interrupt in mid-work."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image


def noise(path, seed, side):
    pixels = np.random.default_rng(seed).integers(0, 255, (side, side, 3), np.uint8)
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)
    return path


@pytest.fixture
def photos(tmp_path):
    for number in range(24):
        noise(tmp_path / "photos" / ("lily", "rose")[number % 2] / f"{number}.jpg", number, 40)
    return tmp_path / "photos"


def test_labelled_photos_are_written_and_inspected_until_one_is_damaged(photos, tmp_path, call):
    names = [path.relative_to(photos) for path in sorted(photos.glob("*/*.jpg"))]
    (photos / "rose" / "broken.jpg").write_text("no photo")
    table, output = tmp_path / "labels.csv", tmp_path / "out"
    names.append(Path("rose/broken.jpg"))
    table.write_text("file,label\n" + "".join(f"{name},{name.parent}\n" for name in names))
    noise(tmp_path / "test" / "t.jpg", 99, 40)
    options = ("--size", 32, "--size", 48, "--labels", table, "--test-photos", tmp_path / "test")
    written = call("make_tfrecords", "write", photos, output, *options)
    assert written.exit_code == 0, written.output
    assert "2 classes, " in written.stdout
    assert "1 test" in written.stdout
    assert "broken.jpg: not a whole image" in written.stdout

    inspected = call("make_tfrecords", "inspect", output)
    assert inspected.exit_code == 0, inspected.output
    assert "32 px train: " in inspected.stdout
    shard = next(output.glob("tfrecords-jpeg-48x48/train/*.tfrec"))
    shard.write_bytes(shard.read_bytes()[:-9])
    damaged = call("make_tfrecords", "inspect", output)
    assert damaged.exit_code == 11
    assert f"{shard}: record " in damaged.stdout


@pytest.mark.parametrize(
    ("folder", "output", "option", "code", "message"),
    [
        ("nothing", "out", "--size=32", 11, "error: no such folder: {folder}"),
        ("photos", "out", "--val=0.9", 2, "sum is less than 1"),
        ("photos", "file", "--size=32", 12, "cannot write"),
    ],
)
def test_a_mistake_is_one_message_and_a_code(
    photos, tmp_path, call, folder, output, option, code, message
):
    (tmp_path / "file").write_text("")
    done = call("make_tfrecords", "write", tmp_path / folder, tmp_path / output, option)
    assert done.exit_code == code
    (line,) = done.stderr.splitlines()
    assert message.format(folder=tmp_path / folder) in line
    assert not (tmp_path / "out").exists()
