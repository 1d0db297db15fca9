"""Models and their variations: their pages and lists, versions, files and downloads."""

from kagglesdk.models.types import model_api_service as types
from kagglesdk.models.types.model_enums import ModelFramework
from starlette.responses import Response

from local_kaggle.files import changes, pages
from local_kaggle.files.pages import FRAMEWORKS, Page, name_of
from local_kaggle.files.storage import Files, one_or_all
from local_kaggle.state import ServerState
from local_kaggle.wire import Json, Message, Service, file_listing, filtered, holds, listing, masked

answers = Service(types)
public = Service(types, anonymous=True)

FIELDS = (
    "title",
    "subtitle",
    "isPrivate",
    "description",
    "publishTime",
    "provenanceSources",
    "overview",
    "usage",
    "fineTunable",
    "trainingData",
    "licenseName",
    "modelInstanceType",
    "externalBaseModelUrl",
)
"""What the page of a model or of a variation takes."""


@public
def list_models(state: ServerState, request: Message) -> Json:
    """The models that the user may see, filtered as asked for."""
    every = [_model(state, model) for model in pages.below(state, "models")]
    models = filtered(request, every, {"owner": holds("author")})
    return listing(state, request, "models", models) | {"totalResults": len(models)}


@public
def list_model_instances(state: ServerState, request: Message) -> Json:
    """The variations of a model."""
    model = pages.named(state, request)
    return listing(state, request, "instances", _variations(state, model))


@public
def get_model(state: ServerState, request: Message) -> Json:
    """A model's page, with its variations."""
    return _model(state, pages.named(state, request))


@public
def get_model_instance(state: ServerState, request: Message) -> Json:
    """A variation's page."""
    return _described(state, pages.named(state, request))


@answers
def create_model(state: ServerState, request: Message) -> Json:
    """Create a model without variations; a name that is taken is refused in `error`."""
    owner = request.owner_slug or state.user
    name = f"models/{owner}/{request.slug}"
    return changes.create(state, name, masked(request, FIELDS))


@answers.to("UpdateModel", "UpdateModelInstance")
def update(state: ServerState, request: Message) -> Json:
    """Change what the request's mask names."""
    return changes.update(state, request, masked(request, FIELDS))


@answers
def create_model_instance(state: ServerState, request: Message) -> Json:
    """Add a variation with its first version to a model."""
    body = request.body
    model = changes.own(state, name_of(request))
    name = f"{model.name}/{FRAMEWORKS.get(body.framework, '')}/{body.instance_slug}"
    return changes.create(state, name, masked(body, FIELDS), body)


@answers
def delete_model_instance_version(state: ServerState, request: Message) -> Json:
    """Delete one version; the only version cannot be deleted without its variation."""
    with changes.changing:
        page = changes.own(state, name_of(request))
        version = page.version(request.version_number)
        if page.versions == [version]:
            return {"error": "This is the only version: delete the variation."}
        changes.remove_versions(state, page, [version])
    return {}


@public
def list_model_instance_version_files(state: ServerState, request: Message) -> Json:
    """Names and sizes in bytes of the newest version, or of the version named."""
    return file_listing(state, request, "files", _files(state, request))


@public
def download_model_instance_version(state: ServerState, request: Message) -> Response:
    """A redirect to one file, or to an archive of all."""
    return one_or_all(state, _files(state, request), request.path, ".tar.gz")


def _files(state: ServerState, request: Message) -> Files:
    return pages.version_of(state, name_of(request), request.version_number).files


def _variations(state: ServerState, model: Page) -> list[Json]:
    return [_described(state, page) for page in pages.below(state, model.name)]


def _described(state: ServerState, page: Page) -> Json:
    """A variation with its newest version, in the fields of all messages that describe them."""
    version = page.versions[0]
    _, owner, model, name, _ = page.name.split("/")
    frameworks = (each.name for each in FRAMEWORKS if FRAMEWORKS[each] == name.lower())
    return {
        "id": page.id,
        **page.fields,
        "ownerSlug": owner,
        "modelSlug": model,
        "slug": page.slug,
        "variationSlug": page.slug,
        "framework": next(frameworks, ModelFramework.MODEL_FRAMEWORK_OTHER.name),
        "versionNumber": version.number,
        "status": version.status,
        "url": f"{state.url}/{page.name}/{version.number}",
        "totalUncompressedBytes": version.size,
    }


def _model(state: ServerState, model: Page) -> Json:
    return {
        "id": model.id,
        "title": model.slug,
        **model.fields,
        "ref": model.ref,
        "author": model.owner,
        "slug": model.slug,
        "url": f"{state.url}/{model.name}",
        "instances": _variations(state, model),
    }
