"""Datasets: lists, status, files, downloads, and uploads, which become usable after a while."""

import re

from kagglesdk.datasets.types import dataset_api_service as types
from starlette.responses import Response

from local_kaggle.files import changes, pages
from local_kaggle.files.storage import Files, one_or_all
from local_kaggle.state import ServerState
from local_kaggle.wire import (
    Filters,
    Json,
    Message,
    Service,
    file_listing,
    filtered,
    holds,
    listing,
    masked,
    moment,
    tree_listing,
)

answers = Service(types)
public = Service(types, anonymous=True)

FIELDS = ("title", "subtitle", "description", "licenseName", "isPrivate")  # what a page takes


@answers
def get_dataset_status(state: ServerState, request: Message) -> Json:
    """The state of the newest version; HTTPException 404 means that the name is free."""
    return {"status": pages.named(state, request).versions[0].status}


@public
def get_dataset(state: ServerState, request: Message) -> Json:
    """A dataset's page."""
    return _entry(pages.named(state, request))


@answers
def list_datasets(state: ServerState, request: Message) -> Json:
    """The datasets that the user may see, filtered as asked for."""
    datasets = {dataset.ref: dataset for dataset in pages.below(state, "datasets")}

    def has_files(dataset: Json, kind: str) -> bool:
        ending = f".{kind.replace('_', '')}"  # "bigquery"
        files = datasets[dataset["ref"]].versions[0].files
        return any(name.lower().endswith(ending) for name, _ in files)

    def has_tags(dataset: Json, tags: str) -> bool:
        wanted = {tag.strip() for tag in tags.split(",")}
        return wanted <= {tag["name"].lower() for tag in dataset["tags"]}

    filters: Filters = {
        "user": holds("ownerRef"),
        "group=user": lambda *_: True,  # that of the parameter `user`
        "group=my": lambda dataset, _: state.is_user(dataset["ownerRef"]),
        "group=my_private": lambda dataset, _: dataset.get("isPrivate"),
        "group=public": lambda dataset, _: not dataset.get("isPrivate"),
        "fileType": has_files,
        "license": _is_licensed,
        "tagIds": has_tags,
        "minSize": lambda dataset, size: dataset["totalBytes"] >= int(size),
        "maxSize": lambda dataset, size: dataset["totalBytes"] <= int(size),
    }
    entries = filtered(request, map(_entry, datasets.values()), filters)
    return listing(state, request, "datasets", entries)


@public
def list_dataset_files(state: ServerState, request: Message) -> Json:
    """Names and sizes in bytes of the newest version, or of the version named."""
    return file_listing(state, request, "datasetFiles", _files(state, request))


@public
def list_tree_dataset_files(state: ServerState, request: Message) -> Json:
    """The files and folders in one folder, as kagglehub downloads a folder."""
    return tree_listing(state, request, _files(state, request))


@public
def download_dataset(state: ServerState, request: Message) -> Response:
    """A redirect to one file, or to an archive of all."""
    return one_or_all(state, _files(state, request), request.file_name)


@public
def get_dataset_metadata(state: ServerState, request: Message) -> Json:
    """What `dataset-metadata.json` is made of."""
    dataset = pages.named(state, request)
    info = {
        "title": dataset.slug,
        "licenses": [{"name": dataset.fields.get("licenseName", "")}],
        **dataset.fields,
        "datasetId": dataset.id,
        "datasetSlug": dataset.slug,
        "ownerUser": dataset.owner,
    }
    return {"info": info}


@answers
def create_dataset(state: ServerState, request: Message) -> Json:
    """Create a dataset; a name that is taken is refused in `error`."""
    owner = request.owner_slug or state.user
    name = f"datasets/{owner}/{request.slug}"
    fields = masked(request, FIELDS) | {"keywords": list(request.category_ids)}
    return changes.create(state, name, fields, request)


@answers
def update_dataset_metadata(state: ServerState, request: Message) -> Json:
    """Change what `dataset-metadata.json` says."""
    settings = request.settings
    fields = settings.to_dict() | {"isPrivate": settings.is_private}
    if settings.licenses:
        fields["licenseName"] = settings.licenses[0].name
    return changes.update(state, request, fields)


def _files(state: ServerState, request: Message) -> Files:
    return pages.named(state, request).version(request.dataset_version_number).files


def _is_licensed(dataset: Json, kind: str) -> bool:
    family = re.match("cc|gpl|odb", dataset.get("licenseName", "").lower())
    return kind == "other" if family is None else kind == family[0]


def _entry(dataset: pages.Page) -> Json:
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
