"""Links that work without credentials, for a while: what Kaggle's file answers point to."""

from __future__ import annotations

import hashlib
import hmac
import time
from urllib.parse import quote

EXPIRED = (
    "<?xml version='1.0' encoding='UTF-8'?><Error><Code>ExpiredToken</Code>"
    "<Message>Invalid argument.</Message><Details>The provided token has expired.</Details></Error>"
)
DENIED = (
    "<?xml version='1.0' encoding='UTF-8'?><Error><Code>SignatureDoesNotMatch</Code>"
    "<Message>Access denied.</Message></Error>"
)


class Signer:
    """Makes and checks links below `url`; each holds its expiry and a signature over both."""

    def __init__(self, url: str, secret: str) -> None:
        self._url = url
        self._secret = secret.encode()

    def link(self, path: str, seconds: float) -> str:
        """A link to `path` (from the root, not quoted) that works for `seconds`."""
        expires = f"{time.time() + seconds:.3f}"
        signature = self._signature(path, expires)
        return f"{self._url}{quote(path)}?Expires={expires}&Signature={signature}"

    def refusal(self, path: str, expires: str, signature: str) -> tuple[str, int] | None:
        """The XML body and HTTP status that refuse this link, or None where it is good."""
        if not hmac.compare_digest(signature, self._signature(path, expires)):
            return DENIED, 403
        return (EXPIRED, 400) if time.time() > float(expires) else None

    def _signature(self, path: str, expires: str) -> str:
        return hmac.new(self._secret, f"{path}\n{expires}".encode(), hashlib.sha256).hexdigest()
