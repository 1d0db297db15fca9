"""How each fault is shown on the wire."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import (
    FileResponse,
    HTMLResponse,
    JSONResponse,
    Response,
    StreamingResponse,
)
from starlette.types import Scope

from local_kaggle import serving
from local_kaggle.faults.schedule import Fault, FaultKind
from local_kaggle.state import ServerState

CHUNK = 64 * 1024
SHORT_BY = 7  # bytes that WRONG_LENGTH leaves out
EVENTS_BEFORE_DROP = 3
FLUSH_SECONDS = 0.05
BODY_UNREAD = (401, 408, 413)  # refusals before the end of a body, which nobody reads then
EXPIRED = (
    "<?xml version='1.0' encoding='UTF-8'?><Error><Code>ExpiredToken</Code>"
    "<Message>Invalid argument.</Message><Details>The provided token has expired.</Details></Error>"
)
_BACKEND_ERROR = {"message": "Backend error", "status": "INTERNAL"}
_ANSWERS = {
    FaultKind.THROTTLED: HTMLResponse("<html><title>Too many requests</title></html>", 429),
    FaultKind.HTML: HTMLResponse("<!DOCTYPE html><html><title>Kaggle</title></html>"),
    FaultKind.ERROR_500: JSONResponse({"error": {"code": 500, **_BACKEND_ERROR}}, 500),
    FaultKind.ERROR_502: HTMLResponse("<html><title>502 Server Error</title></html>", 502),
    FaultKind.ERROR_503: JSONResponse({"error": {"code": 503, **_BACKEND_ERROR}}, 503),
    FaultKind.EXPIRED_LINK: Response(EXPIRED, 400, media_type="application/xml"),
}
_fault: ContextVar[tuple[Fault | None, list[Fault]]] = ContextVar("fault")
"""The present request's, and where it is noted once it is shown."""


class Unanswered(Response):
    """A response that never comes: the connection is cut instead."""

    async def __call__(self, scope: Scope, receive: object, send: object) -> None:
        await serving.reset(scope)


async def answered(
    state: ServerState,
    method: str,
    answer: Callable[[ServerState, Request], Awaitable[Response]],
    request: Request,
) -> Response:
    """The answer to one call of `method`, or the fault that the schedule has for it."""
    begin(state, method)
    response = await instead(state) or await answer(state, request)
    return Unanswered() if shows(FaultKind.LOST_ANSWER) else response


def begin(state: ServerState, method: str) -> None:
    """Count a call of `method`, and attach its fault, if it has one, to the current request.

    Each request is a task of its own, so the fault ends with it. Threads that Starlette starts for
    the request see it too.
    """
    _fault.set((state.faults.next(method), state.faults.fired))


def shows(*kinds: FaultKind) -> Fault | None:
    """The fault of the current request, if it is one of these kinds; it counts as fired.

    Call this once per request and kind.
    """
    fault, fired = _fault.get()
    if not fault or fault.kind not in kinds:
        return None
    fired.append(fault)
    return fault


def as_json(_request: Request, error: Any) -> Response:
    """An HTTPException as Kaggle's servers write it."""
    status, message = error.status_code, error.detail
    if status == 404:  # the client raises the message alone, in which tools look for the number
        message = f"404 Client Error: Not Found: {message}"
    headers = {"Connection": "close"} if status in BODY_UNREAD else None
    return JSONResponse({"code": status, "message": message}, status, headers)


async def instead(state: ServerState) -> Response | None:
    """The answer of a fault; None if the request is to be handled."""
    fault = shows(*_ANSWERS, FaultKind.THROTTLED_RETRY_AFTER, FaultKind.HANG, FaultKind.RESET)
    if fault is None:
        return None
    if fault.kind in _ANSWERS:
        return _ANSWERS[fault.kind]
    if fault.kind is FaultKind.THROTTLED_RETRY_AFTER:
        answer = {"code": 429, "message": "Too many requests"}
        return JSONResponse(answer, 429, {"Retry-After": f"{max(1, round(fault.seconds))}"})
    if fault.kind is FaultKind.HANG:
        await silence(fault.seconds, state)
    return Unanswered()


async def _broken(
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
    """Wait, but not longer than the server runs."""
    end = time.monotonic() + seconds
    while (rest := end - time.monotonic()) > 0 and not state.closing:
        await asyncio.sleep(min(rest, 0.05))


def spoilt(path: Path, scope: Scope, state: ServerState) -> Response | None:
    """What a download gets instead of the whole file if its fault concerns the body."""
    fault = shows(FaultKind.WRONG_LENGTH, FaultKind.TRUNCATED, FaultKind.STALLED)
    if fault is None:
        return None
    data = path.read_bytes()
    if fault.kind is FaultKind.WRONG_LENGTH:
        return Response(data[:-SHORT_BY] if len(data) > SHORT_BY else data + b"?")
    headers = {"Content-Length": str(len(data))}
    headers["ETag"] = FileResponse(path, stat_result=path.stat()).headers["etag"]
    return StreamingResponse(_broken(fault, scope, data, state), headers=headers)
