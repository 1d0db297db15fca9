"""The pages of models: lists, and what their owners write."""

from __future__ import annotations

import re

from kagglesdk.models.types import model_api_service as types
from starlette.exceptions import HTTPException

from local_kaggle.api.wire import Message, answers, fill, listing, masked
from local_kaggle.files import pages
from local_kaggle.files.pages import Page
from local_kaggle.models import instances
from local_kaggle.state import ServerState

PAGE = ("title", "subtitle", "isPrivate", "description", "publishTime", "provenanceSources")


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
    answer = listing(state, request, models, lambda _, model: _entry(state, model, user))
    return fill(answer, total_results=len(models))


@answers(types.ApiGetModelRequest, anonymous=True)
def get(state: ServerState, request: Message, user: str) -> Message:
    """A model's page, with its variations."""
    return _entry(state, pages.find(state, _name(request), user), user)


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
    return fill(answer, id=page.id, ref=page.ref, url=_url(state, page))


@answers(types.ApiUpdateModelRequest)
def update(state: ServerState, request: Message, user: str) -> Message:
    """Change what the request's mask names."""
    with pages.changing:
        page = pages.own(state, _name(request), user)
        pages.update(state, page, masked(request, PAGE))
    return fill(types.ApiUpdateModelResponse(), id=page.id, ref=page.ref, url=_url(state, page))


@answers(types.ApiDeleteModelRequest)
def delete(state: ServerState, request: Message, user: str) -> Message:
    """Delete a model with all its variations."""
    with pages.changing:
        pages.remove(state, pages.own(state, _name(request), user))
    return types.ApiDeleteModelResponse()


def _name(request: Message) -> str:
    return f"models/{request.owner_slug}/{request.model_slug}"


def _url(state: ServerState, page: Page) -> str:
    return f"{state.url}/{page.name}"


def _entry(state: ServerState, page: Page, user: str) -> Message:
    variations = pages.below(state, page.name, user)
    return fill(
        types.ApiModel.from_dict({"id": page.id, "title": page.slug, **page.fields}),
        ref=page.ref,
        author=page.owner,
        slug=page.slug,
        url=_url(state, page),
        instances=[instances.entry(state, types.ApiModelInstance, page) for page in variations],
    )
