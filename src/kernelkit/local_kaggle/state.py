"""Everything that one local Kaggle consists of, built once and handed to its parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kernelkit.local_kaggle.catalogue import Catalogue
from kernelkit.local_kaggle.execution.sessions import Sessions
from kernelkit.local_kaggle.faults.schedule import FaultSchedule
from kernelkit.local_kaggle.limits import ServerLimits
from kernelkit.local_kaggle.server import DEFAULT_USER
from kernelkit.local_kaggle.signed import Signer
from kernelkit.local_kaggle.store import Store

if TYPE_CHECKING:
    from kernelkit.local_kaggle.server import LocalKaggle


class ServerState:
    """Store, sessions, catalogue, signer and accounts of one server; `close()` ends them."""

    def __init__(
        self, face: LocalKaggle, accounts: Mapping[str, str] | None, tokens: Mapping[str, str]
    ) -> None:
        self._face = face
        self.root = face.root
        self.url = face.url
        self.limits: ServerLimits = face.limits
        self.store = Store(face.root)
        self.catalogue = Catalogue(face.catalogue)
        self.catalogue.folder.mkdir(parents=True, exist_ok=True)
        self.accounts = dict(accounts or {DEFAULT_USER: self.store.secret("key")})
        self.tokens = dict(tokens)
        self.signer = Signer(face.url, self.store.secret("signature"))
        self.closing = False
        self.sessions = Sessions(self)

    @property
    def faults(self) -> FaultSchedule:
        """The schedule in force; it may be replaced while serving."""
        return self._face.faults

    def close(self) -> None:
        """Kill what runs. The store stays open for answers under way."""
        self.closing = True
        self.sessions.close()
