"""How runs are begun on this machine: forked from a process that is warm, or afresh."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from kernelkit.sweep.workers.processes import Fresh, Launcher

COLD = "KERNELKIT_COLD"  # set to anything: every run in an interpreter of its own


def launcher(warm: Sequence[str], log: Path) -> Launcher:
    """What starts runs, with these modules imported beforehand where a fork is safe."""
    if sys.platform != "linux" or COLD in os.environ:
        return Fresh()
    from kernelkit.sweep.workers.fork_server import ForkServer

    return ForkServer(warm, log)
