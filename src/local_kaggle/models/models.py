"""The list of models."""

from __future__ import annotations

from kagglesdk.models.types import model_api_service as types

from local_kaggle.api.wire import Message, answers, fill, page
from local_kaggle.state import ServerState


@answers(types.ApiListModelsRequest)
def list_models(state: ServerState, request: Message, _user: str) -> Message:
    """The models of the catalogue."""
    names = [
        name
        for name in state.catalogue.references("models", request.search)
        if not request.owner or name.startswith(f"{request.owner}/")
    ]
    shown, following = page(state, request, names)
    entries = [
        fill(types.ApiModel(), ref=name, slug=slug, title=slug, author=owner)
        for name in shown
        for owner, _, slug in [name.partition("/")]
    ]
    answer = fill(types.ApiListModelsResponse(), models=entries, next_page_token=following)
    return fill(answer, total_results=len(names))
