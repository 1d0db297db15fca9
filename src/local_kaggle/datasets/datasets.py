"""What can be read of datasets: lists, status, files and downloads."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from kagglesdk.datasets.types import dataset_api_service as types
from kagglesdk.datasets.types.dataset_enums import DatabundleVersionStatus
from kagglesdk.datasets.types.dataset_types import DatasetInfo
from starlette.exceptions import HTTPException
from starlette.responses import Response

from local_kaggle.api.wire import Message, answers, file_entry, fill, listing, moment
from local_kaggle.catalogue import files_below
from local_kaggle.files.archives import one_or_all
from local_kaggle.state import ServerState

LICENCES = ("cc", "gpl", "odb")  # how the names of the licences begin that a list can ask for


@dataclass(frozen=True)
class Version:
    """One version: its files are in `folder`, and can be had once it is `ready`."""

    number: int
    created: float
    failure: str | None
    ready: bool
    folder: Path


@dataclass(frozen=True)
class Dataset:
    """A dataset with its versions, the newest first; one of the catalogue has the id 0."""

    id: int
    owner: str
    slug: str
    title: str
    licence: str | None
    private: bool
    versions: list[Version]

    @property
    def ref(self) -> str:
        """`owner/slug`."""
        return f"{self.owner}/{self.slug}"


def find(state: ServerState, request: Message, user: str) -> Dataset:
    """The dataset that a request names, uploaded or of the catalogue, if `user` may see it.

    Raises HTTPException 404.
    """
    dataset = _look_up(state, f"{request.owner_slug}/{request.dataset_slug}", user)
    if dataset is None:
        raise HTTPException(404, "Dataset not found")
    return dataset


def folder_of(state: ServerState, owner: str, slug: str) -> Path:
    """The folder of an uploaded dataset, with one folder for each version."""
    return state.root / "datasets" / owner / slug


def mounted(state: ServerState, reference: str, number: int | None, user: str) -> Path | None:
    """The folder that a kernel of `user` gets for a dataset, of the newest version or of `number`;
    None if it is not ready."""
    dataset = _look_up(state, reference, user)
    ready = [v for v in dataset.versions if v.ready] if dataset else []
    return next((v.folder for v in ready if number in (None, v.number)), None)


@answers(types.ApiGetDatasetStatusRequest)
def status(state: ServerState, request: Message, user: str) -> Message:
    """How the newest version is doing; HTTPException 404 means that the name is free."""
    newest = find(state, request, user).versions[0]
    value = DatabundleVersionStatus.READY
    if newest.failure:
        value = DatabundleVersionStatus.FAILED
    elif not newest.ready:
        value = DatabundleVersionStatus.BLOBS_RECEIVED
    return fill(types.ApiGetDatasetStatusResponse(), status=value)


@answers(types.ApiGetDatasetRequest, anonymous=True)
def get(state: ServerState, request: Message, user: str) -> Message:
    """A dataset's page."""
    return _entry(types.ApiDataset(), find(state, request, user))


@answers(types.ApiListDatasetsRequest)
def list_datasets(state: ServerState, request: Message, user: str) -> Message:
    """The catalogue's datasets and those of users that `user` may see, filtered as asked for."""
    rows = state.store.rows("SELECT owner, slug FROM datasets")
    names = {f"{row['owner']}/{row['slug']}" for row in rows}
    names |= set(state.catalogue.references("datasets"))
    datasets = [_look_up(state, name, user) for name in sorted(names)]
    matching = [d for d in datasets if d is not None and _matches(d, request, user)]
    return listing(state, request, matching, _entry)


@answers(types.ApiListDatasetFilesRequest, anonymous=True)
def list_files(state: ServerState, request: Message, user: str) -> Message:
    """Names and sizes in bytes of the newest version, or of the version named."""
    files = files_below(_folder(state, request, user))
    return listing(
        state, request, files, lambda message, file: fill(file_entry(message, file), ref=file[0])
    )


@answers(types.ApiDownloadDatasetRequest, anonymous=True)
def download(state: ServerState, request: Message, user: str) -> Response:
    """A redirect to one file, or to an archive of all."""
    folder = _folder(state, request, user)
    return one_or_all(state, folder, files_below(folder), request.file_name)


@answers(types.ApiGetDatasetMetadataRequest, anonymous=True)
def metadata(state: ServerState, request: Message, user: str) -> Message:
    """What `dataset-metadata.json` is made of."""
    dataset = find(state, request, user)
    info = fill(
        DatasetInfo(),
        dataset_id=dataset.id,
        dataset_slug=dataset.slug,
        owner_user=dataset.owner,
        title=dataset.title,
        is_private=dataset.private,
    )
    return fill(types.ApiGetDatasetMetadataResponse(), info=info)


def _look_up(state: ServerState, reference: str, user: str) -> Dataset | None:
    catalogued = state.catalogue.find("datasets", reference)
    owner, _, slug = reference.partition("/")
    if catalogued:
        version = Version(1, catalogued.stat().st_mtime, None, True, catalogued)
        return Dataset(0, owner, slug, slug, None, False, [version])
    query = "SELECT * FROM datasets WHERE owner = ? AND slug = ? AND (owner = ? OR NOT private)"
    row = state.store.row(query, owner.lower(), slug.lower(), user.lower())
    if row is None:
        return None
    ready_since = time.time() - state.limits.dataset_seconds
    query = "SELECT * FROM dataset_versions WHERE dataset = ? ORDER BY number DESC"
    versions = [
        Version(
            v["number"],
            v["created"],
            v["failure"],
            not v["failure"] and v["created"] <= ready_since,
            folder_of(state, row["owner"], row["slug"]) / str(v["number"]),
        )
        for v in state.store.rows(query, row["id"])
    ]
    # Without a version it is being created.
    return (
        Dataset(**{**row, "private": bool(row["private"])}, versions=versions) if versions else None
    )


def _folder(state: ServerState, request: Message, user: str) -> Path:
    """The folder of the version that a request names, or of the newest; else HTTPException 404."""
    number = request.dataset_version_number
    for version in find(state, request, user).versions:
        if version.ready and number in (None, 0, version.number):
            return version.folder
    raise HTTPException(404, f"Dataset version {number or ''} not found")


def _matches(dataset: Dataset, request: Message, user: str) -> bool:
    """Whether a list has a dataset, by the request's filters; nothing here has tags."""
    group, licence, kind = (
        value.name.partition("_GROUP_")[2].lower()
        for value in (request.group, request.license, request.file_type)
    )
    owner = user if group.startswith("my") else request.user or dataset.owner
    theirs = (dataset.licence or "").lower()
    begins = next((begin for begin in LICENCES if theirs.startswith(begin)), "other")
    files = files_below(dataset.versions[0].folder) if kind != "all" else []
    size = _size(dataset) if request.min_size or request.max_size else 0
    return (
        owner.lower() == dataset.owner.lower()
        and (request.search or "").lower() in f"{dataset.ref} {dataset.title}".lower()
        and not (dataset.private and group in ("public", "my_public"))
        and (dataset.private or group != "my_private")
        and licence in ("all", begins)
        and (kind == "all" or any(name.lower().endswith(f".{kind}") for name, _ in files))
        and (request.min_size or 0) <= size <= (request.max_size or size)
        and not request.tag_ids
    )


def _entry(message: Message, dataset: Dataset) -> Message:
    newest = dataset.versions[0]
    return fill(
        message,
        id=dataset.id,
        ref=dataset.ref,
        title=dataset.title,
        owner_ref=dataset.owner,
        license_name=dataset.licence,
        is_private=dataset.private,
        current_version_number=newest.number,
        last_updated=moment(newest.created),
        total_bytes=_size(dataset),
    )


def _size(dataset: Dataset) -> int:
    return sum(path.stat().st_size for _, path in files_below(dataset.versions[0].folder))
