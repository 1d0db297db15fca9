"""Downloads, alone and in archives, and uploads: `/storage/…` and `/upload/…`.

Their links hold a token in place of credentials. What has arrived of an upload is in
`root/blobs/TOKEN`, until a version takes it or it has been left alone for a week.
"""

import hashlib
import os
import re
import secrets
import tarfile
import threading
import time
import zipfile
from contextlib import suppress
from pathlib import Path

from kagglesdk.blobs.types import blob_api_service as types
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, RedirectResponse, Response

from local_kaggle.fault_responses import (
    EXPIRED,
    Unanswered,
    begin,
    instead,
    shows,
    silence,
    spoilt,
)
from local_kaggle.faults.schedule import FaultKind
from local_kaggle.files.unpacking import Room, TooLargeError
from local_kaggle.state import ServerState
from local_kaggle.wire import Json, Message, Service, whole_number

answers = Service(types)

LONGEST_NAME = 255  # bytes that a file system takes
UPLOAD_SECONDS = 7 * 24 * 3600.0  # to resume an upload; the client tries for six days
DENIED = (
    "<?xml version='1.0' encoding='UTF-8'?><Error><Code>SignatureDoesNotMatch</Code>"
    "<Message>Access denied.</Message></Error>"
)


Files = list[tuple[str, Path]]  # names, and where their bytes are
_packing = threading.Lock()


class _File(FileResponse):
    # Each piece costs a switch of threads: with Starlette's of 64 KB a file takes three times as
    # long; a hundred downloads at once hold the server below 100 MB, with 256 KB above it.
    chunk_size = 192 * 1024


async def download(state: ServerState, request: Request) -> Response:
    """One file, with Content-Length, Last-Modified, ETag and ranges."""
    await silence(state.limits.latency_seconds, state)
    path, expiry = state.links.get(request.path_params["token"], (None, 0.0))
    if path is None:
        return Response(DENIED, 403, media_type="application/xml")
    if time.time() > expiry:
        return Response(EXPIRED, 400, media_type="application/xml")
    if not path.is_file():
        return Response("No such object", 404)
    return spoilt(path, request.scope, state) or _File(path, media_type="application/octet-stream")


async def upload(state: ServerState, request: Request) -> Response:
    """A PUT of a blob or of its rest: 200 when all of it is here, else 308 and how much is.

    What arrived before a connection broke is kept, also before a fault. A complete blob no longer
    changes, because a version may use it already. A `Content-Range: bytes */SIZE` only
    asks how much of the blob has arrived.
    Raises HTTPException 404, and 400 for a range that does not fit.
    """
    begin(state, "Upload")
    token = request.path_params["token"]
    row = state.store.row("SELECT size FROM blobs WHERE token = ?", token)
    if row is None:
        raise HTTPException(404, "No such upload")
    size = row["size"]
    path = _path(state, token)
    content_range = request.headers.get("content-range", "bytes 0-0/0")
    arrived = path.stat().st_size if path.is_file() else size
    breaks = shows(FaultKind.TRUNCATED)
    if arrived == size or content_range.startswith("bytes */"):
        async for _ in request.stream():  # read to its end, so that the client sees the answer
            continue
    else:
        match = re.fullmatch(r"bytes (\d+)-\d+/\d+", content_range)
        start = whole_number(match[1]) if match else None
        if start is None or start > arrived:
            raise HTTPException(400, f"Invalid Content-Range: {content_range[:100]}")
        await _receive(request, path, start, size // 2 if breaks else size + 1)
        arrived = path.stat().st_size
        if arrived > size:
            os.truncate(path, start)
            return Response(f"More than the {size} bytes that were announced", 413)
    if breaks or shows(FaultKind.LOST_ANSWER):
        return Unanswered()
    if answer := await instead(state):
        return answer
    if arrived == size:
        return Response("", 200)
    return Response("", 308, {"Range": f"bytes=0-{arrived - 1}"} if arrived else {})


async def _receive(request: Request, path: Path, start: int, most: int) -> None:
    """Write the body from `start` on, until the file has `most` bytes."""
    with path.open("r+b") as file, suppress(ClientDisconnect):
        file.truncate(start)
        file.seek(start)
        async for chunk in request.stream():
            file.write(chunk)
            if file.tell() >= most:
                file.truncate(most)
                return


@answers
def start_blob_upload(state: ServerState, request: Message) -> Json:
    """A token for a file, and the URL that takes it."""
    return open_upload(state, request.name, request.content_length)


def open_upload(state: ServerState, name: str, size: int) -> Json:
    """The answer with a token for a blob of `size` bytes, and the URL that takes it.

    Raises HTTPException 400 for a name that no file can have, and 413 for a size that there is no
    room for.
    """
    token = secrets.token_hex(16)
    safe = Path(name).name or "blob"
    if "\0" in safe or len(safe.encode()) > LONGEST_NAME:
        raise HTTPException(400, f"{safe[:50]!r} is not a file name")
    try:
        Room(state.root, state.limits.dataset_bytes).check(size)
    except TooLargeError as error:
        raise HTTPException(413, str(error)) from None
    state.store.change("INSERT INTO blobs VALUES (?, ?, ?)", token, safe, size)
    path = _path(state, token)
    path.parent.mkdir(exist_ok=True)
    for blob in path.parent.iterdir():
        with suppress(FileNotFoundError):  # a version takes it meanwhile
            if blob.stat().st_mtime < time.time() - UPLOAD_SECONDS:
                state.store.change("DELETE FROM blobs WHERE token = ?", blob.name)
                blob.unlink()
    path.touch()
    return {"token": token, "createUrl": f"{state.url}/upload/{token}"}


def complete(state: ServerState, token: str) -> tuple[str, Path]:
    """Name and file of a blob that has arrived in full.

    Raises HTTPException 400 for an unknown or unfinished one.
    """
    row = state.store.row("SELECT * FROM blobs WHERE token = ?", token)
    path = _path(state, token)
    if row is None or not path.is_file() or path.stat().st_size != row["size"]:
        raise HTTPException(400, "The uploaded file could not be found")
    return row["name"], path


def _path(state: ServerState, token: str) -> Path:
    return state.root / "blobs" / token


def one_or_all(
    state: ServerState, files: Files, name: str | None, suffix: str = ".zip"
) -> Response:
    """A redirect to the file of this name, or without a name to an archive of all `files`.

    Raises HTTPException 404.
    """
    path = dict(files).get(name) if name else _archive(state, files, suffix)
    if path is None:
        raise HTTPException(404, f"There is no file {name}")
    return RedirectResponse(state.link(path), 302)


def _archive(state: ServerState, files: Files, suffix: str) -> Path:
    """The archive, made once even if many clients request it at the same time.

    Its name is a hash of what goes into it, so that no two owners, versions or states of a folder
    share one. The next server removes it.
    """
    content = []
    for name, path in files:
        stat = path.stat()
        content.append((name, str(path), stat.st_size, stat.st_ctime_ns))
    digest = hashlib.sha256(repr(content).encode()).hexdigest()
    packed = state.root / "archives" / f"{digest}{suffix}"
    packed.parent.mkdir(exist_ok=True)
    with _packing:
        if not packed.is_file():
            part = packed.with_suffix(".part")
            if suffix == ".zip":
                with zipfile.ZipFile(part, "w", strict_timestamps=False) as zipped:
                    for name, path in files:
                        zipped.write(path, name)
            else:
                with tarfile.open(part, "w:gz", compresslevel=0) as tarred:
                    for name, path in files:
                        tarred.add(path.resolve(), name)
            part.replace(packed)
    return packed
