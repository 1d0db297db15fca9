"""The parts of one local Kaggle, built once and handed to its services, and its links."""

from __future__ import annotations

import copy
import hashlib
import hmac
import secrets
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from local_kaggle.catalogue import Catalogue
from local_kaggle.execution.sessions import Sessions
from local_kaggle.faults.schedule import FaultSchedule
from local_kaggle.limits import ServerLimits
from local_kaggle.store import Store

DEFAULT_USER = "tester"


@dataclass(eq=False, repr=False)  # it holds keys
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
    """Store, sessions, catalogue, accounts and links of one server, for one `user`.

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
            user: key or self.store.secret(f"key of {user}")
            for user, key in (settings.accounts or {DEFAULT_USER: ""}).items()
        }
        self.tokens = settings.tokens
        self._secret = secrets.token_bytes()
        self.links: dict[str, tuple[Path, float]] = {}
        """By its token: the file that a link leads to, and when it expires."""
        self.sessions = Sessions(self.root, self.store, self.limits)
        shutil.rmtree(self.root / "archives", ignore_errors=True)  # no link leads there any more

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
        """A link to a file, the same for the same file, that works for a while from now on."""
        token = hmac.new(self._secret, bytes(file), hashlib.sha256).hexdigest()
        self.links[token] = file, time.time() + self.limits.link_seconds
        return f"{self.url}/storage/{token}/{quote(file.name)}"
