"""Topics: each is a file of the catalogue in a folder `….topics` beside what it is about."""

from fnmatch import fnmatchcase

from kagglesdk.competitions.types import competition_api_service
from kagglesdk.discussions.types import discussions_api_service as types
from starlette.exceptions import HTTPException

from local_kaggle.catalogue import read_page
from local_kaggle.state import ServerState
from local_kaggle.wire import Filters, Json, Message, Service, filtered, listing

answers, competition_answers = Service(types), Service(competition_api_service)

ENDING = ".topics"


@answers
def list_forums(state: ServerState, request: Message) -> Json:
    """The forums that have topics."""
    folders = sorted((state.catalogue / "forums").glob(f"*{ENDING}"))
    names = [folder.name.removesuffix(ENDING) for folder in folders]
    return listing(state, request, "forums", [{"name": n, "url": f"/{n}"} for n in names])


@answers.to("ListTopics", "ListBenchmarkTopics", "ListDatasetTopics", "ListModelTopics")
@competition_answers.to("ListCompetitionTopics")
def list_topics(state: ServerState, request: Message) -> Json:
    """The topics of a forum, of all forums, or about a competition, a dataset, a model …"""
    names = [f.field_name for f in request._fields if f.field_name.endswith(("_slug", "_name"))]
    kind = names[-1].partition("_")[0]  # "forum", "dataset" …
    place = "/".join([f"{kind}s", *(getattr(request, name) or "*" for name in names)])
    found = [topic for topic in _topics(state) if fnmatchcase(topic["place"], place)]
    filters: Filters = {
        "forumSlug": lambda *_: True,  # it is in `place`
        "category=forums": lambda *_: True,
    }
    topics = filtered(request, found, filters)
    return listing(state, request, "topics", topics) | {"totalCount": len(topics)}


@answers
def get_topic(state: ServerState, request: Message) -> Json:
    """One topic."""
    return {"topic": _topic(state, request.id)}


@answers.to("ListComments")
@competition_answers.to("ListTopicMessages")
def list_comments(state: ServerState, request: Message) -> Json:
    """The comments on a topic, which a competition's topics call messages."""
    is_messages = isinstance(request, competition_api_service.ApiListTopicMessagesRequest)
    comments = _topic(state, request.topic_id).get("comments", [])
    return listing(state, request, "messages" if is_messages else "comments", comments)


def _topic(state: ServerState, number: int) -> Json:
    for topic in _topics(state):
        if topic["id"] == number:
            return topic
    raise HTTPException(404, "Topic not found")


def _topics(state: ServerState) -> list[Json]:
    base = state.catalogue
    files = sorted([*base.glob(f"*/*{ENDING}/*.toml"), *base.glob(f"*/*/*{ENDING}/*.toml")])
    topics = []
    for file in files:
        place = file.parent.relative_to(base).as_posix().removesuffix(ENDING)
        usual = {"id": int(file.stem), "title": file.stem, "forumName": place.rpartition("/")[2]}
        topics.append({**usual, **read_page(file), "place": place})
    return topics
