"""What a person sees while a real small run goes on: the phase, its rate and the time left."""

import csv
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from fcntl import ioctl
from pathlib import Path

import pytest
from records import write_dataset

from kernelkit.terminal import safe_text

ROOT = Path(__file__).parents[2]
PHOTOS, BATCH, EPOCHS = 256, 64, 4
PARAMETERS = (
    "image_size=32",
    "backbone=SmallNet",
    "weights=none",
    "fine_tune=all",
    "head=none",
    f"epochs={EPOCHS}",
    f"batch_size={BATCH}",
    "views=1",
    "augment=none",
    "accelerator=cpu",
)
EPOCH = re.compile(rf"fine-tune (\d)/{EPOCHS}  loss .*?([\d,]+) images/s  (\d+):(\d\d) left")


def in_a_terminal(command, cwd):
    """All that the command writes to a terminal of 120 columns."""
    leader, follower = pty.openpty()
    ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "120"}
    process = subprocess.Popen(
        command, cwd=cwd, stdin=follower, stdout=follower, stderr=follower, env=environment
    )
    os.close(follower)
    told = b""
    while True:
        try:
            part = os.read(leader, 65536)
        except OSError:  # the other end is closed
            part = b""
        if not part:
            break
        told += part
    os.close(leader)
    assert process.wait() == 0, told.decode(errors="replace")
    return told.decode()


@pytest.mark.long
@pytest.mark.timeout(900)
def test_the_live_line_tells_phase_rate_and_time_left(tmp_path):
    folder, photos = tmp_path / "run", tmp_path / "photos"
    write_dataset(photos, 32, {"train": [PHOTOS], "val": [64], "test": [8]})
    given = [part for one in (f"data={photos}", *PARAMETERS) for part in ("-p", one)]
    told = in_a_terminal(
        [
            sys.executable,
            str(ROOT / "tools" / "run_notebook.py"),
            "notebooks/02_train.py",
            "--output",
            str(folder),
            "--no-report",
            *given,
        ],
        cwd=ROOT,
    )
    with (folder / "history.csv").open() as file:
        history = list(csv.DictReader(file))
    lines = [EPOCH.search(part) for part in re.split(r"\r\x1b\[K|\n", told)]
    lines = [found for found in lines if found]
    assert [int(found[1]) for found in lines] == list(range(1, EPOCHS + 1))

    each = [float(row["seconds"]) for row in history]
    for found, row in zip(lines, history, strict=True):
        epoch, rate = int(found[1]), int(found[2].replace(",", ""))
        left = 60 * int(found[3]) + int(found[4])
        seconds = float(row["seconds"])
        assert rate == pytest.approx(float(row["images_per_second"]), abs=0.6)
        # An epoch is its steps at that rate, and the scoring after them.
        assert PHOTOS / rate <= 1.02 * seconds + 0.5 / rate
        # What is left is as many epochs as there are, at a pace between the fastest and the
        # slowest of them; the first one also compiles, which no other will.
        assert left >= int(0.5 * min(each) * (EPOCHS - epoch)) - 1
        assert left <= 1.5 * max(each) * (EPOCHS - epoch) + 10
    assert left == 0

    # The epochs that are not the last were shown in the line that moves, and are gone.
    stayed = safe_text.plain(told.replace("\r\n", "\n"))
    assert [found[1] for found in EPOCH.finditer(stayed)] == [str(EPOCHS)]
