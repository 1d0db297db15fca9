"""Uploads: a token, a URL to PUT to, and what has arrived so far."""

from __future__ import annotations

import re
import secrets
from pathlib import Path

from kagglesdk.blobs.types import blob_api_service as types

from local_kaggle.services.wire import ApiError, Message, Method, fill
from local_kaggle.state import ServerState

LIFETIME = 7 * 24 * 3600.0  # seconds in which a resumable upload must be completed


class Blobs:
    """Answers BlobApiService and keeps the bytes, in `root/blobs/<token>`."""

    def __init__(self, state: ServerState) -> None:
        self._state = state
        self._store = state.store
        self._folder = state.root / "blobs"
        self._folder.mkdir(exist_ok=True)

    def methods(self) -> dict[str, Method]:
        return {
            "blobs.BlobApiService/StartBlobUpload": Method(
                types.ApiStartBlobUploadRequest, self.start
            )
        }

    def start(self, request: Message, _user: str) -> Message:
        """The answer to StartBlobUpload."""
        token, url = self.open(request.name, request.content_length)
        return fill(types.ApiStartBlobUploadResponse(), token=token, create_url=url)

    def open(self, name: str, size: int) -> tuple[str, str]:
        """A token for a blob of `size` bytes, and the URL that takes it."""
        token = secrets.token_hex(16)
        safe = Path(name).name or "blob"
        self._store.change("INSERT INTO blobs VALUES (?, ?, ?)", token, safe, size)
        (self._folder / token).touch()
        return token, self._state.signer.link(f"/upload/{token}", LIFETIME)

    def start_at(self, token: str, content_range: str | None) -> int | None:
        """The offset at which the body of a PUT belongs; None when it only asks how far it is.

        Raises ApiError 400 for a Content-Range that is none, 404 for an unknown token.
        """
        self.size(token)
        if content_range is None:
            return 0
        if re.fullmatch(r"bytes \*/\d+", content_range):
            return None
        match = re.fullmatch(r"bytes (\d+)-\d+/\d+", content_range)
        if match is None or int(match[1]) > self.arrived(token):
            raise ApiError(400, f"Invalid Content-Range: {content_range}")
        return int(match[1])

    def size(self, token: str) -> int:
        """The bytes that the blob is to have. Raises ApiError 404."""
        row = self._store.row("SELECT size FROM blobs WHERE token = ?", token)
        if row is None:
            raise ApiError(404, "No such upload")
        return int(row["size"])

    def arrived(self, token: str) -> int:
        """The bytes that have arrived."""
        return (self._folder / token).stat().st_size

    def path(self, token: str) -> Path:
        """The file that a PUT is written to."""
        return self._folder / token

    def complete(self, token: str) -> tuple[str, Path]:
        """Name and file of a blob that has arrived in full.

        Raises ApiError 400 for an unknown or unfinished one.
        """
        row = self._store.row("SELECT * FROM blobs WHERE token = ?", token)
        if row is None or self.arrived(token) != row["size"]:
            raise ApiError(400, "The uploaded file could not be found")
        return row["name"], self._folder / token
