"""Prove that a version, a log or a file belongs to a certain push.

Each push gets a random number when its line in the ledger is written. The number is sent in the
bundle's first cell, printed in the session's log, and written into the manifest of its outputs.
"""

from __future__ import annotations

import enum
import hashlib
import json
import re
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from kernelkit import files
from kernelkit.kaggle_api import transfers
from kernelkit.kaggle_api.client import Kaggle, Outputs
from kernelkit.kaggle_api.connection import StoreSession
from kernelkit.kaggle_api.retries import Failure, FailureKind
from kernelkit.kaggle_api.transfers import Expected
from kernelkit.plans.manifest import MANIFEST
from kernelkit.run_folders import kit_folder
from kernelkit.run_folders.log import Entry, decode

PRINTED = re.compile(r"^push: ([0-9a-f]{16})\s*$", re.MULTILINE)
LOG_HEAD = 1_000_000  # characters of a log within which the first cell prints its number
LARGEST_MANIFEST = 100_000_000  # bytes


class Evidence(enum.Enum):
    """Whether an answer from Kaggle shows the number of the push."""

    OURS = "this push's"
    NONE = "unverified"
    ANOTHER = "another push's"


def of_log(entries: Iterable[Entry], number: str) -> Evidence:
    """Whose log this is, according to the number that the first cell prints."""
    head = ""
    for entry in entries:
        head += entry.text
        if printed := PRINTED.search(head):
            return Evidence.OURS if printed[1] == number else Evidence.ANOTHER
        if len(head) > LOG_HEAD:
            break
    return Evidence.NONE


@dataclass(frozen=True)
class Manifest:
    """A session's record of its push, and of the size and hash of each file."""

    push: str
    files: Mapping[str, Expected]
    python: str = ""  # the session's Python version, empty if an older kit wrote the manifest
    modules: tuple[str, ...] = ()  # the modules that its image can import

    def keep(self, folder: Path) -> None:
        """Store it unchanged among the kit's own files in a run folder."""
        listed = [{"name": n, "size": f.size, "sha256": f.sha256} for n, f in self.files.items()]
        session = {"python": self.python, "modules": self.modules}
        text = json.dumps({"push": self.push, **session, "files": listed})
        files.write_text(kit_folder.path(folder, kit_folder.MANIFEST), text)


@dataclass(frozen=True)
class Proof:
    """What the answer about a finished session proves; `manifest` is this push's or None."""

    log: Evidence
    manifest: Manifest | None
    list: Evidence

    @property
    def another(self) -> bool:
        """Whether any part of the answer is another push's."""
        return Evidence.ANOTHER in (self.log, self.list)


def prove(kaggle: Kaggle, outputs: Outputs, number: str, until: float | None = None) -> Proof:
    """What the outputs of a version prove for the push with this number.

    Sends at most one request. Raises `Failure` if the manifest cannot be fetched.
    """
    log = of_log(decode(outputs.log), number)
    link = outputs.files.get(MANIFEST)
    if link is None:
        return Proof(log, None, Evidence.NONE)
    manifest = kaggle.retries.call(lambda: _received(kaggle, link, until), until)
    if manifest.push != number:
        return Proof(log, None, Evidence.ANOTHER)
    return Proof(log, manifest, Evidence.OURS)


def _received(kaggle: Kaggle, link: str, until: float | None) -> Manifest:
    with StoreSession() as session, tempfile.TemporaryDirectory() as folder:
        part = Path(folder) / MANIFEST
        most = Expected(most=LARGEST_MANIFEST)
        transfers.receive(kaggle, session, link, part, most, until)
        return read(part.read_text(encoding="utf-8", errors="replace"))


def read(text: str) -> Manifest:
    """Parse a manifest; raises `Failure` for anything else."""
    try:
        written = json.loads(text)
        listed = {
            str(file["name"]): Expected(int(file["size"]), file["sha256"] and str(file["sha256"]))
            for file in written["files"]
        }
        modules = tuple(map(str, written.get("modules", ())))
        return Manifest(str(written["push"]), listed, str(written.get("python", "")), modules)
    except (ValueError, KeyError, TypeError, RecursionError):
        raise Failure(FailureKind.MALFORMED, "download", f"{MANIFEST} is not a manifest") from None


def is_verified(folder: Path, name: str) -> bool:
    """Whether a file of a run folder is proved to be an output of the push's session."""
    try:
        text = kit_folder.path(folder, kit_folder.MANIFEST).read_text(encoding="utf-8")
        expected = read(text).files.get(name, Expected())
        with (folder / name).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == expected.sha256
    except (OSError, Failure):
        return False
