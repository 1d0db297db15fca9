"""`/storage/…` and `/upload/…`, which need a signature and no credentials."""

from __future__ import annotations

from pathlib import Path

from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, Response

from local_kaggle.faults.responses import Unanswered, begin, instead, shows, silence, spoilt
from local_kaggle.faults.schedule import FaultKind
from local_kaggle.files import uploads
from local_kaggle.state import ServerState


class _File(FileResponse):
    # Each piece costs a switch of threads: with Starlette's of 64 KB a file takes three times as
    # long; a hundred downloads at once hold the server below 100 MB, with 256 KB above it.
    chunk_size = 192 * 1024


async def download(state: ServerState, request: Request) -> Response:
    """One file, with Content-Length, Last-Modified, ETag and ranges."""
    begin(state, "Download")
    await silence(state.limits.latency_seconds, state)
    refusal = await instead(state) or _refusal(state, request)
    if refusal is not None:
        return refusal
    # Only paths that this server signed get here, so they cannot lead out of their folder.
    path = state.areas[request.path_params["area"]] / request.path_params["name"]
    if not path.is_file():
        return Response("No such object", 404)
    spoilt_file = spoilt(path, request.scope, state)
    return spoilt_file or _File(path, media_type="application/octet-stream")


async def upload(state: ServerState, request: Request) -> Response:
    """A PUT of a blob or of its rest: 200 when all of it is here, else 308 and how much is.

    What arrived before a connection broke is kept, also before a fault.
    """
    begin(state, "Upload")
    refusal = _refusal(state, request)
    if refusal is not None:
        return refusal
    token = request.path_params["token"]
    size, start = uploads.progress(state, token, request.headers.get("content-range"))
    breaks = shows(FaultKind.TRUNCATED) is not None
    path = uploads.path_of(state, token)
    if start is None:
        async for _ in request.stream():  # read to its end, so that the client sees the answer
            continue
    else:
        whole = await _receive(request, path, start, size // 2 if breaks else size)
        if not whole and not breaks:
            return Response(f"More than the {size} bytes that were announced", 413)
    broken = Unanswered() if breaks else await instead(state)
    if broken is not None:
        return broken
    arrived = path.stat().st_size
    if arrived == size:
        return Response("", 200)
    return Response("", 308, {"Range": f"bytes=0-{arrived - 1}"} if arrived else {})


async def _receive(request: Request, path: Path, start: int, most: int) -> bool:
    """Write the body from `start` on; False for one that goes past `most` bytes in all.

    Of such a body nothing is kept but what a fault is to leave.
    """
    with path.open("r+b") as file:
        file.truncate(start)
        file.seek(start)
        try:
            async for chunk in request.stream():
                file.write(chunk)
                if file.tell() > most:
                    file.truncate(most if shows(FaultKind.TRUNCATED) else start)
                    return False
        except ClientDisconnect:
            pass
    return True


def _refusal(state: ServerState, request: Request) -> Response | None:
    query = request.query_params
    refusal = state.signer.refusal(
        request.scope["path"], query.get("Expires", "0"), query.get("Signature", "")
    )
    return Response(*refusal, media_type="application/xml") if refusal else None
