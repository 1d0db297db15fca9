"""What a run on this machine uses of it: a file in its folder, and what that says of its end."""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kernelkit import processes
from kernelkit.runs import kit_folder

MUCH_MEMORY = 0.5  # share of the machine's; a run that held less did not use it up
RECORD_SECONDS = 2.0  # between two lines


@contextmanager
def recorded(folder: Path) -> Iterator[None]:
    """During a block, record in the run's folder what this process and its descendants use.

    The file is CSV: seconds since the block began, bytes of memory, and seconds of CPU in all.
    """
    over = threading.Event()
    recorder = threading.Thread(target=_record, args=(folder, over))
    try:
        recorder.start()  # a signal may arrive in it, and the process would wait for it for ever
        yield
    finally:
        over.set()
        if recorder.is_alive():
            recorder.join()


def _record(folder: Path, over: threading.Event) -> None:
    path = kit_folder.path(folder, kit_folder.RESOURCES)
    begun = time.monotonic()
    with suppress(OSError):  # a full disk must not end the run
        path.parent.mkdir(exist_ok=True)
        with path.open("w", buffering=1, encoding="utf-8") as lines:
            lines.write("seconds,memory,cpu_seconds\n")
            while not over.wait(RECORD_SECONDS):
                memory, cpu = processes.usage(os.getpid())
                lines.write(f"{time.monotonic() - begun:.1f},{memory},{cpu:.1f}\n")


def why_it_died(folder: Path) -> str:
    """What may have ended a notebook's process, by the memory that was recorded, in words."""
    peak = 0
    with suppress(OSError, ValueError, IndexError):  # nothing was recorded
        lines = kit_folder.path(folder, kit_folder.RESOURCES).read_text("utf-8").splitlines()
        peak = max(int(float(line.split(",")[1])) for line in lines[1:])
    whole = 0
    if hasattr(os, "sysconf"):
        whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    others = "it ended itself (exit(), os._exit, a crash), or another host of the same run died"
    if peak and whole and peak < MUCH_MEMORY * whole:
        return f"{others}. The run held {peak / 1e6:.0f} MB of this machine's {whole / 1e9:.0f} GB"
    return f"memory ran out, {others}"
