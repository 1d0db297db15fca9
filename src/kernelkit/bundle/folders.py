"""The files below a folder, those in linked folders too."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from kernelkit.errors import PreflightError


def files_below(folder: Path, skip: Callable[[Path], bool] = lambda _: False) -> list[Path]:
    """All files below `folder`, sorted; links are followed, to files as to folders.

    `skip` is asked of every path, and what it skips is not looked into. Raises `PreflightError`
    for what would be left out of a push without a word: a link to nothing, a link back into a
    folder above it, a name that is not Unicode.
    """
    found: list[Path] = []
    _walk(folder, skip, (os.path.realpath(folder),), found)
    return sorted(found)


def _walk(
    folder: Path, skip: Callable[[Path], bool], above: tuple[str, ...], found: list[Path]
) -> None:
    for path in folder.iterdir():
        if skip(path):
            continue
        _check_name(path)
        if path.is_dir():
            real = os.path.realpath(path)
            if real in above:
                raise PreflightError(f"{path} is a link to a folder that holds it: take it out")
            _walk(path, skip, (*above, real), found)
        elif path.is_file():
            found.append(path)
        elif path.is_symlink():
            raise PreflightError(f"{path} is a link to nothing: mend it or take it out")


def _check_name(path: Path) -> None:
    try:
        path.name.encode()
    except UnicodeEncodeError:
        raise PreflightError(f"the name of {str(path)!a} is not Unicode: rename it") from None
