"""The versions of a dataset: upload one, and wait until kernels can use it."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from kernelkit.bundle.packages import files_below
from kernelkit.errors import NetworkError, RefusedError
from kernelkit.kaggle_api import uploads
from kernelkit.kaggle_api.answers import Failure
from kernelkit.kaggle_api.client import Kaggle
from kernelkit.terminal.events import size_of
from kernelkit.workspace.context import PushContext

SERVICE = "datasets"
LICENCE = "other"
WORKERS = 4
READY_SECONDS = 3600.0  # for Kaggle to make an uploaded dataset usable
LOOK_SECONDS = 10.0  # from a lost answer to the look for the version
ARCHIVES = (".zip", ".tar", ".gz", ".tgz", ".7z")
SHOWN = 5  # names of files, in an error
NONE = "not there"  # the state of a dataset that does not exist
UNUSABLE = ("failed", "deleted")  # the states of one that no kernel will ever get


@dataclass(frozen=True)
class Uploaded:
    """A version that was made of a dataset "owner/slug", and the bytes of each file in it."""

    reference: str
    version: int
    sizes: Mapping[str, int]


def upload(
    context: PushContext, kaggle: Kaggle, slug: str, entries: list[Path], notes: str
) -> Uploaded:
    """Make the dataset, or a new version of it, of these files and folders.

    Raises `Failure`, and `RefusedError` where Kaggle does not take it.
    """
    reference = f"{kaggle.username}/{slug}"
    before = _version(kaggle, reference)
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(WORKERS) as pool:
        tokens = list(pool.map(lambda e: _send(context, kaggle, e, Path(scratch)), entries))
    version = _create_once(kaggle, reference, before, tokens, notes)
    context.events("uploaded", f"{reference} version {version}", version=version)
    files = [p for entry in entries for p in ([entry] if entry.is_file() else files_below(entry))]
    root = entries[0].parent
    sizes = {file.relative_to(root).as_posix(): file.stat().st_size for file in files}
    return Uploaded(reference, version, sizes)


def state_of(kaggle: Kaggle, reference: str, until: float | None = None) -> str:
    """The state of a dataset's newest version: "ready", … or `NONE`.

    `until`: when to give up asking. Raises `Failure`.
    """
    answer = kaggle.if_there("GetDatasetStatus", SERVICE, until, **_name(reference))
    return str(answer.status.name).lower() if answer else NONE


def await_ready(
    context: PushContext, kaggle: Kaggle, reference: str, uploaded: Uploaded | None = None
) -> None:
    """Wait until kernels can use it: Kaggle unpacks and copies after the upload.

    With `uploaded` it is ready once Kaggle serves that version, with the bytes that were sent.
    Raises `Failure`, `RefusedError` where Kaggle could not, `NetworkError` past the time.
    """
    clock = kaggle.retries.clock
    end = clock.now() + READY_SECONDS
    while clock.now() < end:
        state = state_of(kaggle, reference, end)
        if state in UNUSABLE:
            raise RefusedError(f"Kaggle could not make {reference} usable: it is {state}")
        if state == "ready":
            served = _version(kaggle, reference) if uploaded else None
            if not uploaded or (served or 0) >= uploaded.version:
                if uploaded:
                    _check_files(context, kaggle, uploaded, end)
                return
            state = f"version {served} is still served"
        context.events("progress", f"{reference}: {state.replace('_', ' ')}")
        clock.sleep(context.timing.patience.poll)
    raise NetworkError(
        f"{reference} is not ready yet: see https://www.kaggle.com/datasets/{reference}"
    )


def _check_files(context: PushContext, kaggle: Kaggle, uploaded: Uploaded, until: float) -> None:
    """Compare names and lengths with what was sent. Raises `RefusedError` where they differ."""
    fields = {**_name(uploaded.reference), "dataset_version_number": uploaded.version}
    listed: dict[str, list[int]] = {}
    for answer in kaggle.pages("ListDatasetFiles", fields, until, SERVICE, "dataset_files"):
        for file in answer.dataset_files or []:  # named with or without their folder
            listed.setdefault(PurePosixPath(file.name).name, []).append(file.total_bytes)
    if not listed:
        context.events(
            "unverified", f"Kaggle lists no files of {uploaded.reference}: what it holds is open"
        )
        return
    wrong = [
        name
        for name, size in uploaded.sizes.items()
        if not name.endswith(ARCHIVES)  # which Kaggle unpacks
        and size not in listed.get(PurePosixPath(name).name, [])
    ]
    if wrong:
        raise RefusedError(
            f"{uploaded.reference} version {uploaded.version} does not hold what was sent: missing "
            f"or of another length: {', '.join(wrong[:SHOWN])}. Upload it again"
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


def _version(kaggle: Kaggle, reference: str) -> int | None:
    """The dataset's latest version, None where there is no such dataset."""
    answer = kaggle.if_there("GetDataset", SERVICE, None, **_name(reference))
    return (answer.current_version_number or 1) if answer else None


def _create_once(
    kaggle: Kaggle, reference: str, before: int | None, tokens: list[str], notes: str
) -> int:
    """Make one new version, even where Kaggle's answer is lost; its number."""
    slug = reference.partition("/")[2]
    method, fields = _request(kaggle, slug, tokens, None if before is None else notes)
    try:
        answer = kaggle.once(method, SERVICE, **fields)
    except Failure as failure:
        if not failure.is_transient:
            raise
        kaggle.retries.clock.sleep(LOOK_SECONDS)
        version = _version(kaggle, reference)
        if version is None or version == before:
            raise
        return version
    if answer.error or (answer.status or "").lower() == "error":
        raise RefusedError(f"Kaggle did not take the dataset: {answer.error or 'no reason'}")
    return (before or 0) + 1


def _name(reference: str) -> dict[str, str]:
    owner, _, slug = reference.partition("/")
    return {"owner_slug": owner, "dataset_slug": slug}


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
