"""`/storage/…` and `/upload/…`, which need a signature and no credentials.

An upload has a token; what has arrived of it is in `root/blobs/TOKEN`.
"""

from __future__ import annotations

import re
import secrets
import time
from pathlib import Path

from kagglesdk.blobs.types import blob_api_service as types
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, Response

from local_kaggle.api.wire import Message, answers, fill
from local_kaggle.faults.responses import Unanswered, begin, instead, shows, silence, spoilt
from local_kaggle.faults.schedule import FaultKind
from local_kaggle.state import ServerState

LIFETIME = 7 * 24 * 3600.0  # seconds in which a resumable upload must be completed


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
    size, start = progress(state, token, request.headers.get("content-range"))
    breaks = shows(FaultKind.TRUNCATED) is not None
    path = path_of(state, token)
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


def remove_expired(state: ServerState) -> None:
    """Free what uploads take that nobody completes any more."""
    for blob in path_of(state, "").glob("*"):
        if blob.stat().st_mtime < time.time() - LIFETIME:
            blob.unlink()


@answers(types.ApiStartBlobUploadRequest)
def start(state: ServerState, request: Message, _user: str) -> Message:
    """A token for a file, and the URL that takes it."""
    token, url = open_upload(state, request.name, request.content_length)
    return fill(types.ApiStartBlobUploadResponse(), token=token, create_url=url)


def open_upload(state: ServerState, name: str, size: int) -> tuple[str, str]:
    """A token for a blob of `size` bytes, and the URL that takes it."""
    token = secrets.token_hex(16)
    safe = Path(name).name or "blob"
    state.store.change("INSERT INTO blobs VALUES (?, ?, ?)", token, safe, size)
    path = path_of(state, token)
    path.parent.mkdir(exist_ok=True)
    path.touch()
    return token, state.signer.link(f"/upload/{token}", LIFETIME)


def progress(state: ServerState, token: str, content_range: str | None) -> tuple[int, int | None]:
    """The bytes that a blob is to have, and the offset at which the body of a PUT belongs.

    There is none when the PUT only asks how far the blob is, and when all of it is here: a dataset
    may hold it by now, and its versions never change. Raises HTTPException 404, and 400 for a
    Content-Range that is none.
    """
    row = state.store.row("SELECT size FROM blobs WHERE token = ?", token)
    if row is None:
        raise HTTPException(404, "No such upload")
    arrived = path_of(state, token).stat().st_size
    if arrived == row["size"] or re.fullmatch(r"bytes \*/\d+", content_range or ""):
        return row["size"], None
    match = re.fullmatch(r"bytes (\d+)-\d+/\d+", content_range or "bytes 0-0/0")
    if match is None or int(match[1]) > arrived:
        raise HTTPException(400, f"Invalid Content-Range: {content_range}")
    return row["size"], int(match[1])


def path_of(state: ServerState, token: str) -> Path:
    """The file that a PUT is written to."""
    return state.root / "blobs" / token


def complete(state: ServerState, token: str) -> tuple[str, Path]:
    """Name and file of a blob that has arrived in full.

    Raises HTTPException 400 for an unknown or unfinished one.
    """
    row = state.store.row("SELECT * FROM blobs WHERE token = ?", token)
    path = path_of(state, token)
    if row is None or not path.is_file() or path.stat().st_size != row["size"]:
        raise HTTPException(400, "The uploaded file could not be found")
    return row["name"], path
