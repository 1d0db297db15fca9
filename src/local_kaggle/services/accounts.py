"""Who asks: Basic and Bearer credentials, and the question whether a token is good."""

from __future__ import annotations

import base64
import binascii
import hmac

from kagglesdk.security.types import oauth_service as types

from local_kaggle.services.wire import ApiError, Message, Method, fill
from local_kaggle.state import ServerState

UNAUTHORIZED = "Unauthorized access"


class Accounts:
    """Knows the users of one local Kaggle."""

    def __init__(self, state: ServerState) -> None:
        self._state = state

    def methods(self) -> dict[str, Method]:
        return {
            "security.OAuthService/IntrospectToken": Method(
                types.IntrospectTokenRequest, self.introspect, anonymous=True
            )
        }

    def user(self, authorization: str | None) -> str:
        """The user that an Authorization header proves. Raises ApiError 401."""
        scheme, _, credentials = (authorization or "").partition(" ")
        if scheme.lower() == "bearer":
            user = self._bearer(credentials)
        elif scheme.lower() == "basic":
            user = self._basic(credentials)
        else:
            user = None
        if user is None:
            raise ApiError(401, UNAUTHORIZED)
        return user

    def introspect(self, request: Message, _user: str) -> Message:
        """The answer to IntrospectToken: the token's user, or that the token is inactive."""
        user = self._bearer(request.token)
        return fill(types.IntrospectTokenResponse(), active=user is not None, username=user)

    def _bearer(self, token: str) -> str | None:
        for known, user in self._state.tokens.items():
            if hmac.compare_digest(known.encode(), token.encode()):
                return user
        return None

    def _basic(self, credentials: str) -> str | None:
        try:
            user, _, key = base64.b64decode(credentials).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            return None
        known = self._state.accounts.get(user)
        return user if known and hmac.compare_digest(known.encode(), key.encode()) else None
