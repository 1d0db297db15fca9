"""Start a notebook's process without the diagnostics of Jupyter and of C++ libraries.

C++ libraries bypass Jupyter and write straight to the terminal that started the process, and they
write some lines at every logging level.
"""

import os
import sys
import threading
from collections import Counter
from typing import Any

from jupyter_client.manager import AsyncKernelManager

from kernelkit.terminal import safe_text
from kernelkit.terminal.events import LiveLine


class ShownOnce:
    """Lines that arrive by two ways: what a child process writes reaches the terminal by the
    kernel's own streams, and by Jupyter's messages."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: dict[str, Counter[str]] = {"stream": Counter(), "message": Counter()}

    def is_new(self, line: str, way: str) -> bool:
        """Whether this line has not come by the other way yet, as often as by this one."""
        other = "message" if way == "stream" else "stream"
        with self._lock:
            self._seen[way][line] += 1
            return self._seen[way][line] > self._seen[other][line]


LINES = ShownOnce()


class KernelWithoutNotes(AsyncKernelManager):
    """Starts a kernel as Jupyter does; other lines on stderr are passed on one by one."""

    async def start_kernel(self, **options: Any) -> None:  # type: ignore[override]  # a wrapper
        """Start as the base class does; the reading thread ends with the kernel and its
        children."""
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
            if safe_text.note_level(text) or text.startswith("[IPKernelApp]"):
                continue
            if LINES.is_new(text, "stream"):
                LiveLine(sys.stderr).stay(text)
