"""The log over HTTP: server-sent events while a session is alive, a JSON array afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from kagglesdk.kernels.types import kernels_api_service as types
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Scope

from local_kaggle import serving
from local_kaggle.api.accounts import user_of
from local_kaggle.api.wire import decode
from local_kaggle.execution.logs import END_OF_LOG, as_sse, read_events
from local_kaggle.execution.running import log_path
from local_kaggle.execution.sessions import ALIVE
from local_kaggle.faults.responses import EVENTS_BEFORE_DROP, answered, shows
from local_kaggle.faults.schedule import FaultKind
from local_kaggle.kernels.kernels import find, version_of
from local_kaggle.kernels.outputs import log_of
from local_kaggle.state import ServerState

POLL_SECONDS = 0.1  # seconds between looks at the log of a session that is alive
KEEP_ALIVE = 15.0  # seconds of silence after which a comment is sent


async def log_stream(state: ServerState, request: Request) -> Response:
    """`GET kernels/logs/stream/{owner}/{slug}?versionLabel=vN`, as the CLI asks, or a POST of
    GetKernelSessionLogsStream, as the SDK does. Every connection gets all entries from the start.
    """
    return await answered(state, "LogStream", request, _log)


async def _log(state: ServerState, request: Request) -> Response:
    if request.method == "POST":
        message = decode(types.ApiGetKernelSessionLogsStreamRequest, await request.body())
        owner, slug, label = message.user_name, message.kernel_slug, message.version_label
    else:
        owner, slug = request.path_params["owner"], request.path_params["slug"]
        label = request.query_params.get("versionLabel")
    kernel = await run_in_threadpool(find, state, owner, slug, user_of(state, request))
    version = await run_in_threadpool(version_of, state, kernel, label)
    if version["status"] in ALIVE:
        events = _events(state, version["id"], request.scope)
        return StreamingResponse(events, media_type="text/event-stream")
    return Response(log_of(state, version) or "[]", media_type="application/json")


async def _events(state: ServerState, version: int, scope: Scope) -> AsyncIterator[bytes]:
    path = log_path(state.sessions.folder(version))
    drops = shows(FaultKind.DROPPED_STREAM)
    sent, silent = 0, 0.0
    while True:
        # Looked at before the log is read: what was written until then is then complete.
        session = state.sessions.of(version)
        for event in read_events(path, skip=sent):
            yield as_sse(event)
            sent, silent = sent + 1, 0.0
            if drops and sent >= EVENTS_BEFORE_DROP:
                break
        ended = session is None or session["status"] not in ALIVE or state.closing
        if drops and (ended or sent >= EVENTS_BEFORE_DROP):
            await asyncio.sleep(POLL_SECONDS)  # lets what was sent arrive before the cut
            await serving.reset(scope)
            return
        if ended:
            yield as_sse(END_OF_LOG)
            return
        if silent >= KEEP_ALIVE:
            yield b": keep-alive\n\n"
            silent = 0.0
        await asyncio.sleep(POLL_SECONDS)
        silent += POLL_SECONDS
