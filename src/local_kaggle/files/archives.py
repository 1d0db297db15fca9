"""Files in one archive, as Kaggle offers whole competitions, datasets, outputs and models."""

from __future__ import annotations

import hashlib
import tarfile
import threading
import zipfile
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

from local_kaggle.state import ServerState

Files = list[tuple[str, Path]]  # names in the archive, and where their bytes are

_making = threading.Lock()


def one_or_all(
    state: ServerState, files: Files, name: str | None, suffix: str = ".zip"
) -> Response:
    """A redirect to the file of this name, or without a name to an archive of all `files`.

    Raises HTTPException 404.
    """
    path = dict(files).get(name) if name else _archive(state, files, suffix)
    if path is None:
        raise HTTPException(404, f"There is no file {name}")
    return RedirectResponse(state.link(path), 302)


def _archive(state: ServerState, files: Files, suffix: str) -> Path:
    """The archive, made once however many clients ask for it at once.

    Its name is a hash of what goes into it, so that no two owners, versions or states of a folder
    share one. The next server removes it.
    """
    stats = [(name, str(path), path.stat()) for name, path in files]
    content = [(name, path, stat.st_size, stat.st_ctime_ns) for name, path, stat in stats]
    digest = hashlib.sha256(repr(content).encode()).hexdigest()
    packed = state.root / "archives" / f"{digest}{suffix}"
    packed.parent.mkdir(exist_ok=True)
    with _making:
        if not packed.is_file():
            part = packed.with_suffix(".part")
            if suffix == ".zip":
                with zipfile.ZipFile(part, "w", strict_timestamps=False) as zipped:
                    for name, path in files:
                        zipped.write(path, name)
            else:
                with tarfile.open(part, "w:gz", compresslevel=0) as tarred:
                    for name, path in files:
                        tarred.add(path.resolve(), name)
            part.replace(packed)
    return packed
