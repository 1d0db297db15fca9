"""What a run takes of its machine is in its folder, for the report."""

import csv
import threading
import time

import pytest

from petals import resources


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(resources, "SECONDS", 0.05)
    monkeypatch.setattr(resources, "_over", {})


def lines_of(file, count):
    until = time.monotonic() + 20
    while time.monotonic() < until:
        lines = file.read_text().splitlines() if file.is_file() else []
        if len(lines) > count:
            return list(csv.DictReader(lines[: count + 1]))
        time.sleep(0.02)
    raise AssertionError(f"{file} is not written")


def test_a_run_records_memory_and_cpu_on_kaggle_alone(tmp_path, monkeypatch):
    before = threading.active_count()
    for kind, begun in (("", 0), ("Batch", 1), ("Batch", 1)):
        if kind:
            monkeypatch.setenv("KAGGLE_KERNEL_RUN_TYPE", kind)
        resources.record(tmp_path)
        assert threading.active_count() == before + begun
    first, second = lines_of(tmp_path / resources.FILE, 2)
    assert float(first["seconds"]) <= float(second["seconds"])
    assert int(first["memory"]) > 10_000_000
    assert 0 < float(first["cpu_seconds"]) <= float(second["cpu_seconds"])
    assert set(first) == {"seconds", "memory", "cpu_seconds", "device_mib"}
    resources.stop(tmp_path)
    while threading.active_count() > before:
        time.sleep(0.01)
    size = (tmp_path / resources.FILE).stat().st_size
    time.sleep(0.2)
    assert (tmp_path / resources.FILE).stat().st_size == size
