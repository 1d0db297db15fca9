"""The parts of one local Kaggle, built once and handed to its services."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from local_kaggle.catalogue import Catalogue
from local_kaggle.execution.sessions import Sessions
from local_kaggle.faults.schedule import FaultSchedule
from local_kaggle.limits import ServerLimits
from local_kaggle.signed import Signer
from local_kaggle.store import Store

DEFAULT_USER = "tester"


class ServerState:
    """Store, sessions, catalogue, signer and accounts of one server; `close()` ends them.

    `faults` is the schedule in force, which may be replaced while serving.
    """

    def __init__(
        self,
        root: Path,
        url: str,
        catalogue: Path,
        *,
        limits: ServerLimits,
        faults: FaultSchedule,
        accounts: Mapping[str, str] | None = None,
        tokens: Mapping[str, str] | None = None,
    ) -> None:
        self.root, self.url, self.limits, self.faults = root, url, limits, faults
        self.store = Store(root)
        self.catalogue = Catalogue(catalogue)
        self.catalogue.folder.mkdir(parents=True, exist_ok=True)
        self.accounts = dict(accounts or {DEFAULT_USER: self.store.secret("key")})
        self.tokens = dict(tokens or {})
        self.signer = Signer(url, self.store.secret("signature"))
        self.sessions = Sessions(root, self.store, limits)

    @property
    def closing(self) -> bool:
        """Whether the server is being stopped."""
        return self.sessions.closing

    def close(self) -> None:
        """Kill what runs. The store stays open for answers under way."""
        self.sessions.close()
