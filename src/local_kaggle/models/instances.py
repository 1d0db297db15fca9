"""The variations of models, which the API calls instances: their versions, files and downloads."""

from __future__ import annotations

import re

from kagglesdk.models.types import model_api_service as types
from kagglesdk.models.types.model_enums import ModelFramework
from starlette.responses import Response

from local_kaggle.api.wire import Message, answers, fill, listing, masked, moment
from local_kaggle.catalogue import files_below
from local_kaggle.files import pages
from local_kaggle.files.archives import one_or_all
from local_kaggle.files.pages import Page, Version
from local_kaggle.state import ServerState

PAGE = (
    "overview",
    "usage",
    "fineTunable",
    "trainingData",
    "licenseName",
    "modelInstanceType",
    "baseModelInstance",
    "externalBaseModelUrl",
)
FRAMEWORKS = {
    framework.name.removeprefix("MODEL_FRAMEWORK_").replace("_", "").lower(): framework
    for framework in ModelFramework
}
"""By their names in references, such as `tensorflow2`."""


@answers(types.ApiGetModelInstanceRequest, anonymous=True)
def get(state: ServerState, request: Message, user: str) -> Message:
    """A variation's page."""
    return entry(state, types.ApiModelInstance, pages.find(state, _name(request), user))


@answers(types.ApiListModelInstancesRequest, anonymous=True)
def list_instances(state: ServerState, request: Message, user: str) -> Message:
    """The variations of a model."""
    model = pages.find(state, f"models/{request.owner_slug}/{request.model_slug}", user)
    variations = pages.below(state, model.name, user)
    return listing(state, request, variations, lambda m, page: entry(state, type(m), page))


@answers(types.ApiCreateModelInstanceRequest)
def create(state: ServerState, request: Message, user: str) -> Message:
    """Add a variation, with its first version, to a model."""
    body, answer = request.body, types.ApiCreateModelResponse()
    with pages.changing:
        model = pages.own(state, f"models/{request.owner_slug}/{request.model_slug}", user)
        name = f"{model.name}/{_framework(body.framework)}/{(body.instance_slug or '').lower()}"
        if not re.fullmatch(r"models(/[a-z0-9][a-z0-9._-]{0,49}){4}", name):
            return fill(answer, error="The framework or the slug of the variation is not valid.")
        if pages.taken(state, name):
            return fill(answer, error=f"{name} already exists.", error_code=409)
        page = pages.create(state, name, masked(body, PAGE), body)
    return fill(answer, id=page.id, ref=page.ref, url=f"{state.url}/{name}")


@answers(types.ApiUpdateModelInstanceRequest)
def update(state: ServerState, request: Message, user: str) -> Message:
    """Change what the request's mask names."""
    with pages.changing:
        page = pages.own(state, _name(request), user)
        pages.update(state, page, masked(request, PAGE))
    url = f"{state.url}/{page.name}"
    return fill(types.ApiUpdateModelResponse(), id=page.id, ref=page.ref, url=url)


@answers(types.ApiDeleteModelInstanceRequest)
def delete(state: ServerState, request: Message, user: str) -> Message:
    """Delete a variation with all its versions."""
    with pages.changing:
        pages.remove(state, pages.own(state, _name(request), user))
    return types.ApiDeleteModelResponse()


@answers(types.ApiCreateModelInstanceVersionRequest)
def create_version(state: ServerState, request: Message, user: str) -> Message:
    """Add a version to a variation."""
    with pages.changing:
        page = pages.own(state, _name(request), user)
        number = pages.add_version(state, page, request.body, request.body.version_notes)
    ref = f"{page.ref}/{number}"
    answer = types.ApiCreateModelResponse()
    return fill(answer, id=page.id, ref=ref, url=f"{state.url}/models/{ref}")


@answers(types.ApiListModelInstanceVersionsRequest, anonymous=True)
def list_versions(state: ServerState, request: Message, user: str) -> Message:
    """The versions of a variation, the newest first."""
    page = pages.find(state, _name(request), user)
    return listing(
        state,
        request,
        page.versions,
        lambda message, version: _filled(state, type(message), page, version),
    )


@answers(types.ApiDeleteModelInstanceVersionRequest)
def delete_version(state: ServerState, request: Message, user: str) -> Message:
    """Delete one version; the only one goes with its variation."""
    with pages.changing:
        page = pages.own(state, _name(request), user)
        version = page.version(request.version_number)
        if page.versions == [version]:
            error = "This is the only version: delete the variation."
            return fill(types.ApiDeleteModelResponse(), error=error)
        pages.remove_versions(state, page.id, [version])
    return types.ApiDeleteModelResponse()


@answers(types.ApiListModelInstanceVersionFilesRequest, anonymous=True)
def list_files(state: ServerState, request: Message, user: str) -> Message:
    """Names and sizes in bytes of the newest version, or of the version named."""
    version = pages.find(state, _name(request), user).version(request.version_number)
    files = [(name, path.stat()) for name, path in files_below(version.folder)]
    return listing(
        state,
        request,
        files,
        lambda message, file: fill(
            message, name=file[0], size=file[1].st_size, creation_date=moment(file[1].st_mtime)
        ),
    )


@answers(types.ApiDownloadModelInstanceVersionRequest, anonymous=True)
def download(state: ServerState, request: Message, user: str) -> Response:
    """A redirect to one file, or to an archive of all."""
    folder = pages.find(state, _name(request), user).version(request.version_number).folder
    return one_or_all(state, folder, files_below(folder), request.path, ".tar.gz")


def entry(state: ServerState, message: type[Message], page: Page) -> Message:
    """What the API says of a variation, in either of its two messages."""
    return _filled(state, message, page, page.versions[0])


def _filled(state: ServerState, message: type[Message], page: Page, version: Version) -> Message:
    """A message of those that have a variation's or a version's fields, filled with them."""
    _, owner, model, framework, _ = page.name.split("/")
    fields = {
        "id": page.id,
        **page.fields,
        "ownerSlug": owner,
        "modelSlug": model,
        "slug": page.slug,
        "variationSlug": page.slug,
        "framework": FRAMEWORKS.get(framework.lower(), ModelFramework.MODEL_FRAMEWORK_OTHER).name,
        "versionNumber": version.number,
        "versionNotes": version.notes or "",
        "url": f"{state.url}/{page.name}/{version.number}",
        "totalUncompressedBytes": page.size,
    }
    return message.from_dict(fields)


def _framework(framework: ModelFramework) -> str:
    names = {value: name for name, value in FRAMEWORKS.items()}
    return "" if framework.value == 0 else names[framework]


def _name(request: Message) -> str:
    framework = _framework(request.framework)
    return f"models/{request.owner_slug}/{request.model_slug}/{framework}/{request.instance_slug}"
