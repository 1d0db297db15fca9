"""The tool as a person meets it: messages, exit codes, an interrupt in mid-work."""

import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

TOOL = str(Path(__file__).parents[2] / "tools" / "make_tfrecords.py")


def tool(*arguments: object) -> subprocess.CompletedProcess:
    command = [sys.executable, "-W", "ignore", TOOL, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.fixture
def photos(tmp_path) -> Path:
    rng = np.random.default_rng(0)
    for name in ("lily", "rose"):
        (tmp_path / "photos" / name).mkdir(parents=True)
        for number in range(12):
            pixels = rng.integers(0, 255, (40, 50, 3)).astype(np.uint8)
            Image.fromarray(pixels).save(tmp_path / "photos" / name / f"{number}.jpg")
    return tmp_path / "photos"


@pytest.mark.long
def test_write_then_inspect_then_find_the_damage(photos, tmp_path):
    (photos / "rose" / "broken.jpg").write_text("no photo")
    written = tool("write", photos, tmp_path / "out", "--size", 32, "--size", 48)
    assert written.returncode == 0, written.stderr
    assert "2 classes, " in written.stdout
    assert "broken.jpg: not a whole image" in written.stdout
    inspected = tool("inspect", tmp_path / "out")
    assert inspected.returncode == 0, inspected.stdout
    assert "32 px train: " in inspected.stdout
    shard = next((tmp_path / "out").glob("tfrecords-jpeg-48x48/train/*.tfrec"))
    shard.write_bytes(shard.read_bytes()[:-9])
    damaged = tool("inspect", tmp_path / "out")
    assert damaged.returncode == 11
    assert f"{shard} is damaged after" in damaged.stdout


@pytest.mark.long
def test_a_csv_and_test_photos(photos, tmp_path):
    (tmp_path / "test").mkdir()
    (photos / "rose" / "0.jpg").rename(tmp_path / "test" / "t.jpg")
    table = tmp_path / "labels.csv"
    names = [path.relative_to(photos) for path in sorted(photos.glob("*/*.jpg"))]
    table.write_text("file,label\n" + "".join(f"{name},{name.parent}\n" for name in names))
    given = ("--size", 32, "--labels", table, "--test-photos", tmp_path / "test")
    written = tool("write", photos, tmp_path / "out", *given)
    assert written.returncode == 0, written.stderr
    assert "2 classes, " in written.stdout
    assert "1 test" in written.stdout
    assert tool("inspect", tmp_path / "out").returncode == 0
    table.write_text("file,label\nnone.jpg,rose\n")
    bad = tool("write", photos, tmp_path / "other", *given)
    assert bad.returncode == 11
    assert bad.stderr.splitlines()[-1] == f"  no file 'none.jpg' in {photos}"
    assert not (tmp_path / "other").exists()


@pytest.mark.long
def test_mistakes_are_one_message_and_a_code(photos, tmp_path):
    missing = tool("write", tmp_path / "nothing", tmp_path / "out")
    assert (missing.returncode, missing.stdout) == (11, "")
    assert missing.stderr.splitlines()[-1] == f"error: no such folder: {tmp_path / 'nothing'}"
    wrong = tool("write", photos, tmp_path / "out", "--val", 0.9)
    assert wrong.returncode == 2
    assert "less than 1 in sum" in wrong.stderr
    (tmp_path / "file").write_text("")
    unwritable = tool("write", photos, tmp_path / "file", "--size", 32)
    assert unwritable.returncode == 12
    assert "cannot write" in unwritable.stderr
    for done in (missing, wrong, unwritable):
        assert "Traceback" not in done.stderr


@pytest.mark.long
def test_an_interrupt_ends_with_130_and_whole_files(tmp_path, hearing_ctrl_c):
    rng = np.random.default_rng(0)
    (tmp_path / "photos" / "rose").mkdir(parents=True)
    buffer = io.BytesIO()
    Image.fromarray(rng.integers(0, 255, (1500, 1500, 3)).astype(np.uint8)).save(buffer, "JPEG")
    for number in range(300):
        path = tmp_path / "photos" / "rose" / f"{number}.jpg"
        path.write_bytes(buffer.getvalue() + bytes([number % 256, number // 256]))
    process = subprocess.Popen(
        [
            *hearing_ctrl_c,
            TOOL,
            "write",
            str(tmp_path / "photos"),
            str(tmp_path / "out"),
            "--size",
            "1024",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    end = time.monotonic() + 90
    while time.monotonic() < end and not list((tmp_path / "out").glob("*/*/[!.]*.tfrec")):
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert errors.splitlines()[-1] == "interrupted"
    left = [path.name for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert left
    assert not [name for name in left if name.startswith(".")]
    assert tool("inspect", tmp_path / "out").returncode == 0
