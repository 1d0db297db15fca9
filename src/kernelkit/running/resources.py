"""What a notebook's processes use of the machine while they run; the report draws it over time."""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kernelkit import processes
from kernelkit.run_folders import kit_folder

SECONDS = 2.0  # between two lines
COLUMNS = "seconds,memory,cpu_seconds\n"


@contextmanager
def recorded(folder: Path) -> Iterator[None]:
    """During a block, record in the run's folder what this process and its descendants use.

    The file is CSV: seconds since the block began, bytes of memory, and seconds of CPU in all.
    """
    over = threading.Event()
    recorder = threading.Thread(target=_record, args=(folder, over))
    recorder.start()
    try:
        yield
    finally:
        over.set()
        recorder.join()


def _record(folder: Path, over: threading.Event) -> None:
    path, begun = kit_folder.path(folder, kit_folder.RESOURCES), time.monotonic()
    with suppress(OSError):  # a full disk must not end the run
        path.parent.mkdir(exist_ok=True)
        with path.open("w", buffering=1, encoding="utf-8") as lines:
            lines.write(COLUMNS)
            while not over.wait(SECONDS):
                memory, cpu = processes.usage(os.getpid())
                lines.write(f"{time.monotonic() - begun:.1f},{memory},{cpu:.1f}\n")
