"""Datasets that users upload: created at once, usable a while later."""

from __future__ import annotations

import re
import shutil
import sqlite3
import tarfile
import time
import zipfile
from pathlib import Path

from kagglesdk.datasets.types import dataset_api_service as types
from starlette.exceptions import HTTPException

from local_kaggle.api.wire import Message, answers, fill
from local_kaggle.datasets.datasets import find, folder_of, versions_of
from local_kaggle.files.uploads import complete
from local_kaggle.state import ServerState


@answers(types.ApiCreateDatasetRequest)
def create(state: ServerState, request: Message, user: str) -> Message:
    """Create a dataset; a name that is taken is refused in `error`."""
    owner, slug = (request.owner_slug or user).lower(), (request.slug or "").lower()
    if owner != user.lower():
        raise HTTPException(403, "Permission 'datasets.create' was denied")
    refused = None
    if not re.fullmatch(r"[a-z0-9][a-z0-9_-]{5,49}", slug):
        refused = "The slug must be between 6 and 50 letters, digits and hyphens."
    elif state.store.row("SELECT 1 FROM datasets WHERE owner = ? AND slug = ?", owner, slug):
        refused = f'The requested title "{request.title}" is already in use by a dataset.'
    if refused:
        return fill(types.ApiCreateDatasetResponse(), status="error", error=refused)
    files = [complete(state, file.token) for file in request.files]
    state.store.change(
        "INSERT INTO datasets (owner, slug, title, licence, private) VALUES (?, ?, ?, ?, ?)",
        owner,
        slug,
        request.title or slug,
        request.license_name,
        bool(request.is_private),
    )
    return _add_version(state, find(state, owner, slug, user), files, "Initial release")


@answers(types.ApiCreateDatasetVersionRequest)
def create_version(state: ServerState, request: Message, user: str) -> Message:
    """Add a version to the dataset of this name."""
    return _extend(state, find(state, request.owner_slug, request.dataset_slug, user), request)


@answers(types.ApiCreateDatasetVersionByIdRequest)
def create_version_by_id(state: ServerState, request: Message, user: str) -> Message:
    """Add a version to the dataset with this id."""
    query = "SELECT * FROM datasets WHERE id = ? AND owner = ?"
    dataset = state.store.row(query, request.id, user.lower())
    if dataset is None:
        raise HTTPException(404, "Dataset not found")
    return _extend(state, dataset, request)


@answers(types.ApiDeleteDatasetRequest)
def delete(state: ServerState, request: Message, user: str) -> Message:
    """Delete a dataset with all its versions."""
    dataset = find(state, request.owner_slug, request.dataset_slug, user)
    state.store.change("DELETE FROM dataset_versions WHERE dataset = ?", dataset["id"])
    state.store.change("DELETE FROM datasets WHERE id = ?", dataset["id"])
    shutil.rmtree(folder_of(state, dataset), ignore_errors=True)
    return types.ApiDeleteDatasetResponse()


def _extend(state: ServerState, dataset: sqlite3.Row, request: Message) -> Message:
    files = [complete(state, file.token) for file in request.body.files]
    return _add_version(state, dataset, files, request.body.version_notes)


def _add_version(
    state: ServerState, dataset: sqlite3.Row, files: list[tuple[str, Path]], notes: str | None
) -> Message:
    number = max((v["number"] for v in versions_of(state, dataset)), default=0) + 1
    failure = _lay_out(files, folder_of(state, dataset) / str(number))
    state.store.change(
        "INSERT INTO dataset_versions VALUES (?, ?, ?, ?, ?)",
        dataset["id"],
        number,
        notes,
        time.time(),
        failure,
    )
    ref = f"{dataset['owner']}/{dataset['slug']}"
    url = f"{state.url}/datasets/{ref}"
    return fill(types.ApiCreateDatasetResponse(), ref=ref, url=url, status="ok")


def _lay_out(files: list[tuple[str, Path]], folder: Path) -> str | None:
    """Copy blobs into a version's folder, archives unpacked as Kaggle does; what went wrong."""
    folder.mkdir(parents=True)
    try:
        for name, path in files:
            inside = folder / Path(name).stem
            if name.endswith(".zip"):
                with zipfile.ZipFile(path) as packed:
                    packed.extractall(inside)  # noqa: S202 - zipfile keeps within the folder
            elif name.endswith(".tar"):
                with tarfile.open(path) as tarred:
                    tarred.extractall(inside, filter="data")
            else:
                shutil.copyfile(path, folder / name)
    except (zipfile.BadZipFile, tarfile.TarError, OSError) as error:
        return str(error)
    return None
