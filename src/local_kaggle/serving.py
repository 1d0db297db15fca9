"""The HTTP server in its thread, and its connections, which faults may break."""

import asyncio
import contextlib
import socket
import struct
import threading
import time
from collections.abc import Iterator

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from local_kaggle.errors import LocalKaggleError

START_SECONDS = 10.0
HEAD_SECONDS = 30.0  # from a connection to the head of its first request
TRANSPORT = "local_kaggle.transport"  # in a request's scope: its connection


class _Breakable(H11Protocol):
    """Hands its connection to the application, so that it can be cut."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        # An answer is sent in two parts, and the second would wait 40 ms for the client to
        # acknowledge the first. asyncio does this only for sockets that name their protocol.
        connection = transport.get_extra_info("socket")
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        app = self.app

        async def breakable(scope: Scope, receive: Receive, send: Send) -> None:
            await app({**scope, TRANSPORT: transport}, receive, send)

        self.app = breakable
        self.loop.call_later(HEAD_SECONDS, self._close_silent)

    def _close_silent(self) -> None:
        """Close a connection on which no request has begun."""
        if self.cycle is None:
            self.transport.abort()


async def reset(scope: Scope) -> None:
    """Cut the connection of a request so that the client sees a reset (RST, not FIN)."""
    transport: asyncio.Transport = scope[TRANSPORT]
    linger = struct.pack("ii", 1, 0)
    with contextlib.suppress(OSError):
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    transport.abort()
    # The protocol has to learn of it before the application returns, or it would answer 500.
    await asyncio.sleep(0.01)


@contextlib.contextmanager
def served(app: ASGIApp, listener: socket.socket) -> Iterator[None]:
    """Serve from a thread, for the length of a block, in which requests are answered.

    At its end requests under way get a second, then their connections are closed. Raises
    LocalKaggleError if serving does not begin.
    """
    config = uvicorn.Config(
        app,
        http=_Breakable,
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="critical",  # a broken connection is what faults are for
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(
        target=server.run, args=([listener],), name="local-kaggle", daemon=True
    )
    thread.start()
    deadline = time.monotonic() + START_SECONDS
    while not server.started:
        if not thread.is_alive() or time.monotonic() > deadline:
            raise LocalKaggleError("the local Kaggle did not start")
        time.sleep(0.01)
    try:
        yield
    finally:
        server.should_exit = True
        thread.join()
