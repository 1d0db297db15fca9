"""How each fault is shown on the wire."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from starlette.responses import HTMLResponse, JSONResponse, Response

from local_kaggle import serving
from local_kaggle.faults.schedule import Fault, FaultKind
from local_kaggle.serving import Scope
from local_kaggle.signed import EXPIRED
from local_kaggle.state import ServerState

CHUNK = 64 * 1024
SHORT_BY = 7  # bytes that WRONG_LENGTH leaves out
EVENTS_BEFORE_DROP = 3
FLUSH_SECONDS = 0.05

_PAGES = {
    FaultKind.THROTTLED: (429, "<html><title>Too many requests</title></html>"),
    FaultKind.HTML: (200, "<!DOCTYPE html><html><title>Kaggle</title></html>"),
    FaultKind.ERROR_502: (502, "<html><title>502 Server Error</title></html>"),
}
_ERRORS = {FaultKind.ERROR_500: 500, FaultKind.ERROR_503: 503}


class Unanswered(Response):
    """A response that never comes: the connection is cut instead."""

    def __init__(self, scope: Scope) -> None:
        super().__init__()
        self._broken = scope

    async def __call__(self, scope: Scope, receive: object, send: object) -> None:
        await serving.reset(scope)


async def instead(fault: Fault | None, scope: Scope, state: ServerState) -> Response | None:
    """The answer in place of handling the request; None where the request is handled."""
    if fault is None:
        return None
    if fault.kind in _PAGES:
        status, text = _PAGES[fault.kind]
        return HTMLResponse(text, status)
    if fault.kind is FaultKind.THROTTLED_RETRY_AFTER:
        answer = {"code": 429, "message": "Too many requests"}
        return JSONResponse(answer, 429, {"Retry-After": f"{max(1, round(fault.seconds))}"})
    if fault.kind in _ERRORS:
        code = _ERRORS[fault.kind]
        answer = {"error": {"code": code, "message": "Backend error", "status": "INTERNAL"}}
        return JSONResponse(answer, code)
    if fault.kind is FaultKind.EXPIRED_LINK:
        return Response(EXPIRED, 400, media_type="application/xml")
    if fault.kind is FaultKind.HANG:
        await silence(fault.seconds, state)
    if fault.kind in (FaultKind.HANG, FaultKind.RESET):
        return Unanswered(scope)
    return None


def afterwards(fault: Fault | None, scope: Scope, response: Response) -> Response:
    """The answer after the request was handled: `response`, or none where the fault loses it."""
    if fault is not None and fault.kind is FaultKind.LOST_ANSWER:
        return Unanswered(scope)
    return response


async def broken_body(
    fault: Fault, scope: Scope, data: bytes, state: ServerState
) -> AsyncIterator[bytes]:
    """The first half of `data`, then silence (STALLED) or a cut (TRUNCATED)."""
    half = data[: len(data) // 2]
    for start in range(0, len(half), CHUNK):
        yield half[start : start + CHUNK]
    # Even a cut waits: a reset throws away what has not left the socket's buffer.
    await silence(fault.seconds if fault.kind is FaultKind.STALLED else FLUSH_SECONDS, state)
    await serving.reset(scope)


async def silence(seconds: float, state: ServerState) -> None:
    """Wait, but no longer than the server lives."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0 and not state.closing:
        await asyncio.sleep(min(left, 0.05))


def shortened(data: bytes) -> bytes:
    """A body of another length than the file has."""
    return data[:-SHORT_BY] if len(data) > SHORT_BY else data + b"?"


_fault: ContextVar[Fault | None] = ContextVar("fault", default=None)


@contextmanager
def showing(fault: Fault | None) -> Iterator[None]:
    """Make `fault` the current one; threads that starlette starts inherit it."""
    token = _fault.set(fault)
    try:
        yield
    finally:
        _fault.reset(token)


def current_fault() -> FaultKind | None:
    """The kind of fault that this request is to show, if any."""
    fault = _fault.get()
    return fault.kind if fault else None
