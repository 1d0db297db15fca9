"""A folder's files in one archive, as Kaggle offers whole competitions and datasets."""

from __future__ import annotations

import zipfile
from pathlib import Path
from uuid import uuid4

from local_kaggle.catalogue import files_below
from local_kaggle.state import ServerState


def archive(state: ServerState, folder: Path, name: str) -> Path:
    """`name`.zip of a folder, made again when one of its files is newer.

    `name` says what it is of, such as `datasets/owner/slug`, so that no two share a file.
    """
    packed = state.root / "archives" / f"{name}.zip"
    files = files_below(folder)
    newest = max((path.stat().st_mtime for _, path in files), default=0.0)
    if not packed.is_file() or packed.stat().st_mtime < newest:
        packed.parent.mkdir(parents=True, exist_ok=True)
        part = packed.with_name(f"{uuid4()}.part")
        with zipfile.ZipFile(part, "w") as zipped:
            for inside, path in files:
                zipped.write(path, inside)
        part.replace(packed)
    return packed
