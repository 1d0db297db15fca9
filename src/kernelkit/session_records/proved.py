"""Whether the files of a run folder are proved to be what their session wrote.

The session of a push lists its files with their SHA-256 in a manifest, and the kit keeps a copy of
that in the folder. A run on this machine needs no proof. Whatever shows a figure of a run asks this
module.
"""

from pathlib import Path

from kernelkit import files
from kernelkit.runs import kit_folder
from kernelkit.session_records import session_manifest

NOT_VERIFIED = "not verified"  # beside a figure
NO_MANIFEST = "its session left no manifest of its files"
NOT_NAMED = "the manifest of its session does not name or hash {}"
CHANGED = "{} is not as its session wrote it"


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
    manifest = session_manifest.read(folder)
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


def _has_hash(file: Path, sha256: str) -> bool:
    try:
        return files.sha256_of(file) == sha256
    except OSError:
        return False
