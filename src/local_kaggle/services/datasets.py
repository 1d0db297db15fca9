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
from kagglesdk.datasets.types.dataset_enums import DatabundleVersionStatus

from local_kaggle.catalogue import files_below
from local_kaggle.services.blobs import Blobs
from local_kaggle.services.wire import ApiError, Message, Method, fill, moment, page
from local_kaggle.state import ServerState


class Datasets:
    """Answers DatasetApiService; versions are kept in `root/datasets/<owner>/<slug>/<number>`."""

    def __init__(self, state: ServerState, blobs: Blobs) -> None:
        self._state = state
        self._store = state.store
        self._blobs = blobs

    def methods(self) -> dict[str, Method]:
        service = "datasets.DatasetApiService"
        return {
            f"{service}/GetDatasetStatus": Method(types.ApiGetDatasetStatusRequest, self.status),
            f"{service}/GetDataset": Method(types.ApiGetDatasetRequest, self.get),
            f"{service}/ListDatasetFiles": Method(types.ApiListDatasetFilesRequest, self.files),
            f"{service}/CreateDataset": Method(types.ApiCreateDatasetRequest, self.create),
            f"{service}/CreateDatasetVersion": Method(
                types.ApiCreateDatasetVersionRequest, self.create_version
            ),
            f"{service}/CreateDatasetVersionById": Method(
                types.ApiCreateDatasetVersionByIdRequest, self.create_version_by_id
            ),
            f"{service}/DeleteDataset": Method(types.ApiDeleteDatasetRequest, self.delete),
        }

    def status(self, request: Message, user: str) -> Message:
        """The answer to GetDatasetStatus; ApiError 404 means that the name is free."""
        answer = types.ApiGetDatasetStatusResponse()
        if self._state.catalogue.find("datasets", f"{request.owner_slug}/{request.dataset_slug}"):
            return fill(answer, status=DatabundleVersionStatus.READY)
        version = self._newest(self._find(request.owner_slug, request.dataset_slug, user))
        if version["failure"]:
            return fill(answer, status=DatabundleVersionStatus.FAILED)
        ready = self._is_ready(version)
        status = DatabundleVersionStatus
        return fill(answer, status=status.READY if ready else status.BLOBS_RECEIVED)

    def get(self, request: Message, user: str) -> Message:
        """The answer to GetDataset."""
        dataset = self._find(request.owner_slug, request.dataset_slug, user)
        version = self._newest(dataset)
        return fill(
            types.ApiDataset(),
            id=dataset["id"],
            ref=f"{dataset['owner']}/{dataset['slug']}",
            title=dataset["title"],
            owner_ref=dataset["owner"],
            license_name=dataset["licence"],
            is_private=bool(dataset["private"]),
            current_version_number=version["number"],
            last_updated=moment(version["created"]),
        )

    def files(self, request: Message, user: str) -> Message:
        """The answer to ListDatasetFiles: names and sizes in bytes of the newest version."""
        folder = self.mounted(f"{request.owner_slug}/{request.dataset_slug}", user)
        if folder is None:
            raise ApiError(404, "Dataset not found")
        limits = self._state.limits
        size = min(request.page_size or limits.page_size, limits.max_page_size)
        shown, following = page(files_below(folder), request.page_token, size)
        files = [
            fill(
                types.ApiDatasetFile(),
                name=name,
                ref=name,
                total_bytes=path.stat().st_size,
                creation_date=moment(path.stat().st_mtime),
            )
            for name, path in shown
        ]
        answer = types.ApiListDatasetFilesResponse()
        return fill(answer, dataset_files=files, next_page_token=following)

    def create(self, request: Message, user: str) -> Message:
        """The answer to CreateDataset; a name that is taken is refused in `error`."""
        owner, slug = (request.owner_slug or user).lower(), (request.slug or "").lower()
        if owner != user.lower():
            raise ApiError(403, "Permission 'datasets.create' was denied")
        if not re.fullmatch(r"[a-z0-9][a-z0-9_-]{5,49}", slug):
            text = "The slug must be between 6 and 50 letters, digits and hyphens."
            return fill(types.ApiCreateDatasetResponse(), status="error", error=text)
        taken = "SELECT 1 FROM datasets WHERE owner = ? AND slug = ?"
        if self._store.row(taken, owner, slug):
            text = f'The requested title "{request.title}" is already in use by a dataset.'
            return fill(types.ApiCreateDatasetResponse(), status="error", error=text)
        files = [self._blobs.complete(file.token) for file in request.files]
        self._store.change(
            "INSERT INTO datasets (owner, slug, title, licence, private) VALUES (?, ?, ?, ?, ?)",
            owner,
            slug,
            request.title or slug,
            request.license_name,
            bool(request.is_private),
        )
        return self._add_version(self._find(owner, slug, user), files, "Initial release")

    def create_version(self, request: Message, user: str) -> Message:
        """The answer to CreateDatasetVersion."""
        return self._extend(self._find(request.owner_slug, request.dataset_slug, user), request)

    def create_version_by_id(self, request: Message, user: str) -> Message:
        """The answer to CreateDatasetVersionById."""
        query = "SELECT * FROM datasets WHERE id = ? AND owner = ?"
        dataset = self._store.row(query, request.id, user.lower())
        if dataset is None:
            raise ApiError(404, "Dataset not found")
        return self._extend(dataset, request)

    def delete(self, request: Message, user: str) -> Message:
        """The answer to DeleteDataset."""
        dataset = self._find(request.owner_slug, request.dataset_slug, user)
        self._store.change("DELETE FROM dataset_versions WHERE dataset = ?", dataset["id"])
        self._store.change("DELETE FROM datasets WHERE id = ?", dataset["id"])
        shutil.rmtree(self._folder(dataset), ignore_errors=True)
        return types.ApiDeleteDatasetResponse()

    def mounted(self, reference: str, user: str) -> Path | None:
        """The folder that a kernel of `user` gets for "owner/slug"; None if there is none yet."""
        catalogued = self._state.catalogue.find("datasets", reference)
        if catalogued:
            return catalogued
        owner, _, slug = reference.partition("/")
        try:
            dataset = self._find(owner, slug, user)
        except ApiError:
            return None
        ready = [v for v in self._versions(dataset) if self._is_ready(v)]
        return self._folder(dataset) / str(ready[0]["number"]) if ready else None

    def _extend(self, dataset: sqlite3.Row, request: Message) -> Message:
        files = [self._blobs.complete(file.token) for file in request.body.files]
        return self._add_version(dataset, files, request.body.version_notes)

    def _add_version(
        self, dataset: sqlite3.Row, files: list[tuple[str, Path]], notes: str | None
    ) -> Message:
        number = max((v["number"] for v in self._versions(dataset)), default=0) + 1
        failure = _lay_out(files, self._folder(dataset) / str(number))
        self._store.change(
            "INSERT INTO dataset_versions VALUES (?, ?, ?, ?, ?)",
            dataset["id"],
            number,
            notes,
            time.time(),
            failure,
        )
        ref = f"{dataset['owner']}/{dataset['slug']}"
        url = f"{self._state.url}/datasets/{ref}"
        return fill(types.ApiCreateDatasetResponse(), ref=ref, url=url, status="ok")

    def _find(self, owner: str, slug: str, user: str) -> sqlite3.Row:
        query = "SELECT * FROM datasets WHERE owner = ? AND slug = ? AND (owner = ? OR NOT private)"
        dataset = self._store.row(query, owner.lower(), slug.lower(), user.lower())
        if dataset is None:
            raise ApiError(404, "Dataset not found")
        return dataset

    def _versions(self, dataset: sqlite3.Row) -> list[sqlite3.Row]:
        query = "SELECT * FROM dataset_versions WHERE dataset = ? ORDER BY number DESC"
        return self._store.rows(query, dataset["id"])

    def _newest(self, dataset: sqlite3.Row) -> sqlite3.Row:
        return self._versions(dataset)[0]

    def _is_ready(self, version: sqlite3.Row) -> bool:
        age = time.time() - version["created"]
        return not version["failure"] and age >= self._state.limits.dataset_seconds

    def _folder(self, dataset: sqlite3.Row) -> Path:
        folder: Path = self._state.root / "datasets" / dataset["owner"] / dataset["slug"]
        return folder


def _lay_out(files: list[tuple[str, Path]], folder: Path) -> str | None:
    """Copy blobs into a version's folder, archives unpacked as Kaggle does; what went wrong."""
    folder.mkdir(parents=True)
    try:
        for name, path in files:
            inside = folder / Path(name).stem
            if name.endswith(".zip"):
                with zipfile.ZipFile(path) as archive:
                    archive.extractall(inside)  # noqa: S202 - zipfile keeps within the folder
            elif name.endswith(".tar"):
                with tarfile.open(path) as archive:
                    archive.extractall(inside, filter="data")
            else:
                shutil.copyfile(path, folder / name)
    except (zipfile.BadZipFile, tarfile.TarError, OSError) as error:
        return str(error)
    return None
