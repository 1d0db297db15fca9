"""The names of a session's files, and where each stands here.

A file whose name is a plain relative path stands there. Any other is kept in
`.kernelkit/outputs/` under its escaped name: a name that no file here can have, one that leads out
of the folder or into the kit's own, and one that would take another file's place.
"""

import hashlib
import os
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from kernelkit import files
from kernelkit.runs import kit_folder

LONGEST_NAME, LONGEST_PATH = 255, 3000  # bytes; Linux takes 255 and 4096 in all
LONGEST_ESCAPED = 100  # characters of an escaped name, before the hash that tells it from others
DEEPEST = 200  # folders; Python makes and walks them one inside the other


def normal(name: str) -> str:
    """A name as its path, such as "a/b" for "a//b"; one that is refused stays as it is."""
    pure = PurePosixPath(name)
    if not pure.parts or pure.is_absolute() or ".." in pure.parts:
        return name
    return str(pure)


def by_path(links: Mapping[str, str]) -> dict[str, str]:
    """The links by the normal names of their files.

    Of two with the same path, the name that is normal has it, since a session's manifest has it
    so; the other one stays as it is.
    """
    found = {name: url for name, url in links.items() if normal(name) == name}
    for name, url in links.items():
        path = normal(name)
        found.setdefault(name if path in found else path, url)
    return found


def told_apart_in(folder: Path) -> Callable[[str], str]:
    """What tells two paths apart in a folder's file system: some ignore case, or Unicode's
    forms."""
    probe = kit_folder.path(folder, "Caf\u00e9")
    files.write_bytes(probe, b"")
    ignores_case = probe.with_name("cAF\u00e9").exists()
    ignores_form = probe.with_name("Cafe\u0301").exists()
    probe.unlink()

    def key(name: str) -> str:
        if ignores_form or ignores_case:
            name = unicodedata.normalize("NFC", name)
        return name.casefold() if ignores_case else name

    return key


def meeting(names: Sequence[str], key: Callable[[str], str]) -> list[str]:
    """Those of these names whose file would take the place of an earlier one's, or of its folder.

    `key` tells two paths apart.
    """
    taken: set[str] = set()
    folders: set[str] = set()
    late = []
    for name in names:
        place = key(name)
        above = {str(parent) for parent in PurePosixPath(place).parents} - {"."}
        if place in taken or place in folders or above & taken:
            late.append(name)
            continue
        taken.add(place)
        folders |= above
    return late


def is_plain(name: str) -> bool:
    """Whether a name is a relative path as it stands, of a file that can be outside of the kit's
    own folder."""
    path = PurePosixPath(name)
    if normal(name) != name or not path.parts or path.is_absolute() or ".." in path.parts:
        return False
    if "\0" in name or len(path.parts) > DEEPEST or path.parts[0].casefold() == kit_folder.NAME:
        return False
    if "\\" in name and os.sep == "\\":  # a character like any other elsewhere, as on Kaggle
        return False
    try:
        longest = max(len(part.encode()) for part in path.parts)
    except UnicodeEncodeError:
        return False
    return longest <= LONGEST_NAME and len(name.encode()) <= LONGEST_PATH


def escaped(name: str) -> str:
    """A file name that any name has for itself, and that looks like it."""
    own = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    text = quote(name, safe=" ", errors="backslashreplace")
    return f"{text[-LONGEST_ESCAPED:]}-{own}"
