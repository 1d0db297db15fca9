"""Pages that follow what goes on, served to this machine alone while a command runs.

The server carries pages and changes nothing. It answers only addresses that hold its token, which
is new each time; it writes no log, since addresses are in there. A page on disk stays as it is, and
connects to nothing: only as served may a page ask its own address again.
"""

import contextlib
import hashlib
import hmac
import os
import secrets
import sys
import threading
import time
import webbrowser
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingTCPServer
from typing import Any
from urllib.parse import quote

from kernelkit import project
from kernelkit.errors import ParameterError
from kernelkit.pages import index_page, shell, trail

HERE = "127.0.0.1"
POLL_SECONDS = 1.0  # between two questions of a page: runs/live.js
PAUSE = 10  # times as long as it took to make, a page is served as it is: runs come first
REQUEST_SECONDS = 10.0  # for a request to arrive, and for its answer to leave

Render = Callable[[bool], str]  # the page's HTML; the argument: whether the command is at its end


class LiveServer(ThreadingTCPServer):
    """Serves one page as `render` makes it, and the other pages below its folder as they are."""

    daemon_threads = True
    allow_reuse_address = False  # on Windows another process could take the port

    def __init__(self, page: Path, render: Render) -> None:
        self.root, self.name = page.parent.resolve(), page.name
        self.token = secrets.token_urlsafe(16)
        self.over = False
        self._render, self._lock = render, threading.Lock()
        self._text, self._next, self._requested = b"", 0.0, 0.0
        super().__init__((HERE, 0), Request)

    @property
    def address(self) -> str:
        """The page's address, with the token."""
        return f"http://{HERE}:{self.server_address[1]}/{self.token}/{quote(self.name)}"

    def page(self, place: str) -> bytes | None:
        """The page at this place below the folder; None if there is none."""
        if place == self.name:
            self._requested = time.monotonic()
            return self.rendered() or None
        with contextlib.suppress(OSError, ValueError):
            file = (self.root / place).resolve()
            if file.suffix == ".html" and file.is_relative_to(self.root):
                text = file.read_bytes()
                return _connected(text) if file.name == trail.INDEX else text
        return None

    def rendered(self) -> bytes:
        """The page, made again unless that was a moment ago."""
        with self._lock, contextlib.suppress(OSError):  # a run's file that has just gone
            begun = time.monotonic()
            if begun >= self._next:
                self._text = _connected(self._render(self.over).encode("utf-8", "backslashreplace"))
                now = time.monotonic()
                self._next = now + max(POLL_SECONDS / 2, PAUSE * (now - begun))
        return self._text

    def end(self) -> None:
        """Let those who watch see the end, and close."""
        try:
            if time.monotonic() - self._requested < 3 * POLL_SECONDS:
                self.over, self._next = True, 0.0
                self.rendered()
                time.sleep(2 * POLL_SECONDS)
        finally:
            self.shutdown()
            self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of viewers who left in the middle of an answer."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class Request(BaseHTTPRequestHandler):
    """Answers GET for a page, with 304 for one that the viewer has."""

    server: LiveServer
    timeout = REQUEST_SECONDS

    def do_GET(self) -> None:
        """Answer with the page."""
        # A name that leads here from elsewhere (DNS rebinding) is no name of this machine.
        host = self.headers.get("Host", "").rpartition(":")[0]
        token, _, place = self.path.partition("?")[0].removeprefix("/").partition("/")
        mine = hmac.compare_digest(token.encode("latin-1"), self.server.token.encode())
        text = None
        if mine and host in (HERE, "localhost"):
            text = self.server.page(trail.place(place))
        if text is None:
            self.send_error(404)
            return
        tag = f'"{hashlib.sha256(text).hexdigest()}"'
        same = self.headers.get("If-None-Match") == tag
        self.send_response(304 if same else 200)
        for name, value in {
            "ETag": tag,
            "Content-Type": "text/html; charset=utf-8",
            "Content-Length": str(0 if same else len(text)),
            "Cache-Control": "no-store",
            "Content-Security-Policy": "frame-ancestors 'none'",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
        }.items():
            self.send_header(name, value)
        self.end_headers()
        if not same:
            self.wfile.write(text)

    def log_message(self, format: str, *args: object) -> None:
        """Write nothing: a request's line has the token."""


@contextlib.contextmanager
def served(page: Path, render: Render) -> Iterator[str]:
    """Serve the page that belongs at `page` during a block, and open it in a browser.

    Yields the address.
    """
    server = LiveServer(page, render)
    threading.Thread(target=server.serve_forever, args=(0.2,), daemon=True).start()
    try:
        # Without a display there may be a browser of text, which would take the terminal.
        if sys.platform != "linux" or {"DISPLAY", "WAYLAND_DISPLAY", "BROWSER"} & {*os.environ}:
            threading.Thread(target=webbrowser.open, args=(server.address,), daemon=True).start()
        yield server.address
    finally:
        server.end()


def watch(folder: Path | None, tell: Callable[[str], object]) -> None:
    """Serve the page over all runs in a folder, by default the project's, until Ctrl-C.

    `tell` is called with its address. Raises `ParameterError` if there is no such folder.
    """
    folder = folder or project.runs_here()
    if not folder.is_dir():
        raise ParameterError(f"there is no folder {folder}: run a notebook first, or name another")
    with (
        contextlib.suppress(KeyboardInterrupt),
        served(folder / trail.INDEX, lambda over: index_page.live(folder, over)) as address,
    ):
        tell(address)
        while True:
            time.sleep(1)


def _connected(text: bytes) -> bytes:
    closed = shell.CLOSED.encode()
    return text.replace(closed, closed + b" connect-src 'self';", 1)
