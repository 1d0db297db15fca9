"""The files of a hidden folder besides its tables: linked, renamed, or left out.

What training folders hold of a hidden row moves to the test folder beside them under the new id:
`train_images/ID.png` becomes `test_images/NEW.png`, `train/ID/0.dcm` becomes `test/NEW/0.dcm`. A
folder named after a class would give the answer away, so only those folders above the id stay that
the public test folder has too.
"""

import os
import re
import shutil
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from kernelkit.hidden.tables.table_files import TEST, TEST_IN_NAME, TRAIN_IN_NAME


def has_folders(public: Path) -> bool:
    """Whether a folder at the top may hold files that are named by ids."""
    return any(
        path.is_dir() and (TRAIN_IN_NAME.search(path.name) or TEST_IN_NAME.search(path.name))
        for path in public.iterdir()
    )


def link_others(public: Path, folder: Path, written: Collection[str]) -> None:
    """Link everything in the public folder but the tables that are written anew."""
    folder.mkdir(parents=True)
    for path in public.iterdir():
        if path.name in written:
            continue
        if path.is_dir():
            shutil.copytree(path, folder / path.name, copy_function=_link)
        else:
            _link(path, folder / path.name)


def remove_named(folder: Path, ids: Collection[str]) -> None:
    """Remove what the test folders hold of these rows: the public ones, which are not hidden."""
    for path in _files_of(folder, TEST_IN_NAME):
        if _named(path, folder, ids):
            path.unlink()


def move_named(public: Path, folder: Path, renamed: Mapping[str, str]) -> int:
    """Move what training folders hold of a hidden row to the test folder beside them.

    `renamed`: {old id: new id}. Returns the number of files.
    """
    moved = 0
    for path in _files_of(public, TRAIN_IN_NAME):
        named = _named(path, public, renamed)
        if not named:
            continue
        number, old = named
        top, *parts = path.relative_to(public).parts
        test_folder = Path(TRAIN_IN_NAME.sub(TEST, top))
        for part in parts[:number]:
            if (public / test_folder / part).is_dir():
                test_folder /= part
        new_name = renamed[old] + parts[number].removeprefix(old)
        target = folder.joinpath(test_folder, new_name, *parts[number + 1 :])
        (folder / path.relative_to(public)).unlink(missing_ok=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        _link(path, target)
        moved += 1
    return moved


def _files_of(folder: Path, word: re.Pattern[str]) -> Iterator[Path]:
    """The files below the folders at the top whose names have this word, sorted."""
    for top in sorted(folder.iterdir()):
        if top.is_dir() and word.search(top.name):
            yield from sorted(path for path in top.rglob("*") if path.is_file())


def _named(path: Path, root: Path, ids: Collection[str]) -> tuple[int, str] | None:
    """Which part of a file's path below its top folder begins with an id, and that id.

    That is a folder or file `ID`, a file `ID.png`, or one of several files `ID_blue.png`.
    """
    for number, part in enumerate(path.relative_to(root).parts[1:]):
        if part in ids:
            return number, part
        stem = part.partition(".")[0]
        if stem in ids:
            return number, stem
        ends = [match.start() for match in re.finditer("[_-]", stem)]
        for end in reversed(ends):
            if stem[:end] in ids:
                return number, stem[:end]
    return None


def _link(source: str | Path, place: str | Path) -> None:
    """A hard link, or a copy where the file system has none; a session may not write to either."""
    try:
        os.link(Path(source).resolve(), place)
    except OSError:
        shutil.copy2(source, place)
