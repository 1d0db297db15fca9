"""The SDK's messages and their JSON, the way Kaggle's servers write it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from kagglesdk.kaggle_object import KaggleObject

T = TypeVar("T")
Message = Any  # a request or response class of kagglesdk.*.types, which ships no types


class ApiError(Exception):
    """An answer with an HTTP status of 400 or more, told as `{"code", "message"}`."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


@dataclass(frozen=True)
class Redirect:
    """An answer that sends the client to a signed link with 302."""

    url: str


@dataclass(frozen=True)
class Method:
    """One method of a service: its request class and what answers (request, user)."""

    request: type[Message]
    answer: Callable[[Message, str], Message | Redirect]
    anonymous: bool = False


def decode(request: type[Message], body: bytes) -> Message:
    """A request message from a JSON body. Raises ApiError 400 for anything else."""
    try:
        values = json.loads(body or b"{}")
        for field in request._fields:
            given = values.get(field.json_name)
            if field.field_type in (str, int, bool) and isinstance(given, dict):
                raise TypeError(f"{field.json_name} must be a {field.field_type.__name__}")
        return request.from_dict(values)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ApiError(400, f"Malformed request: {type(error).__name__}: {error}") from error


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


def moment(seconds: float) -> datetime:
    """A time in seconds since the epoch as the naive UTC that the SDK's messages take."""
    return datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)


def page(items: list[T], token: str | None, size: int) -> tuple[list[T], str | None]:
    """One page of `items` and the token of the next; a token is an offset, written out.

    Raises ApiError 400 for a token that this server did not make.
    """
    if token and not token.isdigit():
        raise ApiError(400, f"Invalid page token: {token}")
    start = int(token or 0)
    end = start + max(size, 1)
    return items[start:end], str(end) if end < len(items) else None
