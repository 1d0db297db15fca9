"""Requests as the SDK's messages, answers in JSON, and pages of a list."""

import json
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from types import ModuleType
from typing import Any

from kagglesdk.kaggle_object import ListSerializer
from starlette.exceptions import HTTPException
from starlette.responses import Response

from local_kaggle.fault_responses import shows
from local_kaggle.faults.schedule import FaultKind
from local_kaggle.state import ServerState

Message = Any  # a request class of kagglesdk.*.types, which ships no types
Json = dict[str, Any]  # what an answer holds, by Kaggle's names; None stands for what it leaves out
Answer = Callable[[ServerState, Message], Json | Response]
Filter = Callable[[Json, str], object]  # whether an entry passes, given a value in lower case
Filters = dict[str, Filter]
"""By a parameter, or `parameter=value`."""


@dataclass(frozen=True)
class Method:
    """One method of a service: its request class and what answers (state, request)."""

    request: type[Message]
    answer: Answer
    anonymous: bool


DIGITS = 18  # of the largest whole number that a request may write as text
# The values of a filter that let every entry pass.
ANY = ("", "all", "unspecified", "everyone", "everything", "general")
ORDERS = {
    "_VOTES": "voteCount",
    "BY_VOTE_COUNT": "voteCount",
    "VOTE_COUNT": "totalVotes",
    "DOWNLOAD_COUNT": "downloadCount",
    "NOTEBOOK_COUNT": "kernelCount",
    "_UPDATED": "lastUpdated",
    "_PUBLISHED": "id",
    "DATE_CREATED": "id",
    "CREATE_TIME": "id",
    "DATE_RUN": "lastRunTime",
    "_PRIZE": "reward",
    "_DEADLINE": "deadline",
    "_TEAMS": "teamCount",
    "_TOP": "votes",
    "_NEW": "postDate",
}
"""{the end of an order's name: the field to sort by, the highest value first}"""
AS_LISTED = re.compile("UNSPECIFIED|GROUPED|HOT|BEST|BY_DATE$")
"""Orders that leave a list as it is, since this server has no votes to sort by."""
METHODS: dict[str, Method] = {}
"""By `key`; filled as the services are imported."""


class Service:
    """Registers functions as the answers to the methods of one service of the SDK.

    `types` is the SDK's module with the service's request classes. The methods of an `anonymous`
    service are also answered without credentials. A function may raise HTTPException, which is sent
    as `{"code", "message"}`.
    """

    def __init__(self, types: ModuleType, *, anonymous: bool = False) -> None:
        self._types = types
        self._anonymous = anonymous

    def __call__(self, answer: Answer) -> Answer:
        """A decorator: `get_dataset` answers the method GetDataset."""
        return self.to(answer.__name__.title().replace("_", ""))(answer)

    def to(self, *methods: str) -> Callable[[Answer], Answer]:
        """The decorator of a function that answers several methods, whatever its name is."""
        _, package, _, service = self._types.__name__.split(".")

        def register(answer: Answer) -> Answer:
            for name in methods:
                plain = f"{name}Request"  # that of newer services
                request = getattr(self._types, f"Api{plain}", None) or getattr(self._types, plain)
                method = Method(request, answer, self._anonymous)
                METHODS[key(f"{package}.{service}/{name}")] = method
            return answer

        return register


def not_rehearsed(what: str) -> HTTPException:
    """The answer to a call that Kaggle has and the local Kaggle lacks.

    Not a 5xx code, so that clients do not retry.
    """
    return HTTPException(400, f"rehearsal: {what} is not rehearsed by the local Kaggle")


def key(name: str) -> str:
    """`kernels.KernelsApiService/GetKernel` and `kernels.kernels_api_service/GetKernel` alike."""
    return name.replace("_", "").lower().replace("discussionsapi", "discussionapi")


def decode(request: type[Message], body: bytes) -> Message:
    """A request message from a JSON body. Raises HTTPException 400 for anything else."""
    try:
        values = json.loads(body or b"{}")
        _check(request, values)
        return request.from_dict(values)
    except Exception as error:  # the SDK's readers raise errors of many kinds
        message = f"Malformed request: {type(error).__name__}: {error}"
        raise HTTPException(400, message) from error


def _check(message: type[Message], values: Any, *, inside: bool = False) -> None:
    """Check the JSON's types against the message's fields, which the SDK does not do.

    A message that is `inside` another may lack messages of its own. Raises TypeError.
    """
    if not isinstance(values, dict):
        raise TypeError(f"{message.__name__} must be an object")
    for field in message._fields:
        name = field.json_name
        value = values.get(field.json_name)
        kind = field.field_type
        is_message = hasattr(kind, "_fields")
        is_required = is_message and not field.optional and field.default_value is None
        if value is None and (inside or not is_required):
            continue
        if isinstance(field.serializer, ListSerializer):
            if not isinstance(value, list):
                raise TypeError(f"{name} must be a list")
        else:
            value = [value]
        plain = kind if kind in (int, bool) else str  # what JSON has for it
        for each in value:
            if is_message:
                _check(kind, each, inside=True)
            elif type(each) is not plain:
                raise TypeError(f"{name} must be {kind.__name__}")
            elif isinstance(each, int):
                each.to_bytes(8, "big", signed=True)  # as SQLite has them
            else:
                each.encode()


def masked(request: Message, names: Collection[str]) -> Json:
    """{JSON name: value} of the request's fields with these names, without unset ones.

    If the request has an update mask, only the fields that it lists.
    """
    fields = [field for field in request._fields if field.json_name in names]
    if hasattr(request, "update_mask"):
        paths = request.update_mask.paths if request.update_mask else ()
        fields = [field for field in fields if field.field_name in paths]
    values = {field.json_name: field.get_as_dict_item(request, False) for field in fields}
    return {name: value for name, value in values.items() if value is not None}


def moment(seconds: float) -> str:
    """A time in seconds since the epoch in JSON's form, such as `2026-11-24T06:00:00.000Z`."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S.%f}"[:-3] + "Z"


def whole_number(text: str) -> int | None:
    """The number that a request's decimal digits mean; None for any other text.

    More than `DIGITS` digits are no offset, size or version, and thousands are none for `int`.
    """
    if not text.isdecimal() or len(text) > DIGITS:
        return None
    return int(text)


def listing(state: ServerState, request: Message, name: str, entries: Sequence[Json]) -> Json:
    """The requested page of `entries`, in the field `name`, with the token of the next page.

    A token is an offset. Raises HTTPException 400 for any other.
    """
    size = getattr(request, "page_size", None) or state.limits.page_size
    size = min(size, state.limits.max_page_size) if size > 0 else state.limits.max_page_size
    number = max(getattr(request, "page", None) or 1, 1)  # the client asks for page -1
    token = getattr(request, "page_token", None) or str((number - 1) * size)
    start = whole_number(token)
    if start is None:
        raise HTTPException(400, f"Invalid page token: {token[:100]}")
    entries = _sorted(request, entries)
    following = str(start + size) if start + size < len(entries) else None
    if entries and shows(FaultKind.REPEATED_PAGE):
        start = max(start - size, 0)
        following = token
    return {name: entries[start : start + size], "nextPageToken": following}


def filtered(request: Message, entries: Iterable[Json], filters: Filters) -> list[Json]:
    """The entries that match a request's filters and the words of its search.

    Raises HTTPException 400 for a filter that this server does not know.
    """
    entries = list(entries)
    for field in request._fields:
        name = field.json_name
        value = getattr(request, field.field_name)
        text = _text(value)
        passes = filters.get(f"{name}={text}") or filters.get(name)
        if name.startswith("search"):
            passes = _mentions
        elif text in ANY:
            continue
        if passes:
            entries = [entry for entry in entries if passes(entry, text)]
        elif (
            (field.optional or isinstance(value, Enum))
            and value != field.default_value
            and not name.startswith(("page", "sortBy"))
        ):
            raise not_rehearsed(f"{name}={text}")
    return entries


def holds(field: str) -> Filter:
    """A filter that passes an entry if a field equals the value or is a path below it.

    If the field is a list, one such item is enough. A space in a field matches an underscore in
    the value.
    """

    def passes(entry: Json, value: str) -> bool:
        items = entry.get(field, ())
        items = [items] if isinstance(items, str) else items
        return any(f"{each}/".lower().replace(" ", "_").startswith(f"{value}/") for each in items)

    return passes


def _mentions(entry: Json, words: str) -> bool:
    """Whether an entry's title or name contains these words; its `ref` may be an address."""
    name = re.sub("^http.*/", "", entry.get("ref", ""))
    return words in f"{entry['title']} {name}".lower()


def _text(value: Any) -> str:
    if isinstance(value, Enum):  # without the prefix that all names of an enumeration share
        value = re.sub(".*_(GROUP|TAB|SEGMENT|CATEGORY|TYPE)_", "", value.name)
    return str(value or "").lower()


def _sorted(request: Message, entries: Sequence[Json]) -> Sequence[Json]:
    """The entries in the requested order, those without a value last.

    Raises HTTPException 400 for an order that this server does not know.
    """
    order = getattr(getattr(request, "sort_by", None), "name", "UNSPECIFIED")
    if AS_LISTED.search(order):
        return entries
    field = next((ORDERS[ending] for ending in ORDERS if order.endswith(ending)), None)
    if field is None:
        raise not_rehearsed(f"sortBy={order.lower()}")
    rising = "EARLIEST" in order

    def rank(entry: Json) -> str:
        value = str(entry.get(field, "~" if rising else "")).replace(",", "")
        return re.sub(r"\d+", lambda digits: digits[0].zfill(20), value)  # $5,000 is above $900

    return sorted(entries, key=rank, reverse=not rising)


def file_listing(
    state: ServerState, request: Message, name: str, files: Sequence[tuple[str, Path]]
) -> Json:
    """The page of a list of files: their names, sizes in bytes, and when they were written."""
    entries = []
    for file, path in files:
        stat = path.stat()
        entry = {
            "name": file,
            "ref": file,
            "size": stat.st_size,
            "totalBytes": stat.st_size,
            "creationDate": moment(stat.st_mtime),
        }
        entries.append(entry)
    return listing(state, request, name, entries)


def tree_listing(state: ServerState, request: Message, files: Sequence[tuple[str, Path]]) -> Json:
    """The page of a folder's direct content, folders before files; `request.path` names it.

    Raises HTTPException 404 for a folder that is not there.
    """
    above = f"{request.path.strip('/')}/" if request.path else ""
    inside = [(name.removeprefix(above), path) for name, path in files if name.startswith(above)]
    if not inside:
        folder = above.rstrip("/") or "/"
        raise HTTPException(404, f"There is no folder {folder}")
    folders: dict[str, list[str]] = {}
    entries: list[Json] = []
    for name, path in inside:
        folder, _, rest = name.partition("/")
        if rest:
            folders.setdefault(folder, []).append(rest)
        else:
            stat = path.stat()
            entry = {"totalBytes": stat.st_size, "creationDate": moment(stat.st_mtime)}
            entries.append({"name": name, "relativeUrl": above + name, **entry})
    for folder, names in reversed(folders.items()):
        below = {name.partition("/")[0] for name in names if "/" in name}
        direct = len([name for name in names if "/" not in name])
        counts = {"totalFiles": direct, "totalDirectories": len(below)}
        place = {"name": folder, "relativeUrl": above + folder}
        entries.insert(0, place | counts | {"totalChildren": direct + len(below)})
    page = listing(state, request, "entries", entries)
    shown = page.pop("entries")
    return page | {
        "directories": [entry for entry in shown if "totalChildren" in entry],
        "files": [entry for entry in shown if "totalChildren" not in entry],
        "totalDirectories": len(folders),
        "totalFiles": len(entries) - len(folders),
        "totalChildren": len(entries),
    }
