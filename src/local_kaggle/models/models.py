"""Models and their variations: their pages and lists, versions, files and downloads."""

from __future__ import annotations

import re

from kagglesdk.models.types import model_api_service as types
from kagglesdk.models.types.model_enums import ModelFramework
from starlette.exceptions import HTTPException
from starlette.responses import Response

from local_kaggle.api.wire import Message, answers, file_entry, fill, listing, masked
from local_kaggle.catalogue import files_below
from local_kaggle.files import pages
from local_kaggle.files.archives import one_or_all
from local_kaggle.files.pages import Page, Version
from local_kaggle.state import ServerState

PAGE = (
    *("title", "subtitle", "isPrivate", "description", "publishTime", "provenanceSources"),
    *("overview", "usage", "fineTunable", "trainingData", "licenseName", "modelInstanceType"),
    "externalBaseModelUrl",
)
"""What the page of a model or of a variation takes."""

FRAMEWORKS = {
    framework.name.removeprefix("MODEL_FRAMEWORK_").replace("_", "").lower(): framework
    for framework in ModelFramework
}
"""By their names in references, such as `tensorflow2`."""


def name_of(request: Message) -> str:
    """The name of the page of the model or the variation that a request names."""
    name = f"models/{request.owner_slug}/{request.model_slug}"
    if not hasattr(request, "instance_slug"):
        return name
    return f"{name}/{framework_of(request.framework)}/{request.instance_slug}"


def framework_of(framework: ModelFramework) -> str:
    """A framework's name in references; "" for none."""
    names = {value: name for name, value in FRAMEWORKS.items()}
    return "" if framework.value == 0 else names[framework]


@answers(types.ApiListModelsRequest, anonymous=True)
def list_models(state: ServerState, request: Message, user: str) -> Message:
    """The models of the catalogue and those of users that `user` may see, filtered as asked for."""
    owner, search = (request.owner or "").lower(), (request.search or "").lower()
    models = [
        model
        for model in pages.below(state, "models", user)
        if owner in ("", model.owner.lower())
        and search in f"{model.ref} {model.fields.get('title', '')}".lower()
    ]
    answer = listing(state, request, models, lambda _, model: _model(state, model, user))
    return fill(answer, total_results=len(models))


@answers(types.ApiListModelInstancesRequest, anonymous=True)
def list_variations(state: ServerState, request: Message, user: str) -> Message:
    """The variations of a model."""
    model = pages.find(state, name_of(request), user)
    variations = pages.below(state, model.name, user)
    return listing(state, request, variations, lambda m, page: described(state, type(m), page))


@answers(types.ApiGetModelRequest, anonymous=True)
def get(state: ServerState, request: Message, user: str) -> Message:
    """A model's page, with its variations."""
    return _model(state, pages.find(state, name_of(request), user), user)


@answers(types.ApiGetModelInstanceRequest, anonymous=True)
def get_variation(state: ServerState, request: Message, user: str) -> Message:
    """A variation's page."""
    return described(state, types.ApiModelInstance, pages.find(state, name_of(request), user))


@answers(types.ApiCreateModelRequest)
def create(state: ServerState, request: Message, user: str) -> Message:
    """Create a model without variations; a name that is taken is refused in `error`."""
    slug, answer = (request.slug or "").lower(), types.ApiCreateModelResponse()
    name = f"models/{(request.owner_slug or user).lower()}/{slug}"
    if name.split("/")[1] != user.lower():
        raise HTTPException(403, "Permission 'models.create' was denied")
    with pages.changing:
        if not re.fullmatch(r"[a-z0-9][a-z0-9_-]{1,49}", slug):
            return fill(answer, error="The slug must be 2 to 50 letters, digits and hyphens.")
        if pages.taken(state, name):
            error = f"The slug '{slug}' is already used by another model."
            return fill(answer, error=error, error_code=409)
        page = pages.create(state, name, masked(request, PAGE))
    return fill(answer, id=page.id, ref=page.ref, url=f"{state.url}/{name}")


@answers(types.ApiUpdateModelRequest)
@answers(types.ApiUpdateModelInstanceRequest)
def update(state: ServerState, request: Message, user: str) -> Message:
    """Change what the request's mask names."""
    with pages.changing:
        page = pages.own(state, name_of(request), user)
        pages.update(state, page, masked(request, PAGE))
    url = f"{state.url}/{page.name}"
    return fill(types.ApiUpdateModelResponse(), id=page.id, ref=page.ref, url=url)


@answers(types.ApiDeleteModelRequest)
@answers(types.ApiDeleteModelInstanceRequest)
def delete(state: ServerState, request: Message, user: str) -> Message:
    """Delete a model with all its variations, or a variation with all its versions."""
    with pages.changing:
        pages.remove(state, pages.own(state, name_of(request), user))
    return types.ApiDeleteModelResponse()


def described(
    state: ServerState, message: type[Message], page: Page, version: Version | None = None
) -> Message:
    """A message of those that describe a variation or a version of it, by default the newest."""
    _, owner, model, framework, _ = page.name.split("/")
    version = version or page.versions[0]
    fields = {
        "id": page.id,
        **page.fields,
        "ownerSlug": owner,
        "modelSlug": model,
        "slug": page.slug,
        "variationSlug": page.slug,
        "framework": FRAMEWORKS.get(framework.lower(), ModelFramework.MODEL_FRAMEWORK_OTHER).name,
        "versionNumber": version.number,
        "status": "FAILED" if version.failure else "READY" if version.ready else "BLOBS_RECEIVED",
        "versionNotes": version.notes or "",
        "url": f"{state.url}/{page.name}/{version.number}",
        "totalUncompressedBytes": page.size,
    }
    return message.from_dict(fields)


def _model(state: ServerState, page: Page, user: str) -> Message:
    variations = pages.below(state, page.name, user)
    return fill(
        types.ApiModel.from_dict({"id": page.id, "title": page.slug, **page.fields}),
        ref=page.ref,
        author=page.owner,
        slug=page.slug,
        url=f"{state.url}/{page.name}",
        instances=[described(state, types.ApiModelInstance, each) for each in variations],
    )


@answers(types.ApiCreateModelInstanceRequest)
def create_variation(state: ServerState, request: Message, user: str) -> Message:
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
def delete_version(state: ServerState, request: Message, user: str) -> Message:
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
