"""Who asks: Basic and Bearer credentials, and the question whether a token is good."""

from __future__ import annotations

import base64
import hmac
from contextlib import suppress

from kagglesdk.security.types import oauth_service as types
from starlette.exceptions import HTTPException
from starlette.requests import Request

from local_kaggle.api.wire import METHODS, Json, Message, Method, answers, key
from local_kaggle.state import ServerState


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
