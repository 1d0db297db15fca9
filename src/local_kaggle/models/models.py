"""The list of models."""

from __future__ import annotations

from kagglesdk.models.types import model_api_service as types

from local_kaggle.api.wire import Message, answers, fill, listing
from local_kaggle.state import ServerState


@answers(types.ApiListModelsRequest)
def list_models(state: ServerState, request: Message, _user: str) -> Message:
    """The models of the catalogue."""
    names = [
        name
        for name in state.catalogue.references("models", request.search)
        if not request.owner or name.startswith(f"{request.owner}/")
    ]

    def entry(message: Message, name: str) -> Message:
        owner, _, slug = name.partition("/")
        return fill(message, ref=name, slug=slug, title=slug, author=owner)

    return fill(listing(state, request, names, entry), total_results=len(names))
