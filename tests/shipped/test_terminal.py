"""What a person sees while a real small run goes on: the phase, its rate and the time left."""

import csv
import re
import runpy

import pytest
from checkouts import ROOT
from records import write_dataset

from kernelkit.terminal import safe_text

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


@pytest.mark.long
@pytest.mark.timeout(900)
def test_the_live_line_tells_phase_rate_and_time_left(tmp_path, monkeypatch):
    folder, photos = tmp_path / "run", tmp_path / "photos"
    write_dataset(photos, 32, {"train": [PHOTOS], "val": [64], "test": [8]})
    parameters = [word for value in (f"data={photos}", *PARAMETERS) for word in ("-p", value)]
    record = runpy.run_path(str(ROOT / "tools/picturing/terminal.py"))["record"]
    monkeypatch.chdir(ROOT)
    tool = ["-m", "kernelkit", "run", "notebooks/02_train.py", "--no-report", "--output"]
    recording = record([*tool, str(folder), *parameters])

    lines = [EPOCH.search(part) for part in re.split(r"\r\x1b\[K|\n", recording)]
    shown = [*dict.fromkeys(line.groups() for line in lines if line)]  # some are drawn twice
    assert [int(epoch) for epoch, *_ in shown] == list(range(1, EPOCHS + 1))
    with (folder / "history.csv").open() as file:
        rates = [float(row["images_per_second"]) for row in csv.DictReader(file)]
    assert [int(rate.replace(",", "")) for _, rate, *_ in shown] == pytest.approx(rates, abs=0.6)
    # Other work may slow an epoch: only the end is certain (test_progress has a clock of its own).
    *_, minutes, seconds = shown[-1]
    assert (int(minutes), int(seconds)) == (0, 0)

    # The epochs that are not the last were shown in the line that moves, and are gone.
    stayed = safe_text.plain(recording.replace("\r\n", "\n"))
    assert [line[1] for line in EPOCH.finditer(stayed)] == [str(EPOCHS)]
