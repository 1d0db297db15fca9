"""The parts of one local Kaggle, built once and handed to its services."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from local_kaggle.catalogue import Catalogue
from local_kaggle.execution.sessions import Sessions
from local_kaggle.faults.schedule import FaultSchedule
from local_kaggle.limits import ServerLimits
from local_kaggle.rerun.reruns import Reruns
from local_kaggle.signed import Signer
from local_kaggle.store import Store

DEFAULT_USER = "tester"


class ServerState:
    """Store, sessions, catalogue, signer and accounts of one server.

    `faults` is the schedule in force, which may be replaced while serving.
    """

    def __init__(
        self,
        root: Path,
        url: str,
        catalogue: Path,
        limits: ServerLimits,
        faults: FaultSchedule,
        accounts: Mapping[str, str],
        tokens: Mapping[str, str],
    ) -> None:
        self.root, self.url, self.limits, self.faults = root, url, limits, faults
        self.store = Store(root)
        self.catalogue = Catalogue(catalogue)
        self.catalogue.folder.mkdir(parents=True, exist_ok=True)
        self.accounts = accounts or {DEFAULT_USER: self.store.secret("key")}
        self.tokens = tokens
        self.signer = Signer(url, self.store.secret("signature"))
        self.sessions = Sessions(root, self.store, limits)
        self.reruns = Reruns(root, self.sessions.image)

    @property
    def closing(self) -> bool:
        """Whether the server is being stopped."""
        return self.sessions.closing

    def link(self, file: Path) -> str:
        """A signed link to a file below the root or in the catalogue."""
        area = "root" if file.is_relative_to(self.root) else "catalogue"
        path = f"/storage/{area}/{file.relative_to(self.areas[area]).as_posix()}"
        return self.signer.link(path, self.limits.link_seconds)

    @property
    def areas(self) -> dict[str, Path]:
        """The folders that links lead into, by the word that stands for each."""
        return {"root": self.root, "catalogue": self.catalogue.folder}
