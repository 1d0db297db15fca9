"""Datasets: lists, status, files and downloads, and what users upload, usable a while later."""

from __future__ import annotations

import re

from kagglesdk.datasets.types import dataset_api_service as types
from kagglesdk.datasets.types.dataset_enums import DatabundleVersionStatus
from kagglesdk.datasets.types.dataset_types import DatasetInfo
from starlette.exceptions import HTTPException
from starlette.responses import Response

from local_kaggle.api.wire import Message, answers, file_entry, fill, listing, masked, moment
from local_kaggle.catalogue import files_below
from local_kaggle.files import pages
from local_kaggle.files.archives import one_or_all
from local_kaggle.files.pages import Page, Version
from local_kaggle.state import ServerState

LICENCES = ("cc", "gpl", "odb")  # how the names of the licences begin that a list can ask for


def find(state: ServerState, request: Message, user: str) -> Page:
    """The dataset that a request names, if `user` may see it. Raises HTTPException 404."""
    return pages.find(state, _name(request), user)


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
    datasets = pages.below(state, "datasets", user)
    matching = [dataset for dataset in datasets if _matches(dataset, request, user)]
    return listing(state, request, matching, _entry)


@answers(types.ApiListDatasetFilesRequest, anonymous=True)
def list_files(state: ServerState, request: Message, user: str) -> Message:
    """Names and sizes in bytes of the newest version, or of the version named."""
    files = files_below(_version(state, request, user).folder)
    return listing(state, request, files, file_entry)


@answers(types.ApiDownloadDatasetRequest, anonymous=True)
def download(state: ServerState, request: Message, user: str) -> Response:
    """A redirect to one file, or to an archive of all."""
    folder = _version(state, request, user).folder
    return one_or_all(state, folder, files_below(folder), request.file_name)


@answers(types.ApiGetDatasetMetadataRequest, anonymous=True)
def metadata(state: ServerState, request: Message, user: str) -> Message:
    """What `dataset-metadata.json` is made of."""
    dataset = find(state, request, user)
    licences = [{"name": dataset.fields.get("licenseName", "")}]
    info = fill(
        DatasetInfo.from_dict({"title": dataset.slug, "licenses": licences, **dataset.fields}),
        dataset_id=dataset.id,
        dataset_slug=dataset.slug,
        owner_user=dataset.owner,
    )
    return fill(types.ApiGetDatasetMetadataResponse(), info=info)


def _name(request: Message) -> str:
    return f"datasets/{request.owner_slug}/{request.dataset_slug}"


def _version(state: ServerState, request: Message, user: str) -> Version:
    return find(state, request, user).version(request.dataset_version_number)


def _matches(dataset: Page, request: Message, user: str) -> bool:
    """Whether a list has a dataset, by the request's filters."""
    group, licence, kind = (
        value.name.partition("_GROUP_")[2].lower()
        for value in (request.group, request.license, request.file_type)
    )
    kind = kind.replace("_", "")  # "bigquery"
    tags = {tag.strip() for tag in (request.tag_ids or "").split(",") if tag.strip()}
    owner = user if group.startswith("my") else request.user or dataset.owner
    theirs = dataset.fields.get("licenseName", "").lower()
    begins = next((begin for begin in LICENCES if theirs.startswith(begin)), "other")
    files = files_below(dataset.versions[0].folder) if kind != "all" else []
    size = dataset.size if request.min_size or request.max_size else 0
    text = f"{dataset.ref} {dataset.fields.get('title', '')}".lower()
    return (
        owner.lower() == dataset.owner.lower()
        and (request.search or "").lower() in text
        and not (dataset.private and group in ("public", "my_public"))
        and (dataset.private or group != "my_private")
        and licence in ("all", begins)
        and (kind == "all" or any(name.lower().endswith(f".{kind}") for name, _ in files))
        and (request.min_size or 0) <= size <= (request.max_size or size)
        and tags <= set(dataset.fields.get("keywords", ()))
    )


def _entry(_message: Message, dataset: Page) -> Message:
    newest = dataset.versions[0]
    tags = [{"name": tag, "ref": tag} for tag in dataset.fields.get("keywords", ())]
    fields = {"id": dataset.id, "title": dataset.slug, "tags": tags, **dataset.fields}
    return fill(
        types.ApiDataset.from_dict(fields),
        ref=dataset.ref,
        owner_ref=dataset.owner,
        current_version_number=newest.number,
        last_updated=moment(newest.created),
        total_bytes=dataset.size,
    )


PAGE = ("title", "subtitle", "description", "licenseName", "isPrivate")  # what a page takes


@answers(types.ApiCreateDatasetRequest)
def create(state: ServerState, request: Message, user: str) -> Message:
    """Create a dataset; a name that is taken is refused in `error`."""
    owner, slug = (request.owner_slug or user).lower(), (request.slug or "").lower()
    if owner != user.lower():
        raise HTTPException(403, "Permission 'datasets.create' was denied")
    name = f"datasets/{owner}/{slug}"
    with pages.changing:
        refused = None
        if not re.fullmatch(r"[a-z0-9][a-z0-9_-]{5,49}", slug):
            refused = "The slug must be between 6 and 50 letters, digits and hyphens."
        elif pages.taken(state, name):
            refused = f'The requested title "{request.title}" is already in use by a dataset.'
        if refused:
            return fill(types.ApiCreateDatasetResponse(), status="error", error=refused)
        fields = masked(request, PAGE) | {"keywords": list(request.category_ids or ())}
        return _created(state, pages.create(state, name, fields, request))


@answers(types.ApiCreateDatasetVersionRequest)
@answers(types.ApiCreateDatasetVersionByIdRequest)
def create_version(state: ServerState, request: Message, user: str) -> Message:
    """Add a version to the dataset of this name or with this id."""
    if isinstance(request, types.ApiCreateDatasetVersionByIdRequest):
        row = state.store.row("SELECT name FROM pages WHERE id = ?", request.id)
        name = row["name"] if row else "datasets//"
    else:
        name = _name(request)
    with pages.changing:
        dataset = pages.own(state, name, user)
        pages.add_version(state, dataset, request.body, request.body.version_notes)
        if request.body.delete_old_versions:
            pages.remove_versions(state, dataset.id, dataset.versions)
    return _created(state, dataset)


@answers(types.ApiUpdateDatasetMetadataRequest)
def update_metadata(state: ServerState, request: Message, user: str) -> Message:
    """Change what `dataset-metadata.json` says."""
    settings = request.settings
    fields = settings.to_dict() | {"isPrivate": settings.is_private}
    if settings.licenses:
        fields["licenseName"] = settings.licenses[0].name
    with pages.changing:
        pages.update(state, pages.own(state, _name(request), user), fields)
    return types.ApiUpdateDatasetMetadataResponse()


@answers(types.ApiDeleteDatasetRequest)
def delete(state: ServerState, request: Message, user: str) -> Message:
    """Delete a dataset with all its versions."""
    with pages.changing:
        pages.remove(state, pages.own(state, _name(request), user))
    return types.ApiDeleteDatasetResponse()


def _created(state: ServerState, dataset: Page) -> Message:
    url = f"{state.url}/datasets/{dataset.ref}"
    return fill(types.ApiCreateDatasetResponse(), ref=dataset.ref, url=url, status="ok")
