"""Memory and CPU over time of a run in a Kaggle session, for its report."""

import os
import threading
import time
from contextlib import suppress
from pathlib import Path

from petals import storage
from petals.accelerators import compilation
from petals.errors import StorageError
from petals.kaggle import on_kaggle

FILE = "resources.csv"
SECONDS = 10.0  # between two lines; a run that is shorter leaves no file
COLUMNS = "seconds,memory,cpu_seconds,device_mib\n"
STATM = Path("/proc/self/statm")
_over: dict[Path, threading.Event] = {}  # by folder: set once nothing more is recorded


def record(folder: Path) -> None:
    """Write `resources.csv` from now on until `stop`, from a thread of its own.

    Its columns: seconds since the call, bytes of memory and seconds of CPU of this process, and the
    MiB in use on the first device, empty if JAX does not know them. Does nothing outside a Kaggle
    session, where there is no /proc, or for a folder that is recorded already.
    """
    folder = folder.resolve()  # whatever the working directory becomes
    if on_kaggle() and STATM.is_file() and folder not in _over:
        over = _over[folder] = threading.Event()
        threading.Thread(target=_record, args=(folder / FILE, over), daemon=True).start()


def stop(folder: Path) -> None:
    """End the record of a folder: a file that still grows is not the one that its list names."""
    if over := _over.get(folder.resolve()):
        over.set()


def _record(path: Path, over: threading.Event) -> None:
    begun = time.monotonic()
    with suppress(OSError, StorageError):  # a full disk must not end the run
        if not over.wait(SECONDS):
            storage.write_text(path, COLUMNS)
        while not over.is_set() and path.is_file():
            memory = int(STATM.read_text("utf-8").split()[1]) * os.sysconf("SC_PAGE_SIZE")
            with path.open("a", encoding="utf-8") as lines:
                seconds = time.monotonic() - begun
                cpu = time.process_time()
                lines.write(f"{seconds:.1f},{memory},{cpu:.1f},{compilation.device_memory()}\n")
            over.wait(SECONDS)
