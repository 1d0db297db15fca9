"""Search over everything that has a title."""

from collections.abc import Iterator

from kagglesdk.search.types import search_api_service as types
from kagglesdk.search.types.search_enums import DocumentType

from local_kaggle.files import pages
from local_kaggle.kernels import kernels
from local_kaggle.state import ServerState
from local_kaggle.wire import Json, Message, Service, listing

answers = Service(types)


@answers
def list_entities(state: ServerState, request: Message) -> Json:
    """Items with all words of the query in title or name, whatever order is requested."""
    filters = request.filters
    words = (filters.query or "").lower().split()
    kinds = {kind for kind in filters.document_types if kind.value}
    own = filters.list_type.name.endswith("YOUR_WORK")
    found = []
    for kind, owner, slug, entry in _everything(state):
        text = f"{entry['title']} {owner} {slug}".lower()
        if (kinds and kind not in kinds) or not all(word in text for word in words):
            continue
        if own and not state.is_user(owner):
            continue
        document = {"documentType": kind.name, "slug": slug, **entry}
        if owner:
            document["ownerUser"] = {"userName": owner, "displayName": owner}
        found.append(document)
    return listing(state, request, "documents", found) | {"totalDocuments": len(found)}


def _everything(state: ServerState) -> Iterator[tuple[DocumentType, str, str, Json]]:
    """The kind, owner, slug and title of all that the user may see."""
    for name in state.contents.references("competitions"):
        title = state.contents.page("competitions", name).get("title", name)
        yield DocumentType.COMPETITION, "", name, {"title": title}
    for above, kind in (("datasets", DocumentType.DATASET), ("models", DocumentType.MODEL)):
        for page in pages.below(state, above):
            entry = {"id": page.id, "title": page.fields.get("title", page.slug)}
            yield kind, page.owner, page.slug, entry
    for kernel in kernels.visible(state):
        entry = {"id": kernel["id"], "title": kernel["title"]}
        yield DocumentType.KERNEL, kernel["owner"], kernel["slug"], entry
