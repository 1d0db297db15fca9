"""Datasets that users upload: created at once, usable a while later."""

from __future__ import annotations

import re

from kagglesdk.datasets.types import dataset_api_service as types
from starlette.exceptions import HTTPException

from local_kaggle.api.wire import Message, answers, fill, masked
from local_kaggle.files import pages
from local_kaggle.files.pages import Page
from local_kaggle.state import ServerState

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
        name = f"datasets/{request.owner_slug}/{request.dataset_slug}"
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
    name = f"datasets/{request.owner_slug}/{request.dataset_slug}"
    fields = settings.to_dict() | {"isPrivate": settings.is_private}
    if settings.licenses:
        fields["licenseName"] = settings.licenses[0].name
    with pages.changing:
        pages.update(state, pages.own(state, name, user), fields)
    return types.ApiUpdateDatasetMetadataResponse()


@answers(types.ApiDeleteDatasetRequest)
def delete(state: ServerState, request: Message, user: str) -> Message:
    """Delete a dataset with all its versions."""
    with pages.changing:
        name = f"datasets/{request.owner_slug}/{request.dataset_slug}"
        pages.remove(state, pages.own(state, name, user))
    return types.ApiDeleteDatasetResponse()


def _created(state: ServerState, dataset: Page) -> Message:
    url = f"{state.url}/datasets/{dataset.ref}"
    return fill(types.ApiCreateDatasetResponse(), ref=dataset.ref, url=url, status="ok")
