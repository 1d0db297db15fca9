"""Whether blocks that were given back are there for the next batch."""

import ctypes
import platform

import pytest

from petals.accelerators import detect

PROGRAM = """
import resource, sys
import numpy as np
from petals.accelerators.detect import keep_freed_memory
if sys.argv[1] == "kept":
    keep_freed_memory()
three = lambda: [np.ones(24_000_000, np.uint8) for _ in range(3)]
three()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(8):
    three()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="thresholds of glibc")
def test_a_block_that_was_given_back_is_taken_again_without_page_faults(python):
    kept, returned = (int(python(PROGRAM, how)) for how in ("kept", "not kept"))
    assert kept < returned / 4


def test_a_platform_without_thresholds_is_left_alone(monkeypatch):
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    detect.keep_freed_memory()
