"""The parts of one local Kaggle, built once and handed to its services, and its signed links."""

from __future__ import annotations

import hashlib
import hmac
import time
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

from local_kaggle.catalogue import Catalogue
from local_kaggle.execution.sessions import Sessions
from local_kaggle.faults.schedule import FaultSchedule
from local_kaggle.limits import ServerLimits
from local_kaggle.rerun.reruns import Reruns
from local_kaggle.store import Store

DEFAULT_USER = "tester"
EXPIRED = (
    "<?xml version='1.0' encoding='UTF-8'?><Error><Code>ExpiredToken</Code>"
    "<Message>Invalid argument.</Message><Details>The provided token has expired.</Details></Error>"
)
DENIED = (
    "<?xml version='1.0' encoding='UTF-8'?><Error><Code>SignatureDoesNotMatch</Code>"
    "<Message>Access denied.</Message></Error>"
)


class Settings(Protocol):
    """What a server is made with."""

    root: Path
    catalogue: Path
    limits: ServerLimits
    faults: FaultSchedule
    accounts: dict[str, str]
    tokens: dict[str, str]

    @property
    def url(self) -> str: ...


class ServerState:
    """Store, sessions, catalogue, signer and accounts of one server."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings  # with the schedule of faults, which may be replaced
        self.root, self.url, self.limits = settings.root, settings.url, settings.limits
        self.store = Store(self.root)
        self.catalogue = Catalogue(settings.catalogue)
        self.catalogue.folder.mkdir(parents=True, exist_ok=True)
        self.accounts = {
            user: key or self.store.secret("key" if user == DEFAULT_USER else f"key of {user}")
            for user, key in (settings.accounts or {DEFAULT_USER: ""}).items()
        }
        self.tokens = settings.tokens
        self.signer = Signer(self.url, self.store.secret("signature"))
        self.sessions = Sessions(self.root, self.store, self.limits)
        self.reruns = Reruns(self.root, self.sessions.image)
        # The folders that links lead into, by the word that stands for each.
        self.areas = {"root": self.root, "catalogue": self.catalogue.folder}

    @property
    def closing(self) -> bool:
        """Whether the server is being stopped."""
        return self.sessions.closing

    def link(self, file: Path) -> str:
        """A signed link to a file below the root or in the catalogue."""
        area = "root" if file.is_relative_to(self.root) else "catalogue"
        path = f"/storage/{area}/{file.relative_to(self.areas[area]).as_posix()}"
        return self.signer.link(path, self.limits.link_seconds)


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
