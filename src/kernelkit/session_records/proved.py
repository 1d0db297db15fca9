"""Whether the files of a run folder are proved to be what their session wrote.

The session of a push lists its files with their SHA-256 in a manifest, and the kit keeps a copy of
that in the folder. A run on this machine needs no proof. Whatever shows a figure of a run asks this
module.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from kernelkit import files, typed
from kernelkit.runs import kit_folder

NOT_VERIFIED = "not verified"  # beside a figure
NO_MANIFEST = "its session left no manifest of its files"
NOT_NAMED = "the manifest of its session does not name or hash {}"
CHANGED = "{} is not as its session wrote it"
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

    `text`: all of it, as the session wrote it. `push.bundle.manifest` writes it.
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
        return Manifest(str(written["push"]), listed, typed.fitting(Image, written), text)
    except _DAMAGE:
        raise ValueError("this is not a manifest") from None


def _listed(entry: Mapping[str, Any]) -> tuple[str, Listed]:
    sha256 = entry["sha256"]
    return str(entry["name"]), Listed(int(entry["size"]), str(sha256) if sha256 else None)


def kept(folder: Path) -> Manifest | None:
    """The manifest that is kept in a folder; None if there is none to read."""
    try:
        text = kit_folder.path(folder, kit_folder.MANIFEST).read_text("utf-8")
        return parse(text)
    except (OSError, ValueError):
        return None


def doubt(folder: Path, name: str) -> str:
    """Why a file of a run is not verified, in words; `name`: the one that it had in its session.

    Empty if its session's manifest proves it, if the run was made on this machine and so needs no
    proof, and if there is no such file.
    """
    file = folder.resolve() / name
    pushed = pushed_folder(file.parent)
    if pushed is None or not kit_folder.output(folder, name).is_file():
        return ""
    return _unproved(pushed, file.relative_to(pushed).as_posix())


def marked(text: str) -> str:
    """A figure, or the name of a run, with the mark that it is not verified."""
    return f"{text} ({NOT_VERIFIED})"


def is_proved(folder: Path, name: str) -> bool:
    """Whether the manifest that is kept in a folder proves a file of it."""
    return not _unproved(folder, name)


def _unproved(folder: Path, name: str) -> str:
    """Why the manifest that is kept in a folder does not prove a file of it; "" if it does."""
    manifest = kept(folder)
    if manifest is None:
        return NO_MANIFEST
    file = kit_folder.output(folder, name)
    listed = manifest.files.get(name)
    if listed is None or not listed.sha256:
        return NOT_NAMED.format(file.name)
    return "" if _has_hash(file, listed.sha256) else CHANGED.format(file.name)


def pushed_folder(folder: Path) -> Path | None:
    """The folder of the push whose session wrote a folder's files: itself or one above it.

    A run that was taken over from a session has a manifest of its own. None for the files of this
    machine. Marks and manifests among a push's files are its session's, and prove nothing.
    """
    claimed = [place for place in (folder, *folder.parents) if _has(place, kit_folder.MARKER)]
    if claimed:
        return claimed[-1]
    taken_over = [place for place in (folder, *folder.parents) if _has(place, kit_folder.MANIFEST)]
    return taken_over[0] if taken_over else None


def _has(folder: Path, name: str) -> bool:
    return kit_folder.path(folder, name).is_file()


def keep(folder: Path, text: str, clear: Callable[[str], str] = str) -> None:
    """Keep a session's manifest in the folder of its files.

    `clear` removes the secrets from a text: the session may have seen the account's key.
    """
    plain = json.dumps(json.loads(text))  # without escapes, behind which a secret could hide
    files.write_text(kit_folder.path(folder, kit_folder.MANIFEST), clear(plain) + "\n")


def keep_part(pushed: Path, below: str, folder: Path) -> None:
    """Keep in `folder` what proves the files that it took over from `below` in a push's folder.

    Without a manifest there, or one that names them, nothing does, which `doubt` then says.
    """
    manifest = kept(pushed) or Manifest("", {})
    start = f"{below}/"
    part = [
        {"name": name.removeprefix(start), **asdict(listed)}
        for name, listed in manifest.files.items()
        if name.startswith(start)
    ]
    keep(folder, json.dumps({"push": manifest.push, "files": part}))


def _has_hash(file: Path, sha256: str) -> bool:
    try:
        return files.sha256_of(file) == sha256
    except OSError:
        return False
