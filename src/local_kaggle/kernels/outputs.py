"""A run's outputs: its files in pages behind signed links, and its log, also during the run."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

from kagglesdk.kernels.types import kernels_api_service as types
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Scope

from local_kaggle import serving
from local_kaggle.catalogue import files_below
from local_kaggle.execution.running import log_path, read_events
from local_kaggle.execution.sessions import ALIVE
from local_kaggle.fault_responses import EVENTS_BEFORE_DROP, shows
from local_kaggle.faults.schedule import FaultKind
from local_kaggle.files.storage import one_or_all
from local_kaggle.kernels.kernels import Row, find, named, version_of
from local_kaggle.state import ServerState
from local_kaggle.wire import Json, Message, Service, decode, file_listing, listing

public = Service(types, anonymous=True)

POLL_SECONDS = 0.1  # seconds between looks at the log of a session that is alive
MOST_BYTES = 1_000_000  # of a log that are sent at once
KEEP_ALIVE = 15.0  # seconds of silence after which a comment is sent


@public
def list_kernel_session_output(state: ServerState, request: Message) -> Json:
    """Links to a page of files; the log on page one. Empty while the session is alive."""
    version = named(state, request)
    files = [{"fileName": name, "url": state.link(path)} for name, path in files_of(version)]
    log = "" if request.page_token or not _is_over(version) else log_of(state, version)
    return listing(state, request, "files", files) | {"log": log}


@public
def list_kernel_files(state: ServerState, request: Message) -> Json:
    """Names and sizes in bytes."""
    return file_listing(state, request, "files", files_of(named(state, request)))


@public
def download_kernel_output(state: ServerState, request: Message) -> Response:
    """A redirect to one file, or to an archive of all."""
    kernel = find(state, request.owner_slug, request.kernel_slug)
    version = version_of(state, kernel, str(request.version_number or ""))
    if not _is_over(version):
        raise HTTPException(404, "This version has no output yet")
    return one_or_all(state, files_of(version), request.file_path)


def files_of(version: Row) -> list[tuple[str, Path]]:
    """The names and paths of a version's outputs; none while its session is alive."""
    return files_below(version["outputs"]) if _is_over(version) else []


def log_of(state: ServerState, version: Row) -> str:
    """The log so far as Kaggle serves it, a JSON array; "" where there is none."""
    events, _ = read_events(log_path(state.sessions.folder(version["id"])))
    return "[" + "\n,".join(events) + "]" if events else ""


def _is_over(version: Row) -> bool:
    return version["status"] not in (None, *ALIVE)


async def log(state: ServerState, request: Request) -> Response:
    """`GET kernels/logs/stream/{owner}/{slug}?versionLabel=vN`, as the CLI asks, or a POST of
    GetKernelSessionLogsStream, as the SDK does. Every connection gets all entries from the start.
    """
    message = decode(types.ApiGetKernelSessionLogsStreamRequest, await request.body())
    if request.method == "GET":
        message.user_name = request.path_params["owner"]
        message.kernel_slug = request.path_params["slug"]
        message.version_label = request.query_params.get("versionLabel", "")
    version = await run_in_threadpool(named, state, message)
    if version["status"] in ALIVE:
        events = _events(state, version["id"], request.scope)
        return StreamingResponse(events, media_type="text/event-stream")
    return Response(log_of(state, version) or "[]", media_type="application/json")


async def _events(state: ServerState, version: int, scope: Scope) -> AsyncIterator[str]:
    """The log as server-sent events, until its session ends or a fault cuts the connection."""
    path = log_path(state.sessions.folder(version))
    drops = shows(FaultKind.DROPPED_STREAM)
    sent = 0
    place = 0  # bytes of the log that were read
    silent = 0.0
    while True:
        # Looked at before the log is read: what was written until then is then complete.
        ended = state.closing or not state.sessions.is_alive(version)
        events, place = read_events(path, place, MOST_BYTES)
        if drops:
            events = events[: EVENTS_BEFORE_DROP - sent]
        if events:
            yield "".join(f"data: {event}\n\n" for event in events)
        sent += len(events)
        silent = 0.0 if events else silent + POLL_SECONDS
        if drops and (ended or sent >= EVENTS_BEFORE_DROP):
            await asyncio.sleep(POLL_SECONDS)  # lets what was sent arrive before the cut
            await serving.reset(scope)
            return
        if events:
            continue
        if ended:
            yield "data: END_OF_LOG\n\n"
            return
        if silent >= KEEP_ALIVE:
            yield ": keep-alive\n\n"
            silent = 0.0
        await asyncio.sleep(POLL_SECONDS)
