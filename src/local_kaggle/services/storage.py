"""Files behind signed links: downloads with ranges, and resumable uploads."""

from __future__ import annotations

import zipfile
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, Response, StreamingResponse

from local_kaggle.catalogue import files_below
from local_kaggle.faults.fault_responses import (
    Unanswered,
    broken_body,
    instead,
    shortened,
    silence,
)
from local_kaggle.faults.schedule import FaultKind
from local_kaggle.services.blobs import Blobs
from local_kaggle.services.datasets import Datasets
from local_kaggle.services.leaderboards import leaderboard_file
from local_kaggle.services.outputs import OutputService
from local_kaggle.services.wire import ApiError
from local_kaggle.state import ServerState

BYTES = "application/octet-stream"


class Storage:
    """Answers for `/storage/…` and `/upload/…`, which need a signature and no credentials."""

    def __init__(
        self, state: ServerState, outputs: OutputService, blobs: Blobs, datasets: Datasets
    ) -> None:
        self._state = state
        self._datasets = datasets
        self._outputs = outputs
        self._blobs = blobs

    async def download(self, request: Request) -> Response:
        """One file, with Content-Length, Last-Modified, ETag and ranges."""
        fault = self._state.faults.next("Download")
        await silence(self._state.limits.latency_seconds, self._state)
        broken = await instead(fault, request.scope, self._state)
        if broken is not None:
            return broken
        refusal = self._refusal(request)
        if refusal is not None:
            return refusal
        path = await run_in_threadpool(self._file, **request.path_params)
        if path is None or not path.is_file():
            return Response("No such object", 404)
        if fault is not None and fault.kind is FaultKind.WRONG_LENGTH:
            return Response(shortened(path.read_bytes()), media_type=BYTES)
        if fault is not None and fault.kind in (FaultKind.TRUNCATED, FaultKind.STALLED):
            data = path.read_bytes()
            body = broken_body(fault, request.scope, data, self._state)
            return StreamingResponse(body, 200, {"Content-Length": str(len(data))}, BYTES)
        return FileResponse(path, media_type=BYTES)

    async def upload(self, request: Request) -> Response:
        """A PUT of a blob or of its rest: 200 when all of it is here, else 308 and how much is.

        What arrived before a connection broke is kept.
        """
        fault = self._state.faults.next("Upload")
        refusal = self._refusal(request)
        if refusal is not None:
            return refusal
        token = request.path_params["token"]
        try:
            size = self._blobs.size(token)
            start = self._blobs.start_at(token, request.headers.get("content-range"))
        except ApiError as error:
            return Response(error.message, error.status)
        breaks = fault is not None and fault.kind is FaultKind.TRUNCATED
        if start is not None:
            await self._receive(request, self._blobs.path(token), start, size // 2, breaks)
        broken = await instead(fault, request.scope, self._state)
        if broken is not None:
            return broken
        if breaks:
            return Unanswered(request.scope)
        arrived = self._blobs.arrived(token)
        if arrived == size:
            return Response("", 200)
        headers = {"Range": f"bytes=0-{arrived - 1}"} if arrived else {}
        return Response("", 308, headers)

    async def _receive(
        self, request: Request, path: Path, start: int, half: int, breaks: bool
    ) -> None:
        with path.open("r+b") as file:
            file.truncate(start)
            file.seek(start)
            try:
                async for chunk in request.stream():
                    file.write(chunk)
                    if breaks and file.tell() > half:
                        file.truncate(half)
                        return
            except ClientDisconnect:
                return

    def _refusal(self, request: Request) -> Response | None:
        query = request.query_params
        refusal = self._state.signer.refusal(
            request.scope["path"], query.get("Expires", "0"), query.get("Signature", "")
        )
        if refusal is None:
            return None
        status, text = refusal
        return Response(text, status, media_type="application/xml")

    def _file(self, area: str, key: str, name: str = "") -> Path | None:
        # Only paths that this server signed get here, so they cannot lead out of their folder.
        if area == "outputs":
            return self._outputs.file(int(key), name)
        if area == "competitions":
            folder = self._state.catalogue.find("competitions", key)
            return folder / name if folder else None
        if area == "datasets":
            return self._of_dataset(key, name)
        if area == "leaderboards":
            return leaderboard_file(self._state, key)
        return self._archive(key.removesuffix(".zip")) if area == "archives" else None

    def _of_dataset(self, what: str, name: str) -> Path | None:
        """A `file` or the `archive` of a dataset; `name` is user/owner/slug/file."""
        user, owner, slug, file = name.split("/", 3)
        folder = self._datasets.mounted(f"{owner}/{slug}", user)
        if folder is None or what == "file":
            return folder / file if folder else None
        return self._zipped(folder, self._state.root / "archives" / f"{owner}-{slug}.zip")

    def _archive(self, competition: str) -> Path | None:
        folder = self._state.catalogue.find("competitions", competition)
        if folder is None:
            return None
        return self._zipped(folder, self._state.root / "archives" / f"{competition}.zip")

    @staticmethod
    def _zipped(folder: Path, archive: Path) -> Path:
        """The folder's files in an archive, which is made again when one of them is newer."""
        archive.parent.mkdir(exist_ok=True)
        part = archive.with_suffix(".part")
        files = files_below(folder)
        newest = max((path.stat().st_mtime for _, path in files), default=0.0)
        if not archive.is_file() or archive.stat().st_mtime < newest:
            with zipfile.ZipFile(part, "w") as zipped:
                for name, path in files:
                    zipped.write(path, name)
            part.replace(archive)
        return archive
