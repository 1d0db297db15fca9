"""Which files of a session are downloaded, and which stay on Kaggle."""

import fnmatch
import textwrap
from collections.abc import Collection, Iterable, Sequence
from pathlib import PurePosixPath

from kernelkit.errors import OutputsError
from kernelkit.session.manifest import MANIFEST
from kernelkit.session.places import FOLDER as OF_SESSION
from kernelkit.terminal import safe_text

GIT = ".git"
LONGEST_LIST = 500  # characters of the names of files in a message


def of_session(links: Iterable[str], expected: Iterable[str]) -> list[str]:
    """The files that Kaggle lists, and those of the manifest that it has to list.

    It may omit hidden files. The manifest itself is fetched already.
    """
    to_list = [name for name in expected if "/." not in f"/{name}"]
    return [name for name in dict.fromkeys([*links, *to_list]) if name != MANIFEST]


def of_repositories(names: Iterable[str]) -> set[str]:
    """Which of a run's files would make a folder a git repository: those in `.git`, and any HEAD.

    git takes commands from a repository's settings, and shells and editors start it in any folder.
    A bare repository without HEAD is none.
    """
    found = set()
    for name in names:
        parts = [part.casefold() for part in PurePosixPath(name).parts]
        if GIT in parts or parts[-1:] == ["head"]:
            found.add(name)
    return found


def without_repositories(
    names: Iterable[str], of_git: Collection[str], only: Sequence[str]
) -> list[str]:
    """The files without those of git repositories, unless `only` asks for them."""
    asked = [pattern for pattern in only if GIT in pattern or pattern in of_git]
    return [name for name in names if name not in of_git or _fits(asked, name)]


def chosen(names: Sequence[str], only: Sequence[str], stays: Sequence[str]) -> list[str]:
    """The files to download: those that fit `only`, or else all but those that stay on Kaggle.

    Raises `OutputsError` if none fits `only`.
    """
    if not only:
        return [name for name in names if is_kits(name) or not _fits(stays, name)]
    fitting = [name for name in names if _fits(only, name)]
    if not fitting:
        wanted = " or ".join(only)
        there = listed(names) or "none"
        error = OutputsError(f"no output file matches {wanted}: the run has {there}")
        error.is_final = True
        raise error
    return fitting


def is_kits(name: str) -> bool:
    """Whether a file of a session is what the kit recorded there."""
    return name.startswith(f"{OF_SESSION}/")


def listed(names: Iterable[str]) -> str:
    """The names of files in a message, as many as fit it."""
    text = ", ".join(map(safe_text.one_line, names))
    return textwrap.shorten(text, LONGEST_LIST, placeholder=" …")


def _fits(patterns: Sequence[str], name: str) -> bool:
    """Whether a name fits one of these glob patterns, or is one of them as it stands."""
    return name in patterns or any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
