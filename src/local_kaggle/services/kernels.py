"""Kernels and their versions: how they are found, listed, read and deleted."""

from __future__ import annotations

import json
import re
import sqlite3
import time

from kagglesdk.kernels.types import kernels_api_service as types
from kagglesdk.kernels.types.kernels_enums import KernelsListViewType, KernelWorkerStatus

from local_kaggle.faults.fault_responses import current_fault
from local_kaggle.faults.schedule import FaultKind
from local_kaggle.services.placement import place
from local_kaggle.services.wire import ApiError, Message, Method, fill, moment, page
from local_kaggle.state import ServerState

DENIED = "Permission 'kernels.get' was denied"
EARLIER = {"COMPLETE": "RUNNING", "ERROR": "RUNNING", "RUNNING": "QUEUED"}


class Kernels:
    """Answers the reading methods of KernelsApiService."""

    def __init__(self, state: ServerState) -> None:
        self._state = state
        self._store = state.store

    def methods(self) -> dict[str, Method]:
        service = "kernels.KernelsApiService"
        return {
            f"{service}/GetKernel": Method(types.ApiGetKernelRequest, self.get),
            f"{service}/ListKernels": Method(types.ApiListKernelsRequest, self.list),
            f"{service}/DeleteKernel": Method(types.ApiDeleteKernelRequest, self.delete),
            f"{service}/GetKernelSessionStatus": Method(
                types.ApiGetKernelSessionStatusRequest, self.status
            ),
        }

    def find(self, owner: str, slug: str, user: str) -> sqlite3.Row:
        """The row of a kernel that `user` may see. Raises ApiError 403, as Kaggle does."""
        row = self._store.row(
            "SELECT * FROM kernels WHERE owner = ? AND slug = ?", owner.lower(), slug.lower()
        )
        if row is None or (row["private"] and row["owner"] != user.lower()):
            raise ApiError(403, DENIED)
        return row

    def version(self, kernel: sqlite3.Row, label: str | None) -> sqlite3.Row:
        """The version that `label` ("v3" or "3") names. Raises ApiError 404 for an unknown one.

        Without a label: the newest one whose session began a while ago, so that a reader who
        asks right after a push is told of the version before.
        """
        versions = self._store.rows(
            "SELECT versions.*, status, started FROM versions LEFT JOIN sessions "
            "ON versions.id = version WHERE kernel = ? ORDER BY number DESC",
            kernel["id"],
        )
        if label:
            number = re.fullmatch(r"v?(\d+)", label)
            for row in versions:
                if number and row["number"] == int(number[1]):
                    return row
            raise ApiError(404, f"Version {label} of this kernel was not found")
        seen = time.time() - self._state.limits.lag_seconds
        begun = [v for v in versions if v["started"] is not None and v["started"] < seen]
        others = [v for v in versions if v["status"] is not None]
        for candidates in (begun, others[-1:], versions):
            if candidates:
                return candidates[0]
        raise ApiError(404, "This kernel has no version")

    def status(self, request: Message, user: str) -> Message:
        """The answer to GetKernelSessionStatus."""
        kernel = self.find(request.user_name, request.kernel_slug, user)
        version = self.version(kernel, request.version_label)
        session = self._state.sessions.of(version["id"])
        answer = types.ApiGetKernelSessionStatusResponse()
        if session is None:
            return fill(answer, status=KernelWorkerStatus.NEW_SCRIPT)
        status, failure = session["status"], session["failure"]
        if current_fault() is FaultKind.STALE_STATUS:
            status, failure = EARLIER.get(status, status), None
        return fill(answer, status=KernelWorkerStatus[status], failure_message=failure)

    def get(self, request: Message, user: str) -> Message:
        """The answer to GetKernel: the newest text, or that of the version named.

        The client writes the version into the slug ("slug/3"), which is understood as well.
        """
        slug, _, number = request.kernel_slug.partition("/")
        kernel = self.find(request.user_name, slug, user)
        label = request.version_label or number
        newest = self._newest(kernel)
        version = self.version(kernel, label) if label else newest
        saved = types.ApiSaveKernelRequest.from_dict(json.loads(version["request"]))
        text = saved.text if label or kernel["draft"] is None else kernel["draft"]
        metadata = self._metadata(kernel, saved, version)
        blob = fill(
            types.ApiKernelBlob(),
            source=text,
            language=saved.language,
            kernel_type=saved.kernel_type,
            slug=kernel["slug"],
        )
        metadata.current_version_number = newest["number"]
        return fill(types.ApiGetKernelResponse(), metadata=metadata, blob=blob)

    def list(self, request: Message, user: str) -> Message:
        """The answer to ListKernels: one's own, or everyone's that one may see."""
        mine = request.group == KernelsListViewType.PROFILE
        rows = self._store.rows(
            "SELECT * FROM kernels WHERE id IN (SELECT kernel FROM versions) ORDER BY id DESC"
        )
        rows = [
            row
            for row in rows
            if (row["owner"] == user.lower() or not (mine or row["private"]))
            and (not request.user or row["owner"] == request.user.lower())
            and (request.search or "").lower() in f"{row['title']} {row['slug']}".lower()
        ]
        size = min(request.page_size or self._state.limits.page_size, 100)
        token = request.page_token or str((max(request.page or 1, 1) - 1) * size)
        shown, following = page(rows, token, size)
        kernels = []
        for row in shown:
            version = self._newest(row)
            saved = types.ApiSaveKernelRequest.from_dict(json.loads(version["request"]))
            kernels.append(self._metadata(row, saved, version))
        return fill(types.ApiListKernelsResponse(), kernels=kernels, next_page_token=following)

    def delete(self, request: Message, user: str) -> Message:
        """The answer to DeleteKernel: the only way to stop a run, and it takes all with it."""
        kernel = self.find(request.user_name, request.kernel_slug, user)
        if kernel["owner"] != user.lower():
            raise ApiError(403, "Permission 'kernels.delete' was denied")
        for version in self._store.rows("SELECT id FROM versions WHERE kernel = ?", kernel["id"]):
            self._state.sessions.remove(version["id"])
        self._store.change("DELETE FROM versions WHERE kernel = ?", kernel["id"])
        self._store.change("DELETE FROM kernels WHERE id = ?", kernel["id"])
        return types.ApiDeleteKernelResponse()

    def _newest(self, kernel: sqlite3.Row) -> sqlite3.Row:
        row = self._store.row(
            "SELECT * FROM versions WHERE kernel = ? ORDER BY number DESC", kernel["id"]
        )
        if row is None:
            raise ApiError(404, "This kernel has no version")
        return row

    def _metadata(self, kernel: sqlite3.Row, saved: Message, version: sqlite3.Row) -> Message:
        return fill(
            types.ApiKernelMetadata(),
            id=kernel["id"],
            ref=f"{kernel['owner']}/{kernel['slug']}",
            title=kernel["title"],
            author=kernel["owner"],
            slug=kernel["slug"],
            last_run_time=moment(version["created"]),
            language=saved.language,
            kernel_type=saved.kernel_type,
            is_private=bool(kernel["private"]),
            enable_gpu=bool(saved.enable_gpu),
            enable_tpu=bool(saved.enable_tpu),
            enable_internet=bool(saved.enable_internet),
            category_ids=saved.category_ids,
            dataset_data_sources=saved.dataset_data_sources,
            kernel_data_sources=saved.kernel_data_sources,
            competition_data_sources=saved.competition_data_sources,
            model_data_sources=saved.model_data_sources,
            docker_image=saved.docker_image or "kaggle/rehearsal",
            machine_shape=place(saved).shape,
            current_version_number=version["number"],
        )
