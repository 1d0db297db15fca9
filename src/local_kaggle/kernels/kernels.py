"""Kernels and their versions: how they are found, listed, read and deleted."""

from __future__ import annotations

import json
import re
import sqlite3
import time

from kagglesdk.kernels.types import kernels_api_service as types
from kagglesdk.kernels.types.kernels_enums import KernelsListViewType, KernelWorkerStatus
from starlette.exceptions import HTTPException

from local_kaggle.api.wire import Message, answers, fill, moment, page
from local_kaggle.faults.responses import shows
from local_kaggle.faults.schedule import FaultKind
from local_kaggle.kernels.placement import place
from local_kaggle.state import ServerState

EARLIER = {"COMPLETE": "RUNNING", "ERROR": "RUNNING", "RUNNING": "QUEUED"}
# What the metadata repeat of the push.
AS_SAVED = (
    "language",
    "kernel_type",
    "category_ids",
    "dataset_data_sources",
    "kernel_data_sources",
    "competition_data_sources",
    "model_data_sources",
)


def find(state: ServerState, owner: str, slug: str, user: str) -> sqlite3.Row:
    """The row of a kernel that `user` may see. Raises HTTPException 403, as Kaggle does."""
    row = state.store.row(
        "SELECT * FROM kernels WHERE owner = ? AND slug = ?", owner.lower(), slug.lower()
    )
    if row is None or (row["private"] and row["owner"] != user.lower()):
        raise HTTPException(403, "Permission 'kernels.get' was denied")
    return row


def versions_of(state: ServerState, kernel: sqlite3.Row) -> list[sqlite3.Row]:
    """A kernel's versions, the newest first, each with `status` and `started` of its session."""
    versions = state.store.rows(
        "SELECT versions.*, status, started FROM versions LEFT JOIN sessions "
        "ON versions.id = version WHERE kernel = ? ORDER BY number DESC",
        kernel["id"],
    )
    if not versions:  # the first push was refused
        raise HTTPException(404, "This kernel has no version")
    return versions


def version_of(state: ServerState, kernel: sqlite3.Row, label: str | None) -> sqlite3.Row:
    """The version that `label` ("v3" or "3") names.

    Without a label: the newest one whose session began a while ago, so that a reader who asks right
    after a push is told of the version before. Raises HTTPException 404 for an unknown one.
    """
    versions = versions_of(state, kernel)
    if label:
        number = re.fullmatch(r"v?(\d+)", label)
        candidates = [row for row in versions if number and row["number"] == int(number[1])]
        if not candidates:
            raise HTTPException(404, f"Version {label} of this kernel was not found")
        return candidates[0]
    seen = time.time() - state.limits.lag_seconds
    begun = [v for v in versions if v["started"] is not None and v["started"] < seen]
    run = [v for v in versions if v["status"] is not None]
    return (begun or run[-1:] or versions)[0]


@answers(types.ApiGetKernelSessionStatusRequest)
def status(state: ServerState, request: Message, user: str) -> Message:
    """How a version's session is doing."""
    kernel = find(state, request.user_name, request.kernel_slug, user)
    version = version_of(state, kernel, request.version_label)
    session = state.sessions.of(version["id"])
    answer = types.ApiGetKernelSessionStatusResponse()
    if session is None:
        return fill(answer, status=KernelWorkerStatus.NEW_SCRIPT)
    name, failure = session["status"], session["failure"]
    if shows(FaultKind.STALE_STATUS):
        name, failure = EARLIER.get(name, name), None
    return fill(answer, status=KernelWorkerStatus[name], failure_message=failure)


@answers(types.ApiGetKernelRequest)
def get(state: ServerState, request: Message, user: str) -> Message:
    """The newest text, or that of the version named.

    The client writes the version into the slug ("slug/3"), which is understood as well.
    """
    slug, _, number = request.kernel_slug.partition("/")
    kernel = find(state, request.user_name, slug, user)
    label = request.version_label or number
    newest = versions_of(state, kernel)[0]
    version = version_of(state, kernel, label) if label else newest
    pushed = saved(version)
    blob = fill(
        types.ApiKernelBlob(),
        source=pushed.text if label or kernel["draft"] is None else kernel["draft"],
        language=pushed.language,
        kernel_type=pushed.kernel_type,
        slug=kernel["slug"],
    )
    metadata = _metadata(kernel, version)
    metadata.current_version_number = newest["number"]
    return fill(types.ApiGetKernelResponse(), metadata=metadata, blob=blob)


@answers(types.ApiListKernelsRequest)
def list_kernels(state: ServerState, request: Message, user: str) -> Message:
    """One's own kernels, or everyone's that one may see."""
    mine = request.group == KernelsListViewType.PROFILE
    rows = state.store.rows(
        "SELECT * FROM kernels WHERE id IN (SELECT kernel FROM versions) ORDER BY id DESC"
    )
    rows = [
        row
        for row in rows
        if (row["owner"] == user.lower() or not (mine or row["private"]))
        and (not request.user or row["owner"] == request.user.lower())
        and (request.search or "").lower() in f"{row['title']} {row['slug']}".lower()
    ]
    shown, following = page(state, request, rows)
    kernels = [_metadata(row, versions_of(state, row)[0]) for row in shown]
    return fill(types.ApiListKernelsResponse(), kernels=kernels, next_page_token=following)


@answers(types.ApiDeleteKernelRequest)
def delete(state: ServerState, request: Message, user: str) -> Message:
    """Delete a kernel: the only way to stop a run, and it takes all with it."""
    kernel = find(state, request.user_name, request.kernel_slug, user)
    if kernel["owner"] != user.lower():
        raise HTTPException(403, "Permission 'kernels.delete' was denied")
    for version in state.store.rows("SELECT id FROM versions WHERE kernel = ?", kernel["id"]):
        state.sessions.remove(version["id"])
    state.store.change("DELETE FROM versions WHERE kernel = ?", kernel["id"])
    state.store.change("DELETE FROM kernels WHERE id = ?", kernel["id"])
    return types.ApiDeleteKernelResponse()


def saved(version: sqlite3.Row) -> Message:
    """The request that saved a version."""
    return types.ApiSaveKernelRequest.from_dict(json.loads(version["request"]))


def _metadata(kernel: sqlite3.Row, version: sqlite3.Row) -> Message:
    pushed = saved(version)
    return fill(
        types.ApiKernelMetadata(),
        id=kernel["id"],
        ref=f"{kernel['owner']}/{kernel['slug']}",
        title=kernel["title"],
        author=kernel["owner"],
        slug=kernel["slug"],
        last_run_time=moment(version["created"]),
        is_private=bool(kernel["private"]),
        enable_gpu=bool(pushed.enable_gpu),
        enable_tpu=bool(pushed.enable_tpu),
        enable_internet=bool(pushed.enable_internet),
        docker_image=pushed.docker_image or "kaggle/rehearsal",
        machine_shape=place(pushed).shape,
        current_version_number=version["number"],
        **{name: getattr(pushed, name) for name in AS_SAVED},
    )
