"""What a notebook's processes take of the machine while they run; a report draws it over time."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kernelkit import files, processes
from kernelkit.run_folders import kit_folder

SECONDS = 2.0  # between two lines; a run that is shorter leaves no file
COLUMNS = "seconds,memory,cpu_seconds,gpu_percent,gpu_mib\n"
GPU = "nvidia-smi --id=0 --query-gpu=utilization.gpu,memory.used --format=csv,noheader,nounits"


@contextmanager
def recorded(folder: Path) -> Iterator[None]:
    """For the length of a block, note what this process and all below it take, in the run's folder.

    The file is CSV: seconds since the block began, bytes of memory, seconds of CPU in all, and of
    the first NVIDIA GPU the percentage of time at work and the MiB in use, empty if there is none.
    """
    path, over = kit_folder.path(folder, kit_folder.RESOURCES), threading.Event()
    path.unlink(missing_ok=True)
    recorder = threading.Thread(target=_record, args=(path, over))
    recorder.start()
    try:
        yield
    finally:
        over.set()
        recorder.join()


def _record(path: Path, over: threading.Event) -> None:
    begun = time.monotonic()
    with suppress(OSError):  # a full disk must not end the run
        while not over.wait(SECONDS):
            if not path.is_file():
                files.write_text(path, COLUMNS)
            memory, cpu = processes.usage(os.getpid())
            with path.open("a", encoding="utf-8") as lines:
                lines.write(f"{time.monotonic() - begun:.1f},{memory},{cpu:.1f},{_gpu()}\n")


def _gpu() -> str:
    with suppress(OSError, subprocess.SubprocessError):
        return subprocess.check_output(GPU.split(), text=True, timeout=5).strip()
    return ","
