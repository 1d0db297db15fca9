"""The parts of one local Kaggle, as its services see them, and its links."""

import copy
import hashlib
import hmac
import secrets
import shutil
import sys
import time
from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

from local_kaggle.catalogue import Catalogue
from local_kaggle.errors import LocalKaggleError
from local_kaggle.execution import network
from local_kaggle.execution.sessions import Sessions
from local_kaggle.faults.schedule import FaultSchedule
from local_kaggle.limits import ServerLimits
from local_kaggle.store import Store

DEFAULT_USER = "tester"


class ServerState:
    """One local Kaggle: what it is made with and, once it is open, its store, sessions and links.

    Services get a view of it for the requesting `user`, "" if nobody is signed in.
    """

    user = ""
    store: Store
    sessions: Sessions

    def __init__(
        self,
        root: Path | str,
        *,
        port: int = 0,
        catalogue: Path | str | None = None,
        faults: FaultSchedule | None = None,
        limits: ServerLimits | None = None,
        accounts: Mapping[str, str] | None = None,
        tokens: Mapping[str, str] | None = None,
    ) -> None:
        if sys.platform == "win32":
            raise LocalKaggleError(
                "a rehearsal runs on Linux or macOS: on Windows, start it in WSL", exit_code=3
            )
        self.root = Path(root).absolute()
        self.port = port
        self.catalogue = Path(catalogue or self.root / "catalogue").absolute()
        self.contents = Catalogue(self.catalogue)
        self.faults = faults or FaultSchedule()
        self.limits = limits or ServerLimits()
        self.accounts = dict(accounts or {DEFAULT_USER: ""})
        self.tokens = dict(tokens or {})
        self.links: dict[str, tuple[Path, float]] = {}
        """By its token: the file that a link leads to, and when it expires."""
        self.scorings: dict[int, Future[Any]] = {}
        """By the number of a submission: what works out its score at present."""
        self._secret = secrets.token_bytes()

    def serve_inputs(self, inputs: Mapping[str, Path]) -> None:
        """Also serve inputs that lie outside of the catalogue, as `Catalogue` takes them."""
        self.contents = Catalogue(self.catalogue, inputs)

    def open(self) -> None:
        """Continue from the state that an earlier server left in the root."""
        self.store = Store(self.root)
        self.catalogue.mkdir(parents=True, exist_ok=True)
        for user, key in self.accounts.items():
            self.accounts[user] = key or self.store.secret(f"key of {user}")
        self.sessions = Sessions(self.root, self.store, self.limits)
        self.reached_by = network.of_this_machine()  # before a client's environment is set
        shutil.rmtree(self.root / "archives", ignore_errors=True)  # no link leads there any more

    @property
    def url(self) -> str:
        """`http://127.0.0.1:PORT`; right once serving."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def closing(self) -> bool:
        """Whether the server is being stopped."""
        return self.sessions.closing

    def seen_by(self, user: str) -> Self:
        """The same server, for a request of this user."""
        view = copy.copy(self)
        view.user = user
        return view

    def is_user(self, owner: str) -> bool:
        """Whether the user is the one who owns something."""
        return owner.lower() == self.user.lower()

    def link(self, file: Path, name: str = "") -> str:
        """A link to a file, the same for the same file, that works for a while from now on.

        It ends in `name`, or in that of the file.
        """
        token = hmac.new(self._secret, bytes(file), hashlib.sha256).hexdigest()
        self.links[token] = file, time.time() + self.limits.link_seconds
        shown = quote(name or file.name)
        return f"{self.url}/storage/{token}/{shown}"
