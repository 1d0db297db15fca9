"""The log over HTTP: server-sent events while a session is alive, a JSON array afterwards."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator

from kagglesdk.kernels.types import kernels_api_service as types
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from local_kaggle import serving
from local_kaggle.execution.logs import END_OF_LOG, as_array, as_sse, read_events
from local_kaggle.execution.running import log_path
from local_kaggle.execution.sessions import ALIVE
from local_kaggle.faults.fault_responses import EVENTS_BEFORE_DROP, instead
from local_kaggle.faults.schedule import Fault, FaultKind
from local_kaggle.services.accounts import Accounts
from local_kaggle.services.kernels import Kernels
from local_kaggle.services.wire import ApiError, decode
from local_kaggle.serving import Scope
from local_kaggle.state import ServerState

POLL_SECONDS = 0.1  # seconds between looks at the log of a session that is alive
KEEP_ALIVE = 15.0  # seconds of silence after which a comment is sent


class LogStream:
    """Answers for the live log. Every connection gets all entries from the start."""

    def __init__(self, state: ServerState, accounts: Accounts, kernels: Kernels) -> None:
        self._state = state
        self._accounts = accounts
        self._kernels = kernels

    async def get(self, request: Request) -> Response:
        """`GET kernels/logs/stream/{owner}/{slug}?versionLabel=vN`, as the CLI asks."""
        path = request.path_params
        label = request.query_params.get("versionLabel")
        return await self._respond(request, path["owner"], path["slug"], label)

    async def post(self, request: Request) -> Response:
        """GetKernelSessionLogsStream, as the SDK asks."""
        try:
            asked = decode(types.ApiGetKernelSessionLogsStreamRequest, await request.body())
        except ApiError as error:
            return _refuse(error)
        return await self._respond(request, asked.user_name, asked.kernel_slug, asked.version_label)

    async def _respond(
        self, request: Request, owner: str, slug: str, label: str | None
    ) -> Response:
        fault = self._state.faults.next("LogStream")
        broken = await instead(fault, request.scope, self._state)
        if broken is not None:
            return broken
        try:
            authorization = request.headers.get("authorization")
            version = await run_in_threadpool(self._version, authorization, owner, slug, label)
        except ApiError as error:
            return _refuse(error)
        session = self._state.sessions.of(version["id"])
        if session is not None and session["status"] in ALIVE:
            events = self._events(version["id"], request.scope, fault)
            return StreamingResponse(events, media_type="text/event-stream")
        log = as_array(read_events(log_path(self._state.sessions.folder(version["id"]))))
        return Response(log or "[]", media_type="application/json")

    def _version(
        self, authorization: str | None, owner: str, slug: str, label: str | None
    ) -> sqlite3.Row:
        user = self._accounts.user(authorization)
        return self._kernels.version(self._kernels.find(owner, slug, user), label or None)

    async def _events(
        self, version: int, scope: Scope, fault: Fault | None
    ) -> AsyncIterator[bytes]:
        path = log_path(self._state.sessions.folder(version))
        drops = fault is not None and fault.kind is FaultKind.DROPPED_STREAM
        sent, silent = 0, 0.0
        while True:
            # Looked at before the log is read: what was written until then is then complete.
            session = self._state.sessions.of(version)
            for event in read_events(path, skip=sent):
                yield as_sse(event)
                sent, silent = sent + 1, 0.0
                if drops and sent >= EVENTS_BEFORE_DROP:
                    break
            ended = session is None or session["status"] not in ALIVE or self._state.closing
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


def _refuse(error: ApiError) -> Response:
    return JSONResponse({"code": error.status, "message": error.message}, error.status)
