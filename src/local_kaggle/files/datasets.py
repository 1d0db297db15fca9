"""Datasets: lists, status, files and downloads, and what users upload, usable a while later."""

from __future__ import annotations

import re

from kagglesdk.datasets.types import dataset_api_service as types
from starlette.exceptions import HTTPException
from starlette.responses import Response

from local_kaggle.api.wire import Json, Message, answers, file_entries, listing, masked, moment
from local_kaggle.catalogue import files_below
from local_kaggle.files import pages
from local_kaggle.files.archives import one_or_all
from local_kaggle.files.pages import Page, Version
from local_kaggle.state import ServerState

FIELDS = ("title", "subtitle", "description", "licenseName", "isPrivate")  # what a page takes


def find(state: ServerState, request: Message) -> Page:
    """The dataset that a request names, if the user may see it. Raises HTTPException 404."""
    return pages.find(state, _name(request))


@answers(types.ApiGetDatasetStatusRequest)
def status(state: ServerState, request: Message) -> Json:
    """How the newest version is doing; HTTPException 404 means that the name is free."""
    newest = find(state, request).versions[0]
    unready = "FAILED" if newest.failure else "BLOBS_RECEIVED"
    return {"status": "READY" if newest.ready else unready}


@answers(types.ApiGetDatasetRequest, anonymous=True)
def get(state: ServerState, request: Message) -> Json:
    """A dataset's page."""
    return _entry(find(state, request))


@answers(types.ApiListDatasetsRequest)
def list_datasets(state: ServerState, request: Message) -> Json:
    """The datasets that the user may see, filtered as asked for."""
    group = request.group.name.partition("_GROUP_")[2]
    owner = state.user if group.startswith("MY") else request.user
    excluded = {"PUBLIC": True, "MY_PUBLIC": True, "MY_PRIVATE": False}.get(group)  # isPrivate
    datasets = [
        _entry(dataset)
        for dataset in pages.below(state, "datasets")
        if dataset.matches(request.search, owner)
        and bool(dataset.fields.get("isPrivate")) is not excluded
    ]
    return listing(state, request, "datasets", datasets)


@answers(types.ApiListDatasetFilesRequest, anonymous=True)
def list_files(state: ServerState, request: Message) -> Json:
    """Names and sizes in bytes of the newest version, or of the version named."""
    files = files_below(_version(state, request).folder)
    return listing(state, request, "datasetFiles", file_entries(files))


@answers(types.ApiDownloadDatasetRequest, anonymous=True)
def download(state: ServerState, request: Message) -> Response:
    """A redirect to one file, or to an archive of all."""
    folder = _version(state, request).folder
    return one_or_all(state, files_below(folder), request.file_name)


@answers(types.ApiGetDatasetMetadataRequest, anonymous=True)
def metadata(state: ServerState, request: Message) -> Json:
    """What `dataset-metadata.json` is made of."""
    dataset = find(state, request)
    info = {
        "title": dataset.slug,
        "licenses": [{"name": dataset.fields.get("licenseName", "")}],
        **dataset.fields,
        "datasetId": dataset.id,
        "datasetSlug": dataset.slug,
        "ownerUser": dataset.owner,
    }
    return {"info": info}


@answers(types.ApiCreateDatasetRequest)
def create(state: ServerState, request: Message) -> Json:
    """Create a dataset; a name that is taken is refused in `error`."""
    owner, slug = (request.owner_slug or state.user).lower(), (request.slug or "").lower()
    if not state.is_user(owner):
        raise HTTPException(403, "Permission 'datasets.create' was denied")
    name = f"datasets/{owner}/{slug}"
    with pages.changing:
        error = None
        if not re.fullmatch(r"[a-z0-9][a-z0-9_-]{5,49}", slug):
            error = "The slug must be between 6 and 50 letters, digits and hyphens."
        elif pages.taken(state, name):
            error = f'The requested title "{request.title}" is already in use by a dataset.'
        if error:
            return {"status": "error", "error": error}
        fields = masked(request, FIELDS) | {"keywords": list(request.category_ids)}
        return _created(state, pages.create(state, name, fields, request))


@answers(types.ApiCreateDatasetVersionRequest)
@answers(types.ApiCreateDatasetVersionByIdRequest)
def create_version(state: ServerState, request: Message) -> Json:
    """Add a version to the dataset of this name or with this id."""
    if isinstance(request, types.ApiCreateDatasetVersionByIdRequest):
        row = state.store.row("SELECT name FROM pages WHERE id = ?", request.id)
        name = row["name"] if row else "datasets//"
    else:
        name = _name(request)
    with pages.changing:
        dataset = pages.own(state, name)
        pages.add_version(state, dataset, request.body)
        if request.body.delete_old_versions:
            pages.remove_versions(state, dataset, dataset.versions)
    return _created(state, dataset)


@answers(types.ApiUpdateDatasetMetadataRequest)
def update_metadata(state: ServerState, request: Message) -> Json:
    """Change what `dataset-metadata.json` says."""
    settings = request.settings
    fields = settings.to_dict() | {"isPrivate": settings.is_private}
    if settings.licenses:
        fields["licenseName"] = settings.licenses[0].name
    with pages.changing:
        pages.update(state, pages.own(state, _name(request)), fields)
    return {}


@answers(types.ApiDeleteDatasetRequest)
def delete(state: ServerState, request: Message) -> Json:
    """Delete a dataset with all its versions."""
    with pages.changing:
        pages.remove(state, pages.own(state, _name(request)))
    return {}


def _name(request: Message) -> str:
    return f"datasets/{request.owner_slug}/{request.dataset_slug}"


def _version(state: ServerState, request: Message) -> Version:
    return find(state, request).version(request.dataset_version_number)


def _entry(dataset: Page) -> Json:
    newest = dataset.versions[0]
    return {
        "id": dataset.id,
        "title": dataset.slug,
        "tags": [{"name": tag, "ref": tag} for tag in dataset.fields.get("keywords", ())],
        **dataset.fields,
        "ref": dataset.ref,
        "ownerRef": dataset.owner,
        "currentVersionNumber": newest.number,
        "lastUpdated": moment(newest.created),
        "totalBytes": newest.size,
    }


def _created(state: ServerState, dataset: Page) -> Json:
    return {"ref": dataset.ref, "url": f"{state.url}/datasets/{dataset.ref}", "status": "ok"}
