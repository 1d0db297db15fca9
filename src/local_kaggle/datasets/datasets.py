"""What can be read of datasets: lists, status, files and downloads."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

from kagglesdk.datasets.types import dataset_api_service as types
from kagglesdk.datasets.types.dataset_enums import DatabundleVersionStatus, DatasetSelectionGroup
from kagglesdk.datasets.types.dataset_types import DatasetInfo
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

from local_kaggle.api.wire import Message, answers, fill, moment, page
from local_kaggle.catalogue import files_below
from local_kaggle.files.archives import archive
from local_kaggle.state import ServerState


def find(state: ServerState, owner: str, slug: str, user: str) -> sqlite3.Row:
    """The row of an uploaded dataset that `user` may see. Raises HTTPException 404."""
    query = "SELECT * FROM datasets WHERE owner = ? AND slug = ? AND (owner = ? OR NOT private)"
    dataset = state.store.row(query, owner.lower(), slug.lower(), user.lower())
    if dataset is None:
        raise HTTPException(404, "Dataset not found")
    return dataset


def versions_of(state: ServerState, dataset: sqlite3.Row) -> list[sqlite3.Row]:
    """The versions of an uploaded dataset, the newest first."""
    query = "SELECT * FROM dataset_versions WHERE dataset = ? ORDER BY number DESC"
    return state.store.rows(query, dataset["id"])


def folder_of(state: ServerState, dataset: sqlite3.Row) -> Path:
    """The folder of an uploaded dataset, with one folder for each version."""
    return state.root.joinpath("datasets", dataset["owner"], dataset["slug"])


def mounted(state: ServerState, reference: str, user: str) -> Path | None:
    """The folder that a kernel of `user` gets for "owner/slug"; None if there is none yet."""
    catalogued = state.catalogue.find("datasets", reference)
    if catalogued:
        return catalogued
    owner, _, slug = reference.partition("/")
    try:
        dataset = find(state, owner, slug, user)
    except HTTPException:
        return None
    ready = [v["number"] for v in versions_of(state, dataset) if _is_ready(state, v)]
    return folder_of(state, dataset) / str(ready[0]) if ready else None


@answers(types.ApiGetDatasetStatusRequest)
def status(state: ServerState, request: Message, user: str) -> Message:
    """How the newest version is doing; HTTPException 404 means that the name is free."""
    value = DatabundleVersionStatus.READY
    if not state.catalogue.find("datasets", _reference(request)):
        newest = versions_of(state, find(state, request.owner_slug, request.dataset_slug, user))[0]
        if newest["failure"]:
            value = DatabundleVersionStatus.FAILED
        elif not _is_ready(state, newest):
            value = DatabundleVersionStatus.BLOBS_RECEIVED
    return fill(types.ApiGetDatasetStatusResponse(), status=value)


@answers(types.ApiGetDatasetRequest)
def get(state: ServerState, request: Message, user: str) -> Message:
    """An uploaded dataset's page."""
    dataset = find(state, request.owner_slug, request.dataset_slug, user)
    newest = versions_of(state, dataset)[0]
    return fill(
        types.ApiDataset(),
        id=dataset["id"],
        ref=f"{dataset['owner']}/{dataset['slug']}",
        title=dataset["title"],
        owner_ref=dataset["owner"],
        license_name=dataset["licence"],
        is_private=bool(dataset["private"]),
        current_version_number=newest["number"],
        last_updated=moment(newest["created"]),
    )


@answers(types.ApiListDatasetsRequest)
def list_datasets(state: ServerState, request: Message, user: str) -> Message:
    """The catalogue's datasets, and those of users that `user` may see."""
    query = "SELECT owner, slug, title FROM datasets WHERE owner = ? OR NOT private"
    rows = state.store.rows(query, user.lower())
    titles = {f"{row['owner']}/{row['slug']}": row["title"] for row in rows}
    titles |= {name: name.partition("/")[2] for name in state.catalogue.references("datasets")}
    mine = request.group == DatasetSelectionGroup.DATASET_SELECTION_GROUP_MY
    owner = (user if mine else request.user or "").lower()
    names = [
        name
        for name, title in sorted(titles.items())
        if (request.search or "").lower() in f"{name} {title}".lower()
        and (not owner or name.lower().startswith(f"{owner}/"))
    ]
    shown, following = page(state, request, names)
    entries = [
        fill(
            types.ApiDataset(),
            ref=name,
            title=titles[name],
            owner_ref=name.partition("/")[0],
            total_bytes=_size(mounted(state, name, user)),
        )
        for name in shown
    ]
    answer = types.ApiListDatasetsResponse()
    return fill(answer, datasets=entries, next_page_token=following)


@answers(types.ApiListDatasetFilesRequest)
def list_files(state: ServerState, request: Message, user: str) -> Message:
    """Names and sizes in bytes of the newest version."""
    shown, following = page(state, request, files_below(_folder(state, request, user)))
    files = [
        fill(
            types.ApiDatasetFile(),
            name=name,
            ref=name,
            total_bytes=path.stat().st_size,
            creation_date=moment(path.stat().st_mtime),
        )
        for name, path in shown
    ]
    answer = types.ApiListDatasetFilesResponse()
    return fill(answer, dataset_files=files, next_page_token=following)


@answers(types.ApiDownloadDatasetRequest)
def download(state: ServerState, request: Message, user: str) -> Response:
    """A redirect to one file, or to an archive of all."""
    folder = _folder(state, request, user)
    if not request.file_name:
        # A version's folder is named by its number, and belongs to that version alone.
        name = f"datasets/{_reference(request)}/{folder.name}"
        return RedirectResponse(state.link(archive(state, folder, name)), 302)
    files = dict(files_below(folder))
    if request.file_name not in files:
        raise HTTPException(404, f"The dataset has no file {request.file_name}")
    return RedirectResponse(state.link(files[request.file_name]), 302)


@answers(types.ApiGetDatasetMetadataRequest)
def metadata(state: ServerState, request: Message, user: str) -> Message:
    """What `dataset-metadata.json` is made of."""
    _folder(state, request, user)
    owner, slug = request.owner_slug, request.dataset_slug
    row = state.store.row(
        "SELECT * FROM datasets WHERE owner = ? AND slug = ?", owner.lower(), slug.lower()
    )
    info = fill(DatasetInfo(), dataset_slug=slug, owner_user=owner, title=slug, is_private=False)
    if row:
        fill(info, title=row["title"], is_private=bool(row["private"]), dataset_id=row["id"])
    return fill(types.ApiGetDatasetMetadataResponse(), info=info)


def _reference(request: Message) -> str:
    return f"{request.owner_slug}/{request.dataset_slug}"


def _folder(state: ServerState, request: Message, user: str) -> Path:
    folder = mounted(state, _reference(request), user)
    if folder is None:
        raise HTTPException(404, "Dataset not found")
    return folder


def _size(folder: Path | None) -> int | None:
    return sum(path.stat().st_size for _, path in files_below(folder)) if folder else None


def _is_ready(state: ServerState, version: sqlite3.Row) -> bool:
    age = time.time() - version["created"]
    return not version["failure"] and age >= state.limits.dataset_seconds
