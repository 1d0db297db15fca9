"""What a run leaves: its files in pages, behind signed links, and its log."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from kagglesdk.kernels.types import kernels_api_service as types

from local_kaggle.catalogue import files_below
from local_kaggle.execution.logs import as_array, read_events
from local_kaggle.execution.running import log_path
from local_kaggle.execution.sessions import ALIVE
from local_kaggle.faults.fault_responses import current_fault
from local_kaggle.faults.schedule import FaultKind
from local_kaggle.services.kernels import Kernels
from local_kaggle.services.wire import (
    ApiError,
    Message,
    Method,
    Redirect,
    fill,
    moment,
    page,
)
from local_kaggle.state import ServerState

Files = list[tuple[str, Path]]


class OutputService:
    """Answers the methods of KernelsApiService about outputs and logs."""

    def __init__(self, state: ServerState, kernels: Kernels) -> None:
        self._state = state
        self._kernels = kernels

    def methods(self) -> dict[str, Method]:
        service = "kernels.KernelsApiService"
        return {
            f"{service}/ListKernelSessionOutput": Method(
                types.ApiListKernelSessionOutputRequest, self.session_output
            ),
            f"{service}/ListKernelFiles": Method(types.ApiListKernelFilesRequest, self.files),
            f"{service}/DownloadKernelOutput": Method(
                types.ApiDownloadKernelOutputRequest, self.download
            ),
        }

    def session_output(self, request: Message, user: str) -> Message:
        """The answer to ListKernelSessionOutput: links to a page of files; the log on page one.

        Empty while the session is alive.
        """
        version = self._version(request, user)
        shown, following = self._page(request, self._files(version))
        files = [
            fill(types.ApiKernelSessionOutputFile(), file_name=name, url=self._link(version, name))
            for name, _ in shown
        ]
        return fill(
            types.ApiListKernelSessionOutputResponse(),
            files=files,
            log="" if request.page_token else self.log(version),
            next_page_token=following,
        )

    def files(self, request: Message, user: str) -> Message:
        """The answer to ListKernelFiles: names and sizes in bytes."""
        shown, following = self._page(request, self._files(self._version(request, user)))
        files = []
        for name, path in shown:
            stat = path.stat()
            created = moment(stat.st_mtime).isoformat(sep=" ", timespec="seconds")
            item = types.ApiListKernelFilesItem()
            files.append(fill(item, name=name, size=stat.st_size, creation_date=created))
        return fill(types.ApiListKernelFilesResponse(), files=files, next_page_token=following)

    def download(self, request: Message, user: str) -> Redirect:
        """The answer to DownloadKernelOutput: a redirect to one file."""
        kernel = self._kernels.find(request.owner_slug, request.kernel_slug, user)
        label = str(request.version_number) if request.version_number else None
        version = self._kernels.version(kernel, label)
        names = [name for name, _ in self._files(version)]
        if request.file_path not in names:
            raise ApiError(404, f"The output has no file {request.file_path}")
        return Redirect(self._link(version, request.file_path))

    def log(self, version: sqlite3.Row) -> str:
        """The log of a finished session as a JSON array; empty while it is alive."""
        session = self._state.sessions.of(version["id"])
        if session is None or session["status"] in ALIVE:
            return ""
        return as_array(read_events(log_path(self._state.sessions.folder(version["id"]))))

    def file(self, version: int, name: str) -> Path:
        """The path of one output, for a signed link that names it."""
        return self._state.sessions.folder(version) / "working" / name

    def _version(self, request: Message, user: str) -> sqlite3.Row:
        kernel = self._kernels.find(request.user_name, request.kernel_slug, user)
        return self._kernels.version(kernel, request.version_label)

    def _files(self, version: sqlite3.Row) -> Files:
        session = self._state.sessions.of(version["id"])
        if session is None or session["status"] in ALIVE:
            return []
        return files_below(self._state.sessions.folder(version["id"]) / "working")

    def _link(self, version: sqlite3.Row, name: str) -> str:
        path = f"/storage/outputs/{version['id']}/{name}"
        return self._state.signer.link(path, self._state.limits.link_seconds)

    def _page(self, request: Message, files: Files) -> tuple[Files, str | None]:
        limits = self._state.limits
        size = max(1, min(request.page_size or limits.page_size, limits.max_page_size))
        shown, following = page(files, request.page_token, size)
        if current_fault() is FaultKind.REPEATED_PAGE:
            asked = int(request.page_token or 0)
            shown, _ = page(files, str(max(asked - size, 0)), size)
            following = str(asked) if files else None
        return shown, following
