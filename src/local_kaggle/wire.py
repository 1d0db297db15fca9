"""Requests as the SDK's messages, answers in JSON, pages of a list, and who asks."""

from __future__ import annotations

import base64
import hmac
import json
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kagglesdk.security.types import oauth_service as types
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from local_kaggle.faults.responses import shows
from local_kaggle.faults.schedule import FaultKind
from local_kaggle.state import ServerState

Message = Any  # a request class of kagglesdk.*.types, which ships no types
Json = dict[str, Any]  # what an answer holds, by Kaggle's names; None stands for what it leaves out
Answer = Callable[[ServerState, Message], Json | Response]


@dataclass(frozen=True)
class Method:
    """One method of a service: its request class and what answers (state, request)."""

    request: type[Message]
    answer: Answer
    anonymous: bool


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
        return request.from_dict(json.loads(body or b"{}"))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        message = f"Malformed request: {type(error).__name__}: {error}"
        raise HTTPException(400, message) from error


def masked(request: Message, names: Collection[str]) -> Json:
    """Those of a request's fields that a page has, by their names in JSON.

    Of a request with a mask, only what the mask names.
    """
    fields = [field for field in request._fields if field.json_name in names]
    if hasattr(request, "update_mask"):
        paths = request.update_mask.paths if request.update_mask else ()
        fields = [field for field in fields if field.field_name in paths]
    values = {field.json_name: field.get_as_dict_item(request, False) for field in fields}
    return {name: value for name, value in values.items() if value is not None}


def moment(seconds: float) -> str:
    """A time in seconds since the epoch as JSON has it, such as `2026-11-24T06:00:00.000Z`."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S.%f}"[:-3] + "Z"


def listing(state: ServerState, request: Message, name: str, entries: Sequence[Json]) -> Json:
    """The page of a list that a request asks for, as its field `name`, and the next one's token.

    A token is an offset. Raises HTTPException 400 for one that this server did not make.
    """
    size = getattr(request, "page_size", None) or state.limits.page_size
    size = min(size, state.limits.max_page_size) if size > 0 else state.limits.max_page_size
    number = max(getattr(request, "page", None) or 1, 1)  # the client asks for page -1
    token = getattr(request, "page_token", None) or str((number - 1) * size)
    if not token.isdigit():
        raise HTTPException(400, f"Invalid page token: {token}")
    start = int(token)
    following = str(start + size) if start + size < len(entries) else None
    if shows(FaultKind.REPEATED_PAGE):
        start, following = max(start - size, 0), token if entries else None
    return {name: entries[start : start + size], "nextPageToken": following}


def matches(search: str | None, of: str | None, owner: str, text: str) -> bool:
    """Whether a list by the words of a search, and of one owner, has what is called `text`."""
    return (search or "").lower() in text.lower() and (of or owner).lower() == owner.lower()


def file_entries(files: Sequence[tuple[str, Path]]) -> list[Json]:
    """What a list says of files: their names, sizes in bytes, and when they were written."""
    return [
        {
            "name": name,
            "ref": name,
            "size": stat.st_size,
            "totalBytes": stat.st_size,
            "creationDate": moment(stat.st_mtime),
        }
        for name, path in files
        for stat in [path.stat()]
    ]


def user_of(state: ServerState, request: Request, *, anonymous: bool = False) -> str:
    """The user that the Authorization header proves; "" without one, where `anonymous` is allowed.

    Raises HTTPException 401.
    """
    scheme, _, credentials = request.headers.get("authorization", "").partition(" ")
    if anonymous and not scheme:
        return ""
    user = None
    if scheme.lower() == "bearer":
        user = _of_token(state, credentials)
    elif scheme.lower() == "basic":
        with suppress(ValueError):  # neither Base64 nor UTF-8
            name, _, secret = base64.b64decode(credentials).decode().partition(":")
            if _same(state.accounts.get(name) or "", secret):
                user = name
    if not user:
        raise HTTPException(401, "Unauthorized access")
    return user


@answers(types.IntrospectTokenRequest, anonymous=True)
def introspect(state: ServerState, request: Message) -> Json:
    """A token's user, or that the token is inactive."""
    user = _of_token(state, request.token)
    return {"active": True, "username": user} if user else {}


def hello(state: ServerState, _request: Message) -> Json:
    """Who asks; kagglehub checks credentials by it, and the SDK has no messages of it."""
    return {"userName": state.user}


METHODS[key("api.v1.DiagnosticsService/Hello")] = Method(
    types.IntrospectTokenRequest, hello, anonymous=False
)


def _of_token(state: ServerState, token: str) -> str | None:
    return next((user for secret, user in state.tokens.items() if _same(secret, token)), None)


def _same(secret: str, proof: str) -> bool:
    return bool(secret) and hmac.compare_digest(secret.encode(), proof.encode())
