"""Prove that a log or a file belongs to a certain push.

Each push gets a random number when its line in the ledger is written. The number is sent in the
bundle's first cell, printed in the session's log, and written into the manifest of its outputs.
"""

import math
import re
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from kernelkit.kaggle.answers import Outputs
from kernelkit.kaggle.client import Kaggle
from kernelkit.kaggle.exchange import transfers
from kernelkit.kaggle.exchange.transfers import Expected
from kernelkit.kaggle.transport.connection import StoreSession
from kernelkit.kaggle.transport.failures import Failure, FailureKind
from kernelkit.session.manifest import MANIFEST
from kernelkit.session_records import session_manifest
from kernelkit.session_records.log import Entry, decode
from kernelkit.session_records.session_manifest import Manifest

PRINTED = re.compile(r"^push: ([0-9a-f]{16})\s*$", re.MULTILINE)
LOG_HEAD = 1_000_000  # characters of a log within which the first cell prints its number
LARGEST_MANIFEST = 100_000_000  # bytes


def printed(entries: Iterable[Entry]) -> str:
    """The number that the first cell prints into a session's log; empty if it is not there."""
    head = ""
    for entry in entries:
        head += entry.text
        if len(head) > LOG_HEAD:
            break
    number = PRINTED.search(head)
    return number[1] if number else ""


@dataclass(frozen=True)
class Proof:
    """What the answer about a finished session proves.

    `manifest` is this push's or None; `another` says what shows another push: "log" or "files".
    """

    manifest: Manifest | None = None
    another: str = ""


def prove(kaggle: Kaggle, outputs: Outputs, number: str, until: float = math.inf) -> Proof:
    """What the outputs of a version prove for the push with this number.

    Nothing is asked of Kaggle without a number, for another push's log, or where no manifest is
    listed; otherwise the manifest is fetched, by `until`. Raises `Failure` if that fails.
    """
    if not number:
        return Proof()
    if printed(decode(outputs.log)) not in ("", number):
        return Proof(another="log")
    if MANIFEST not in outputs.files:
        return Proof()

    def receive() -> Manifest:
        with StoreSession() as session, tempfile.TemporaryDirectory() as folder:
            part = Path(folder) / MANIFEST
            most = Expected(most=LARGEST_MANIFEST)
            url = outputs.files[MANIFEST]
            now = kaggle.retries.clock.now
            transfers.receive(kaggle, session, url, part, most, lambda: now() > until)
            return parsed_manifest(part.read_text("utf-8", "replace"))

    manifest = kaggle.retries.call(receive, until)
    return Proof(manifest) if manifest.push == number else Proof(another="files")


def parsed_manifest(text: str) -> Manifest:
    """The manifest in the text that Kaggle answered; raises `Failure` for anything else."""
    try:
        return session_manifest.parse(text)
    except ValueError:
        why = f"{MANIFEST} is not a manifest"
        raise Failure(FailureKind.MALFORMED, transfers.DOWNLOAD, why) from None
