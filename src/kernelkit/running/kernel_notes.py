"""A notebook's process whose C++ libraries keep the notes on their own work to themselves.

These libraries write past Jupyter, straight to the terminal that the process was started from, and
some lines come at every level of logging.
"""

from __future__ import annotations

import os
import sys
import threading
from typing import Any

from jupyter_client.manager import AsyncKernelManager

from kernelkit.terminal import safe_text
from kernelkit.terminal.live_line import is_note


class KernelWithoutNotes(AsyncKernelManager):
    """Starts a kernel as Jupyter does; what else it writes to stderr is passed on line by line."""

    async def start_kernel(self, **options: Any) -> None:  # type: ignore[override]  # a wrapper
        """As the base class; the thread that reads ends with the kernel and its children."""
        read, write = os.pipe()
        threading.Thread(target=_pass_on, args=(read,), daemon=True).start()
        try:
            await super().start_kernel(**{"stderr": write, **options})
        finally:
            os.close(write)


def _pass_on(descriptor: int) -> None:
    with os.fdopen(descriptor, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            text = safe_text.plain(line.rstrip("\n"))
            if not is_note(text):
                print(safe_text.writable(text, sys.stderr), file=sys.stderr, flush=True)
