"""Datasets: lists, status, files and downloads, and what users upload, usable a while later."""

import re

from kagglesdk.datasets.types import dataset_api_service as types
from starlette.responses import Response

from local_kaggle.catalogue import files_below
from local_kaggle.files import pages
from local_kaggle.files.pages import Page, Version
from local_kaggle.files.storage import one_or_all
from local_kaggle.state import ServerState
from local_kaggle.wire import (
    Filters,
    Json,
    Message,
    answers,
    file_entries,
    filtered,
    listing,
    masked,
    moment,
)

FIELDS = ("title", "subtitle", "description", "licenseName", "isPrivate")  # what a page takes
FILTERS: Filters = {
    **pages.FILTERS,
    "group=public": lambda dataset, _: not dataset.fields.get("isPrivate"),
    "group=my_private": lambda dataset, _: bool(dataset.fields.get("isPrivate")),
    "group=user": lambda *_: True,  # that of the parameter `user`
    "fileType": lambda dataset, kind: any(
        name.lower().endswith(f".{kind.replace('_', '')}")
        for name, _ in files_below(dataset.versions[0].folder)
    ),
    "license": lambda dataset, kind: (
        (
            re.findall("^(?:cc|gpl|odb)|$", dataset.fields.get("licenseName", "").lower())[0]
            or "other"
        )
        == kind
    ),
    "tagIds": lambda dataset, tags: (
        {tag.strip() for tag in tags.split(",")}
        <= {tag.lower() for tag in dataset.fields.get("keywords", ())}
    ),
    "minSize": lambda dataset, size: dataset.versions[0].size >= int(size),
    "maxSize": lambda dataset, size: dataset.versions[0].size <= int(size),
}


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
    datasets = filtered(
        request,
        pages.below(state, "datasets"),
        FILTERS | {"group=my": lambda dataset, _: state.is_user(dataset.owner)},
    )
    return listing(state, request, "datasets", [_entry(dataset) for dataset in datasets])


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
    name = f"datasets/{request.owner_slug or state.user}/{request.slug}".lower()
    fields = masked(request, FIELDS) | {"keywords": list(request.category_ids)}
    return pages.create(state, name, fields, request)


@answers(types.ApiCreateDatasetVersionRequest)
@answers(types.ApiCreateDatasetVersionByIdRequest)
def create_version(state: ServerState, request: Message) -> Json:
    """Add a version to the dataset of this name or with this id."""
    if isinstance(request, types.ApiCreateDatasetVersionByIdRequest):
        row = state.store.row("SELECT name FROM pages WHERE id = ?", request.id)
        return pages.add_version(state, row["name"] if row else "datasets//", request.body)
    return pages.add_version(state, _name(request), request.body)


@answers(types.ApiUpdateDatasetMetadataRequest)
def update_metadata(state: ServerState, request: Message) -> Json:
    """Change what `dataset-metadata.json` says."""
    settings = request.settings
    fields = settings.to_dict() | {"isPrivate": settings.is_private}
    if settings.licenses:
        fields["licenseName"] = settings.licenses[0].name
    return pages.update(state, _name(request), fields)


@answers(types.ApiDeleteDatasetRequest)
def delete(state: ServerState, request: Message) -> Json:
    """Delete a dataset with all its versions."""
    return pages.remove(state, _name(request))


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
