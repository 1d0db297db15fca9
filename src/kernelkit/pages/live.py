"""Pages that follow what goes on: the command that runs writes them again and again.

A page on disk connects to nothing. While it says that something goes on, it loads itself again in
the browser, and keeps the filter, the order and the place where the reader is (`runs/live.js`).
"""

import contextlib
import os
import sys
import threading
import time
import webbrowser
from collections.abc import Callable, Iterator
from pathlib import Path

from kernelkit import project
from kernelkit.errors import StorageError
from kernelkit.pages.many_runs import index_page
from kernelkit.pages.shared import standalone, trail
from kernelkit.terminal.live_line import LiveLine, working

SHORTEST_PAUSE = 3.0  # seconds between two writes of a page
PAUSE = 10  # times as long as a page took to make, it stays as it is: runs come first

Write = Callable[[float], object]  # the argument: the seconds until it is written again; 0: never


@contextlib.contextmanager
def kept_up_to_date(*pages: Write, line: LiveLine | None = None) -> Iterator[None]:
    """Write pages now, again and again during a block, and for the last time at its end.

    `line` shows how long that takes at the end. A page that cannot be written, because its disk is
    full or a run's file has just gone, is written the next time; at the end the error is raised.
    """
    over = threading.Event()
    writers = [threading.Thread(target=_write_until, args=(page, over)) for page in pages]
    try:
        for writer in writers:
            writer.start()  # a signal may arrive in it, and the process would wait for it for ever
        yield
    finally:
        over.set()
        with contextlib.ExitStack() as stack:
            if line and pages:
                stack.enter_context(working("writing the pages", line))
            for writer in filter(threading.Thread.is_alive, writers):
                writer.join()
            for page in pages:
                page(0.0)


def _write_until(page: Write, over: threading.Event) -> None:
    pause = SHORTEST_PAUSE
    while not over.is_set():
        begun = time.monotonic()
        with contextlib.suppress(OSError, StorageError):
            page(pause)
        pause = max(SHORTEST_PAUSE, PAUSE * (time.monotonic() - begun))
        over.wait(pause)


def page_of_all_runs(folder: Path | None = None) -> list[Write]:
    """What writes the page over all runs below a folder, by default the project's; empty where
    nobody has asked for that page yet with `kernelkit report`."""
    folder = folder or project.runs_here()
    page = folder / trail.INDEX
    if not page.is_file() or not standalone.is_free(page):
        return []
    return [lambda again: index_page.write_as_it_is(folder, again)]


def show(page: Path) -> None:
    """Open a page on disk in the browser, if this machine has a screen."""
    # Without a display there may be a browser of text, which would take the terminal.
    if sys.platform != "linux" or {"DISPLAY", "WAYLAND_DISPLAY", "BROWSER"} & {*os.environ}:
        webbrowser.open(page.resolve().as_uri())
