"""The manifest in which a session lists its files: what it says, and the copy in a run's folder.

What `session.manifest` puts into the notebook writes it.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from kernelkit import files, typed
from kernelkit.runs import kit_folder

# What can be wrong with a text that should be a manifest, besides its syntax.
_DAMAGE = (ValueError, KeyError, TypeError, AttributeError, OverflowError)


@dataclass(frozen=True)
class Listed:
    """A file as a manifest lists it: bytes, and SHA-256 if there was time for it."""

    size: int
    sha256: str | None


@dataclass(frozen=True)
class Image:
    """A session's image: the version of Python, such as "3.12.13", and the names of its modules;
    empty if they are not known."""

    python: str = ""
    modules: Sequence[str] = ()


@dataclass(frozen=True)
class Manifest:
    """A session's record of its push's number, of each file by its name, and of its image.

    `text`: all of it, as the session wrote it.
    """

    push: str
    files: Mapping[str, Listed]
    image: Image = field(default_factory=Image)
    text: str = ""


def parse(text: str) -> Manifest:
    """The manifest in a text; raises `ValueError` for anything else."""
    try:
        written = files.parse_json(text)
        # A file may have any name, also one that is no Unicode.
        listed = dict(map(_listed, written["files"]))
        return Manifest(str(written["push"]), listed, typed.read_what_fits(Image, written), text)
    except _DAMAGE:
        raise ValueError("this is not a manifest") from None


def _listed(entry: Mapping[str, Any]) -> tuple[str, Listed]:
    sha256 = entry["sha256"]
    return str(entry["name"]), Listed(int(entry["size"]), str(sha256) if sha256 else None)


def read(folder: Path) -> Manifest | None:
    """The manifest that is kept in a folder; None if there is none to read."""
    try:
        text = kit_folder.path(folder, kit_folder.MANIFEST).read_text("utf-8")
        return parse(text)
    except (OSError, ValueError):
        return None


def keep(folder: Path, text: str, clear: Callable[[str], str] = str) -> None:
    """Keep a session's manifest in the folder of its files.

    `clear` removes the secrets from a text: the session may have seen the account's key.
    """
    plain = json.dumps(json.loads(text))  # without escapes, behind which a secret could hide
    files.write_text(kit_folder.path(folder, kit_folder.MANIFEST), clear(plain) + "\n")


def keep_part(pushed: Path, below: str, folder: Path) -> None:
    """Keep in `folder` what proves the files that it took over from `below` in a push's folder.

    Without a manifest there, or one that names them, nothing does, which `proved.doubt` then says.
    """
    manifest = read(pushed) or Manifest("", {})
    start = f"{below}/"
    part = [
        {"name": name.removeprefix(start), **asdict(listed)}
        for name, listed in manifest.files.items()
        if name.startswith(start)
    ]
    keep(folder, json.dumps({"push": manifest.push, "files": part}))
