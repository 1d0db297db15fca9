"""The parts of one local Kaggle, built once and handed to its services, and its signed links."""

from __future__ import annotations

import copy
import hashlib
import hmac
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from local_kaggle.catalogue import Catalogue
from local_kaggle.execution.reruns import Reruns
from local_kaggle.execution.sessions import Sessions
from local_kaggle.faults.schedule import FaultSchedule
from local_kaggle.limits import ServerLimits
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


@dataclass
class Settings:
    """What a server is made with; its faults may be replaced while it serves."""

    root: Path
    port: int
    catalogue: Path
    faults: FaultSchedule
    limits: ServerLimits
    accounts: dict[str, str]
    tokens: dict[str, str]

    @property
    def url(self) -> str:
        """`http://127.0.0.1:PORT`; right once serving."""
        return f"http://127.0.0.1:{self.port}"


class ServerState:
    """Store, sessions, catalogue, accounts and signed links of one server, for one `user`.

    The user is empty where nobody is signed in.
    """

    user = ""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.root, self.url, self.limits = settings.root, settings.url, settings.limits
        self.store = Store(self.root)
        self.catalogue = Catalogue(settings.catalogue)
        self.catalogue.folder.mkdir(parents=True, exist_ok=True)
        self.accounts = {
            user: key or self.store.secret("key" if user == DEFAULT_USER else f"key of {user}")
            for user, key in (settings.accounts or {DEFAULT_USER: ""}).items()
        }
        self.tokens = settings.tokens
        self._secret = self.store.secret("signature").encode()
        self.sessions = Sessions(self.root, self.store, self.limits)
        self.reruns = Reruns(self.root, self.sessions.image)
        # The folders that links lead into, by the word that stands for each.
        self.areas = {"root": self.root, "catalogue": self.catalogue.folder}

    @property
    def closing(self) -> bool:
        """Whether the server is being stopped."""
        return self.sessions.closing

    def seen_by(self, user: str) -> ServerState:
        """The same server, for a request of this user."""
        view = copy.copy(self)
        view.user = user
        return view

    def is_user(self, owner: str) -> bool:
        """Whether the user is the one who owns something."""
        return owner.lower() == self.user.lower()

    def link(self, file: Path) -> str:
        """A signed link to a file below the root or in the catalogue."""
        area = "root" if file.is_relative_to(self.root) else "catalogue"
        path = f"/storage/{area}/{file.relative_to(self.areas[area]).as_posix()}"
        return self.sign(path, self.limits.link_seconds)

    def sign(self, path: str, seconds: float) -> str:
        """A link to `path` (from the root, not quoted) that works for `seconds`.

        It holds its expiry and a signature over both.
        """
        expires = f"{time.time() + seconds:.3f}"
        signature = self._signature(path, expires)
        return f"{self.url}{quote(path)}?Expires={expires}&Signature={signature}"

    def refusal(self, path: str, expires: str, signature: str) -> tuple[str, int] | None:
        """The XML body and HTTP status that refuse this link, or None where it is good."""
        if not hmac.compare_digest(signature, self._signature(path, expires)):
            return DENIED, 403
        return (EXPIRED, 400) if time.time() > float(expires) else None

    def _signature(self, path: str, expires: str) -> str:
        return hmac.new(self._secret, f"{path}\n{expires}".encode(), hashlib.sha256).hexdigest()
