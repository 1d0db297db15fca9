"""The versions of a dataset: upload one, and wait until kernels can use it."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kernelkit.bundle.packages import files_below
from kernelkit.errors import NetworkError, RefusedError
from kernelkit.kaggle_api import uploads
from kernelkit.kaggle_api.client import Kaggle
from kernelkit.kaggle_api.failures import Failure
from kernelkit.terminal.events import size_of
from kernelkit.workspace.context import PushContext

SERVICE = "datasets"
LICENCE = "other"
WORKERS = 4
READY_SECONDS = 3600.0  # for Kaggle to make an uploaded dataset usable
LOOK_SECONDS = 10.0  # from a lost answer to the look for the version
NONE = "not there"  # the state of a dataset that does not exist
UNUSABLE = ("failed", "deleted")  # the states of one that no kernel will ever get


def upload(context: PushContext, kaggle: Kaggle, slug: str, entries: list[Path], notes: str) -> str:
    """Make the dataset, or a new version of it, of these files and folders; its "owner/slug".

    Raises `Failure`, and `RefusedError` where Kaggle does not take it.
    """
    reference = f"{kaggle.username}/{slug}"
    before = _version(kaggle, slug)
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(WORKERS) as pool:
        tokens = list(pool.map(lambda e: _send(context, kaggle, e, Path(scratch)), entries))
    version = _create_once(kaggle, slug, before, tokens, notes)
    context.events("uploaded", f"{reference} version {version}", version=version)
    return reference


def state_of(kaggle: Kaggle, reference: str, until: float | None = None) -> str:
    """The state of a dataset's newest version: "ready", … or `NONE`.

    `until`: when to give up asking. Raises `Failure`.
    """
    owner, _, slug = reference.partition("/")
    answer = kaggle.if_there(
        "GetDatasetStatus", SERVICE, until, owner_slug=owner, dataset_slug=slug
    )
    return str(answer.status.name).lower() if answer else NONE


def await_ready(context: PushContext, kaggle: Kaggle, reference: str) -> None:
    """Wait until kernels can use it: Kaggle unpacks and copies after the upload.

    Raises `Failure`, `RefusedError` where Kaggle could not, `NetworkError` past the time.
    """
    clock = kaggle.retries.clock
    end = clock.now() + READY_SECONDS
    while clock.now() < end:
        state = state_of(kaggle, reference, end)
        if state == "ready":
            return
        if state in UNUSABLE:
            raise RefusedError(f"Kaggle could not make {reference} usable: it is {state}")
        context.events("progress", f"{reference}: {state.replace('_', ' ')}")
        clock.sleep(context.timing.patience.poll)
    raise NetworkError(
        f"{reference} is not ready yet: see https://www.kaggle.com/datasets/{reference}"
    )


def _send(context: PushContext, kaggle: Kaggle, entry: Path, scratch: Path) -> str:
    """Upload one file, or a folder as an archive; the token that names it to Kaggle."""
    from kagglesdk.blobs.types.blob_api_service import ApiBlobType

    with _as_file(entry, scratch) as file:
        size = size_of(file.stat().st_size)
        token = uploads.upload(
            kaggle, file, "StartBlobUpload", "blobs", type=ApiBlobType.DATASET, name=file.name
        )
        context.events("sent", f"{file.name}, {size}")
        return token


@contextmanager
def _as_file(entry: Path, scratch: Path) -> Iterator[Path]:
    if entry.is_file():
        yield entry
        return
    archive = scratch / f"{entry.name}.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as packed:
        for path in files_below(entry):
            packed.write(path, path.relative_to(entry).as_posix())
    yield archive
    archive.unlink()


def _version(kaggle: Kaggle, slug: str) -> int | None:
    """The dataset's latest version, None where there is no such dataset."""
    answer = kaggle.if_there("GetDataset", SERVICE, owner_slug=kaggle.username, dataset_slug=slug)
    return (answer.current_version_number or 1) if answer else None


def _create_once(
    kaggle: Kaggle, slug: str, before: int | None, tokens: list[str], notes: str
) -> int:
    """Make one new version, even where Kaggle's answer is lost; its number."""
    method, fields = _request(kaggle, slug, tokens, None if before is None else notes)
    try:
        answer = kaggle.once(method, SERVICE, **fields)
    except Failure as failure:
        if not failure.is_transient:
            raise
        kaggle.retries.clock.sleep(LOOK_SECONDS)
        version = _version(kaggle, slug)
        if version is None or version == before:
            raise
        return version
    if answer.error or (answer.status or "").lower() == "error":
        raise RefusedError(f"Kaggle did not take the dataset: {answer.error or 'no reason'}")
    return (before or 0) + 1


def _request(
    kaggle: Kaggle, slug: str, tokens: list[str], notes: str | None
) -> tuple[str, dict[str, Any]]:
    """The method and the fields that make the dataset, or with `notes` another version of it."""
    from kagglesdk.datasets.types.dataset_api_service import (
        ApiCreateDatasetVersionRequestBody,
        ApiDatasetNewFile,
    )

    files = [ApiDatasetNewFile() for _ in tokens]
    for file, token in zip(files, tokens, strict=True):
        file.token = token
    owner = {"owner_slug": kaggle.username}
    if notes is None:
        title = slug.replace("-", " ")
        settings = {"title": title, "license_name": LICENCE, "is_private": True}
        return "CreateDataset", {**owner, **settings, "slug": slug, "files": files}
    body = ApiCreateDatasetVersionRequestBody()
    body.version_notes, body.files = notes, files
    return "CreateDatasetVersion", {**owner, "dataset_slug": slug, "body": body}
