"""Who asks: Basic and Bearer credentials, and the question whether a token is good."""

from __future__ import annotations

import base64
import hmac
from contextlib import suppress

from kagglesdk.security.types import oauth_service as types
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from local_kaggle.api.wire import METHODS, Message, Method, answers, fill, key
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
            if name in state.accounts and _same(state.accounts[name], secret):
                user = name
    if user is None:
        raise HTTPException(401, "Unauthorized access")
    return user


@answers(types.IntrospectTokenRequest, anonymous=True)
def introspect(state: ServerState, request: Message, _user: str) -> Message:
    """A token's user, or that the token is inactive."""
    user = _of_token(state, request.token)
    return fill(types.IntrospectTokenResponse(), active=user is not None, username=user)


def hello(_state: ServerState, _request: Message, user: str) -> Response:
    """Who asks; kagglehub checks credentials by it, and the SDK has no messages of it."""
    return JSONResponse({"userName": user})


METHODS[key("api.v1.DiagnosticsService/Hello")] = Method(
    types.IntrospectTokenRequest, hello, anonymous=False
)


def _of_token(state: ServerState, token: str) -> str | None:
    return next((user for kept, user in state.tokens.items() if _same(kept, token)), None)


def _same(secret: str, given: str) -> bool:
    return hmac.compare_digest(secret.encode(), given.encode())
