"""Have glibc keep the memory that is given back, since the next batch asks for the same again.

By default it returns blocks of tens of megabytes to the system at once, which clears each page
before it hands it out again: batches of images are such blocks.
"""

from __future__ import annotations

import ctypes

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of malloc.h
MOST_MAPPED = 32 << 20  # bytes; glibc allows no higher threshold
KEPT_FREE = 1 << 30  # bytes that may lie free at the end of a heap


def keep_freed_memory() -> bool:
    """Raise the thresholds of this process's `malloc`; False where the platform has none.

    Blocks above 32 MB are still taken from the system and given back, each by itself.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # musl, macOS, Windows
        return False
    return bool(mallopt(M_MMAP_THRESHOLD, MOST_MAPPED) and mallopt(M_TRIM_THRESHOLD, KEPT_FREE))
