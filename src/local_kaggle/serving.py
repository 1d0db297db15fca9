"""The HTTP server in its thread, and its connections, which faults may break."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import threading
from collections.abc import MutableMapping
from typing import Any, Self

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from local_kaggle.errors import LocalKaggleError

Scope = MutableMapping[str, Any]

START_SECONDS = 10.0

_open: dict[tuple[Any, Any], asyncio.Transport] = {}


class _Breakable(H11Protocol):
    """Remembers its transport by the two ends of the connection, so that it can be cut."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._ends = _ends(self.client, self.server)
        _open[self._ends] = transport

    def connection_lost(self, exc: Exception | None) -> None:
        _open.pop(self._ends, None)
        super().connection_lost(exc)


async def reset(scope: Scope) -> None:
    """Cut the connection of a request so that the client sees a reset (RST, not FIN)."""
    transport = _open.get(_ends(scope["client"], scope["server"]))
    if transport is None:
        return
    linger = struct.pack("ii", 1, 0)
    with contextlib.suppress(OSError):
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    transport.abort()
    # The protocol has to learn of it before the application returns, or it would answer 500.
    await asyncio.sleep(0.01)


class Serving:
    """A server that runs in a thread until `stop()`."""

    def __init__(self, app: Any, listener: socket.socket) -> None:
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
        self._listener = listener
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._run, name="local-kaggle", daemon=True)

    def start(self) -> Self:
        """Serve; returns once requests are answered. Raises LocalKaggleError if that fails."""
        self._thread.start()
        patience = threading.Event()
        for _ in range(int(START_SECONDS / 0.01)):
            if self._server.started or not self._thread.is_alive():
                break
            patience.wait(0.01)
        if not self._server.started:
            raise LocalKaggleError("the local Kaggle did not start")
        return self

    def stop(self) -> None:
        """Stop serving; requests under way get a second, then their connections are closed."""
        self._server.should_exit = True
        self._thread.join()
        self._listener.close()

    def _run(self) -> None:
        self._server.run(sockets=[self._listener])


def _ends(client: Any, server: Any) -> tuple[Any, Any]:
    return tuple(client or ()), tuple(server or ())
