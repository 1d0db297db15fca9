"""Kernels and their versions: how they are found, listed, read and deleted, and their machine."""

from __future__ import annotations

import json
import re
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from kagglesdk.kernels.types import kernels_api_service as types
from kagglesdk.kernels.types.kernels_enums import KernelsListViewType, KernelWorkerStatus
from starlette.exceptions import HTTPException

from local_kaggle.api.wire import Message, answers, fill, listing, moment
from local_kaggle.catalogue import files_below
from local_kaggle.faults.responses import shows
from local_kaggle.faults.schedule import FaultKind
from local_kaggle.limits import RETIRED, SHAPES, Kind
from local_kaggle.state import ServerState

Row = dict[str, Any]  # of the store, or what stands for one in the catalogue

ANY = (None, "", "all")  # the values of a filter that let everything pass
DRAWN = (".html", ".jpeg", ".jpg", ".png", ".svg")
# What the catalogue's kernels were pushed with, where their pages do not say it.
CATALOGUED = {
    "language": "python",
    "kernelType": "script",
    "text": "# The catalogue has the output alone.\n",
}
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
_KINDS: dict[str, Kind] = {shape.lower(): kind for kind in SHAPES for shape in SHAPES[kind]}
_RETIRED = {shape.lower(): instead for shape, instead in RETIRED.items()}


def find(state: ServerState, owner: str, slug: str, user: str) -> Row:
    """A kernel that `user` may see, pushed or of the catalogue, as its row in the store.

    Raises HTTPException 403, as Kaggle does.
    """
    row = state.store.row(
        "SELECT * FROM kernels WHERE owner = ? AND slug = ?", owner.lower(), slug.lower()
    )
    if row and (not row["private"] or row["owner"] == user.lower()):
        return dict(row)
    outputs = state.catalogue.versions("kernels", f"{owner}/{slug}")
    page = state.catalogue.page("kernels", f"{owner}/{slug}") if outputs else {}
    private = page.get("isPrivate", False)
    if row or not outputs or (private and owner.lower() != user.lower()):
        raise HTTPException(403, "Permission 'kernels.get' was denied")
    names = {"owner": owner, "slug": slug, "title": page.get("title", slug)}
    return {"id": 0, "private": private, "draft": None, "outputs": outputs, "page": page, **names}


def versions_of(state: ServerState, kernel: Row) -> list[Row]:
    """A kernel's versions, the newest first, each with its session's state and its `outputs`."""
    if not kernel["id"]:
        request = json.dumps(CATALOGUED | kernel["page"])
        run = {"id": 0, "request": request, "status": "COMPLETE", "failure": None}
        return [
            {**run, "number": number, "outputs": outputs, "created": at, "started": at}
            for number, outputs in kernel["outputs"].items()
            for at in [outputs.stat().st_mtime]
        ]
    rows = state.store.rows(
        "SELECT versions.*, status, failure, started FROM versions LEFT JOIN sessions "
        "ON versions.id = version WHERE kernel = ? ORDER BY number DESC",
        kernel["id"],
    )
    if not rows:  # the first push was refused
        raise HTTPException(404, "This kernel has no version")
    return [{**row, "outputs": state.sessions.folder(row["id"]) / "working"} for row in rows]


def version_of(state: ServerState, kernel: Row, label: str | None) -> Row:
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
    visible_since = time.time() - state.limits.lag_seconds
    begun = [v for v in versions if v["started"] is not None and v["started"] < visible_since]
    run = [v for v in versions if v["status"] is not None]
    return (begun or run[-1:] or versions)[0]


@answers(types.ApiGetKernelSessionStatusRequest)
def status(state: ServerState, request: Message, user: str) -> Message:
    """How a version's session is doing."""
    kernel = find(state, request.user_name, request.kernel_slug, user)
    version = version_of(state, kernel, request.version_label)
    answer = types.ApiGetKernelSessionStatusResponse()
    name, failure = version["status"] or "NEW_SCRIPT", version["failure"]
    if shows(FaultKind.STALE_STATUS):
        name, failure = EARLIER.get(name, name), None
    return fill(answer, status=KernelWorkerStatus[name], failure_message=failure)


@answers(types.ApiGetKernelRequest, anonymous=True)
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
    metadata = _metadata(types.ApiKernelMetadata(), kernel, version)
    metadata.current_version_number = newest["number"]
    return fill(types.ApiGetKernelResponse(), metadata=metadata, blob=blob)


@answers(types.ApiListKernelsRequest)
def list_kernels(state: ServerState, request: Message, user: str) -> Message:
    """The caller's kernels, or all that the caller may see."""
    rows = state.store.rows("SELECT owner, slug FROM kernels")
    names = {f"{row['owner']}/{row['slug']}" for row in rows}
    newest = []
    for name in sorted(names | set(state.catalogue.references("kernels"))):
        owner, _, slug = name.partition("/")
        with suppress(HTTPException):  # it may not be seen, or has no version
            kernel = find(state, owner, slug, user)
            newest.append((kernel, versions_of(state, kernel)[0]))
    matching = [pair for pair in newest if _matches(*pair, request, user)]
    matching.sort(key=lambda pair: -pair[0]["id"])
    return listing(state, request, matching, lambda message, pair: _metadata(message, *pair))


@answers(types.ApiDeleteKernelRequest)
def delete(state: ServerState, request: Message, user: str) -> Message:
    """Delete a kernel: the only way to stop a run, and it takes all with it."""
    kernel = find(state, request.user_name, request.kernel_slug, user)
    if not kernel["id"] or kernel["owner"] != user.lower():
        raise HTTPException(403, "Permission 'kernels.delete' was denied")
    for version in state.store.rows("SELECT id FROM versions WHERE kernel = ?", kernel["id"]):
        state.sessions.remove(version["id"])
    state.store.change("DELETE FROM versions WHERE kernel = ?", kernel["id"])
    state.store.change("DELETE FROM kernels WHERE id = ?", kernel["id"])
    return types.ApiDeleteKernelResponse()


def saved(version: Row) -> Message:
    """The request that saved a version."""
    return types.ApiSaveKernelRequest.from_dict(json.loads(version["request"]))


def _matches(kernel: Row, version: Row, request: Message, user: str) -> bool:
    """Whether a list has a kernel, by the request's filters and what its newest version holds."""
    pushed = saved(version)
    filters = (
        (request.user, [kernel["owner"]]),
        (user if request.group == KernelsListViewType.PROFILE else None, [kernel["owner"]]),
        (request.dataset, pushed.dataset_data_sources),
        (request.competition, pushed.competition_data_sources),
        (request.parent_kernel, pushed.kernel_data_sources),
        (request.language, [pushed.language]),
        (request.kernel_type, [pushed.kernel_type]),
    )
    endings = DRAWN if request.output_type == "visualization" else ""
    return (
        all(value in ANY or value.lower() in values for value, values in filters)
        and (request.search or "").lower() in f"{kernel['title']} {kernel['slug']}".lower()
        and (
            request.output_type in ANY
            or any(name.endswith(endings) for name, _ in files_below(version["outputs"]))
        )
    )


def _metadata(message: Message, kernel: Row, version: Row) -> Message:
    pushed = saved(version)
    return fill(
        message,
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


@dataclass(frozen=True)
class Placement:
    """`shape` as the server keeps it, `kind` it is counted as, and the kind it really `runs_on`."""

    shape: str
    kind: Kind
    runs_on: Kind


def place(request: Message) -> Placement:
    """The machine for a SaveKernel request.

    A retired shape becomes another one, an unknown one the CPU. A TPU push with a pinned image,
    or whose notebook carries `metadata.kaggle`, starts in the CPU image: it is counted as a TPU
    session and sees no TPU (Kaggle/kaggle-cli #1197).
    """
    switched: Kind = "tpu" if request.enable_tpu else "gpu" if request.enable_gpu else "cpu"
    asked_for = request.machine_shape or SHAPES[switched][0]
    shape = _RETIRED.get(asked_for.lower(), asked_for)
    kind = _KINDS.get(shape.lower(), "cpu")
    runs_on: Kind = "cpu" if kind == "tpu" and _wants_own_image(request) else kind
    return Placement(shape, kind, runs_on)


def _wants_own_image(request: Message) -> bool:
    try:
        return bool(request.docker_image) or "kaggle" in json.loads(request.text)["metadata"]
    except (ValueError, TypeError, KeyError):  # a script, or a broken notebook
        return False
