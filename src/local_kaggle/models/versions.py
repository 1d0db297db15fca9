"""The versions of a model's variations: uploads, files and downloads."""

from __future__ import annotations

import re

from kagglesdk.models.types import model_api_service as types
from starlette.responses import Response

from local_kaggle.api.wire import Message, answers, file_entry, fill, listing, masked
from local_kaggle.catalogue import files_below
from local_kaggle.files import pages
from local_kaggle.files.archives import one_or_all
from local_kaggle.models.models import PAGE, described, framework_of, name_of
from local_kaggle.state import ServerState


@answers(types.ApiCreateModelInstanceRequest)
def create(state: ServerState, request: Message, user: str) -> Message:
    """Add a variation, with its first version, to a model."""
    body, answer = request.body, types.ApiCreateModelResponse()
    with pages.changing:
        model = pages.own(state, name_of(request), user)
        name = f"{model.name}/{framework_of(body.framework)}/{(body.instance_slug or '').lower()}"
        if not re.fullmatch(r"models(/[a-z0-9][a-z0-9._-]{0,49}){4}", name):
            return fill(answer, error="The framework or the slug of the variation is not valid.")
        if pages.taken(state, name):
            return fill(answer, error=f"{name} already exists.", error_code=409)
        page = pages.create(state, name, masked(body, PAGE), body)
    return fill(answer, id=page.id, ref=page.ref, url=f"{state.url}/{name}")


@answers(types.ApiCreateModelInstanceVersionRequest)
def create_version(state: ServerState, request: Message, user: str) -> Message:
    """Add a version to a variation."""
    with pages.changing:
        page = pages.own(state, name_of(request), user)
        number = pages.add_version(state, page, request.body, request.body.version_notes)
    ref = f"{page.ref}/{number}"
    answer = types.ApiCreateModelResponse()
    return fill(answer, id=page.id, ref=ref, url=f"{state.url}/models/{ref}")


@answers(types.ApiListModelInstanceVersionsRequest, anonymous=True)
def list_versions(state: ServerState, request: Message, user: str) -> Message:
    """The versions of a variation, the newest first."""
    page = pages.find(state, name_of(request), user)
    return listing(
        state,
        request,
        page.versions,
        lambda message, version: described(state, type(message), page, version),
    )


@answers(types.ApiDeleteModelInstanceVersionRequest)
def delete(state: ServerState, request: Message, user: str) -> Message:
    """Delete one version; the only one goes with its variation."""
    with pages.changing:
        page = pages.own(state, name_of(request), user)
        version = page.version(request.version_number)
        if page.versions == [version]:
            error = "This is the only version: delete the variation."
            return fill(types.ApiDeleteModelResponse(), error=error)
        pages.remove_versions(state, page.id, [version])
    return types.ApiDeleteModelResponse()


@answers(types.ApiListModelInstanceVersionFilesRequest, anonymous=True)
def list_files(state: ServerState, request: Message, user: str) -> Message:
    """Names and sizes in bytes of the newest version, or of the version named."""
    version = pages.version_of(state, name_of(request), request.version_number, user)
    return listing(state, request, files_below(version.folder), file_entry)


@answers(types.ApiDownloadModelInstanceVersionRequest, anonymous=True)
def download(state: ServerState, request: Message, user: str) -> Response:
    """A redirect to one file, or to an archive of all."""
    folder = pages.version_of(state, name_of(request), request.version_number, user).folder
    return one_or_all(state, folder, files_below(folder), request.path, ".tar.gz")
