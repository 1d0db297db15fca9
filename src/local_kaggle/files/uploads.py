"""Uploads: a token, a URL to PUT to, and what has arrived so far, in `root/blobs/<token>`."""

from __future__ import annotations

import re
import secrets
import time
from pathlib import Path

from kagglesdk.blobs.types import blob_api_service as types
from starlette.exceptions import HTTPException

from local_kaggle.api.wire import Message, answers, fill
from local_kaggle.state import ServerState

LIFETIME = 7 * 24 * 3600.0  # seconds in which a resumable upload must be completed


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
