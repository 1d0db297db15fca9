"""The SDK's messages and their JSON, the way Kaggle's servers write it; pages of a list."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from kagglesdk.kaggle_object import KaggleObject
from starlette.exceptions import HTTPException
from starlette.responses import Response

from local_kaggle.faults.responses import shows
from local_kaggle.faults.schedule import FaultKind
from local_kaggle.state import ServerState

T = TypeVar("T")
Message = Any  # a request or response class of kagglesdk.*.types, which ships no types
Answer = Callable[[ServerState, Message, str], Message | Response]


@dataclass(frozen=True)
class Method:
    """One method of a service: its request class and what answers (state, request, user)."""

    request: type[Message]
    answer: Answer
    anonymous: bool


# What a list is sorted by, the highest first, by how the order's name ends in the SDK.
ORDERS = {
    "_VOTES": "vote_count",
    "VOTE_COUNT": "vote_count",
    "DOWNLOAD_COUNT": "download_count",
    "NOTEBOOK_COUNT": "kernel_count",
    "_UPDATED": "last_updated",
    "_PUBLISHED": "id",
    "DATE_CREATED": "id",
    "CREATE_TIME": "id",
    "DATE_RUN": "last_run_time",
    "_PRIZE": "reward",
    "_DEADLINE": "deadline",
    "_TEAMS": "team_count",
    "_TOP": "votes",
    "_NEW": "post_date",
}
METHODS: dict[str, Method] = {}
"""By `key`; filled as the services are imported."""


def answers(request: type[Message], *, anonymous: bool = False) -> Callable[[Answer], Answer]:
    """Make a function the answer to the method that takes this request.

    It may raise HTTPException, which is told as `{"code", "message"}`.
    """

    def register(answer: Answer) -> Answer:
        _, package, _, service = request.__module__.split(".")
        name = request.__name__.removeprefix("Api").removesuffix("Request")
        METHODS[key(f"{package}.{service}/{name}")] = Method(request, answer, anonymous)
        return answer

    return register


def key(name: str) -> str:
    """`kernels.KernelsApiService/GetKernel` and `kernels.kernels_api_service/GetKernel` alike."""
    return name.replace("_", "").lower().replace("discussionsapi", "discussionapi")


def decode(request: type[Message], body: bytes) -> Message:
    """A request message from a JSON body. Raises HTTPException 400 for anything else."""
    try:
        values = json.loads(body or b"{}")
        for field in request._fields:
            value = values.get(field.json_name)
            if field.field_type in (str, int, bool) and isinstance(value, dict):
                raise TypeError(f"{field.json_name} must be a {field.field_type.__name__}")
        return request.from_dict(values)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        message = f"Malformed request: {type(error).__name__}: {error}"
        raise HTTPException(400, message) from error


def encode(message: Message) -> dict[str, Any]:
    """A message as JSON values: defaults left out, enums by name, durations like `72000s`.

    The SDK's own writer drops whole days from durations (30 h become 6 h), so they and the
    messages that hold them are written here.
    """
    values: dict[str, Any] = message.to_dict()
    for field in message._fields:
        value = getattr(message, field.private_field_name)
        if isinstance(value, timedelta):
            values[field.json_name] = f"{int(value.total_seconds())}s"
        elif isinstance(value, KaggleObject):
            values[field.json_name] = encode(value)
    return values


def fill(message: Message, /, **fields: Any) -> Message:
    """Set fields of a message by name, leaving out those that are None; returns it."""
    for name, value in fields.items():
        if value is not None:
            setattr(message, name, value)
    return message


def masked(request: Message, names: Collection[str]) -> dict[str, Any]:
    """Those of a request's fields that a page has, by their names in JSON.

    Of a request with a mask, only what the mask names.
    """
    values = request.to_dict(ignore_defaults=False)
    fields = [field for field in request._fields if field.json_name in names]
    if hasattr(request, "update_mask"):
        paths = request.update_mask.paths if request.update_mask else ()
        fields = [field for field in fields if field.field_name in paths]
    given = {field.json_name: values[field.json_name] for field in fields}
    return {name: value for name, value in given.items() if value is not None}


def moment(seconds: float) -> datetime:
    """A time in seconds since the epoch as the naive UTC that the SDK's messages take."""
    return datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)


def listing(
    state: ServerState,
    request: Message,
    items: Sequence[T],
    entry: Callable[[Message, T], Message],
    answer: Message | None = None,
) -> Message:
    """The answer to a request for a list: the page that it asks for, and the token of the next.

    `entry` fills an empty message for an item; `answer` is one whose name is not the request's. A
    token is an offset. Raises HTTPException 400 for
    one that this server did not make.
    """
    size = getattr(request, "page_size", None) or state.limits.page_size
    size = min(size, state.limits.max_page_size) if size > 0 else state.limits.max_page_size
    number = max(getattr(request, "page", None) or 1, 1)  # the client asks for page -1
    token = getattr(request, "page_token", None) or str((number - 1) * size)
    if not token.isdigit():
        raise HTTPException(400, f"Invalid page token: {token}")
    start = int(token)
    following = str(start + size) if start + size < len(items) else None
    if shows(FaultKind.REPEATED_PAGE):
        start, following = max(start - size, 0), token if items else None
    name = type(request).__name__.replace("Request", "Response")
    answer = answer or getattr(sys.modules[type(request).__module__], name)()
    # The versions of a model are in a message of their own.
    inner = answer._fields[0]
    holder = answer if inner.default_value == [] else inner.field_type()
    column = next(field for field in holder._fields if field.default_value == [])
    order = getattr(getattr(request, "sort_by", None), "name", "")
    field = next((field for ending, field in ORDERS.items() if order.endswith(ending)), "")
    if hasattr(column.field_type(), field):
        entries = sorted(
            (entry(column.field_type(), item) for item in items),
            key=lambda entry: (getattr(entry, field) is not None, getattr(entry, field)),
            reverse="EARLIEST" not in order,
        )[start : start + size]
    else:
        entries = [entry(column.field_type(), item) for item in items[start : start + size]]
    fill(holder, **{column.field_name: entries})
    if holder is not answer:
        fill(answer, **{inner.field_name: holder})
    return fill(answer, next_page_token=following if hasattr(answer, "next_page_token") else None)


def file_entry(message: Message, file: tuple[str, Path]) -> Message:
    """The entry of a file in a list: its name, its size in bytes, and when it was written."""
    stat = file[1].stat()
    fields = {
        "name": file[0],
        "ref": file[0],
        "size": stat.st_size,
        "totalBytes": stat.st_size,
        "creationDate": f"{moment(stat.st_mtime):%Y-%m-%d %H:%M:%S}",
    }
    return type(message).from_dict(fields)
