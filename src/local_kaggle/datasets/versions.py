"""Datasets that users upload: created at once, usable a while later."""

from __future__ import annotations

import os
import re
import shutil
import tarfile
import threading
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

from kagglesdk.datasets.types import dataset_api_service as types
from starlette.exceptions import HTTPException

from local_kaggle.api.wire import Message, answers, fill
from local_kaggle.datasets.datasets import Dataset, find, folder_of
from local_kaggle.files import uploads
from local_kaggle.files.archives import archives_of
from local_kaggle.state import ServerState

Blob = tuple[str, str, Path]  # its token, its name in the dataset, and its file

_changing = threading.Lock()  # so that no two versions get one number


@answers(types.ApiCreateDatasetRequest)
def create(state: ServerState, request: Message, user: str) -> Message:
    """Create a dataset; a name that is taken is refused in `error`."""
    owner, slug = (request.owner_slug or user).lower(), (request.slug or "").lower()
    if owner != user.lower():
        raise HTTPException(403, "Permission 'datasets.create' was denied")
    with _changing:
        refused = None
        if not re.fullmatch(r"[a-z0-9][a-z0-9_-]{5,49}", slug):
            refused = "The slug must be between 6 and 50 letters, digits and hyphens."
        elif state.catalogue.find("datasets", f"{owner}/{slug}") or state.store.row(
            "SELECT 1 FROM datasets WHERE owner = ? AND slug = ?", owner, slug
        ):
            refused = f'The requested title "{request.title}" is already in use by a dataset.'
        if refused:
            return fill(types.ApiCreateDatasetResponse(), status="error", error=refused)
        blobs = list(_blobs(state, request))
        title, private = request.title or slug, bool(request.is_private)
        values = owner, slug, title, request.license_name, private
        insert = (
            "INSERT INTO datasets (owner, slug, title, licence, private) VALUES (?, ?, ?, ?, ?)"
        )
        dataset = Dataset(state.store.change(insert, *values), *values, versions=[])
        return _add_version(state, dataset, blobs, "Initial release")


@answers(types.ApiCreateDatasetVersionRequest)
@answers(types.ApiCreateDatasetVersionByIdRequest)
def create_version(state: ServerState, request: Message, user: str) -> Message:
    """Add a version to the dataset of this name or with this id."""
    if isinstance(request, types.ApiCreateDatasetVersionByIdRequest):
        query = "SELECT owner AS owner_slug, slug AS dataset_slug FROM datasets WHERE id = ?"
        names = dict(state.store.row(query, request.id) or ())
        request = fill(types.ApiCreateDatasetVersionRequest(), body=request.body, **names)
    with _changing:
        dataset = _own(state, request, user)
        blobs = list(_blobs(state, request.body))
        answer = _add_version(state, dataset, blobs, request.body.version_notes)
        if request.body.delete_old_versions:
            _remove_versions(state, dataset)
    return answer


@answers(types.ApiDeleteDatasetRequest)
def delete(state: ServerState, request: Message, user: str) -> Message:
    """Delete a dataset with all its versions."""
    with _changing:
        dataset = _own(state, request, user)
        _remove_versions(state, dataset)
        state.store.change("DELETE FROM datasets WHERE id = ?", dataset.id)
        shutil.rmtree(folder_of(state, dataset.owner, dataset.slug), ignore_errors=True)
    return types.ApiDeleteDatasetResponse()


def _own(state: ServerState, request: Message, user: str) -> Dataset:
    """The uploaded dataset of a request, if `user` may change it; else HTTPException 403 or 404."""
    dataset = find(state, request, user)
    if not dataset.id or dataset.owner != user.lower():
        raise HTTPException(403, "Permission 'datasets.update' was denied")
    return dataset


def _remove_versions(state: ServerState, dataset: Dataset) -> None:
    """Forget the versions, and free all that their bytes take: uploads, files and archives."""
    for version in dataset.versions:
        for folder in (version.folder, archives_of(state, version.folder)):
            shutil.rmtree(folder, ignore_errors=True)
        key = dataset.id, version.number
        query = "SELECT token FROM dataset_blobs WHERE dataset = ? AND number = ?"
        for row in state.store.rows(query, *key):
            uploads.path_of(state, row["token"]).unlink(missing_ok=True)
        state.store.change("DELETE FROM dataset_blobs WHERE dataset = ? AND number = ?", *key)
        state.store.change("DELETE FROM dataset_versions WHERE dataset = ? AND number = ?", *key)


def _blobs(state: ServerState, upload: Message, below: str = "") -> Iterator[Blob]:
    """The files of an upload and of the directories in it. Raises HTTPException 400."""
    for file in upload.files:
        name, path = uploads.complete(state, file.token)
        yield file.token, below + name, path
    for directory in upload.directories:
        if not re.fullmatch(r"(?!\.\.?$)[^/\0]+", directory.name):
            raise HTTPException(400, f"{directory.name!r} is no name of a directory")
        yield from _blobs(state, directory, f"{below}{directory.name}/")


def _add_version(
    state: ServerState, dataset: Dataset, blobs: list[Blob], notes: str | None
) -> Message:
    key = dataset.id, dataset.versions[0].number + 1 if dataset.versions else 1
    failure = _lay_out(blobs, folder_of(state, dataset.owner, dataset.slug) / str(key[1]))
    for token, _, _ in blobs:
        state.store.change("INSERT INTO dataset_blobs VALUES (?, ?, ?)", *key, token)
    insert = "INSERT INTO dataset_versions VALUES (?, ?, ?, ?, ?)"
    state.store.change(insert, *key, notes, time.time(), failure)
    url = f"{state.url}/datasets/{dataset.ref}"
    return fill(types.ApiCreateDatasetResponse(), ref=dataset.ref, url=url, status="ok")


def _lay_out(blobs: list[Blob], folder: Path) -> str | None:
    """Put blobs into a version's folder, archives unpacked as Kaggle does; what went wrong."""
    folder.mkdir(parents=True)
    try:
        for _, name, path in blobs:
            place = folder / name
            place.parent.mkdir(parents=True, exist_ok=True)
            if name.endswith(".zip"):
                with zipfile.ZipFile(path) as packed:
                    packed.extractall(place.with_suffix(""))  # noqa: S202 - it keeps within
            elif name.endswith(".tar"):
                with tarfile.open(path) as tarred:
                    tarred.extractall(place.with_suffix(""), filter="data")
            else:
                os.link(path, place)  # which takes no room; a whole upload is not written again
    except (zipfile.BadZipFile, tarfile.TarError, OSError) as error:
        return str(error)
    return None
