"""Make or update a private Kaggle dataset from a folder: own TFRecords, weights.

A folder inside it travels as one archive, which Kaggle unpacks to a folder of that name.
"""

from __future__ import annotations

import re
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Unpack

from kernelkit.bundle import secret_scan
from kernelkit.bundle.packages import files_below
from kernelkit.datasets import dataset_state
from kernelkit.errors import (
    ParameterError,
    PreflightError,
    RefusedError,
)
from kernelkit.kaggle_api import uploads
from kernelkit.kaggle_api.client import Kaggle
from kernelkit.kaggle_api.failures import Failure, FailureKind
from kernelkit.plans import plan
from kernelkit.project import Project, find_project
from kernelkit.terminal.events import size_of
from kernelkit.workspace.context import CommandOptions, PushContext, in_project

LICENCE = "other"
SLUG = re.compile(r"[a-z0-9][a-z0-9-]{4,48}[a-z0-9]")
WORKERS = 4
SKIPPED = ("dataset-metadata.json", ".DS_Store")
LARGEST_TEXT = 1_000_000  # bytes: credentials are looked for in files up to this size


def push_dataset(
    folder: Path,
    name: str | None = None,
    *,
    notes: str = "updated by kernelkit",
    minutes: float = 60.0,
    **options: Unpack[CommandOptions],
) -> str:
    """Upload a folder as the private dataset `name` and wait until kernels can use it.

    `name` defaults to the folder's, as a slug. Returns "owner/slug", which goes into
    `dataset_sources`. Raises `ParameterError` for an empty folder or a name Kaggle does not
    take, `PreflightError` for credentials in it, `RefusedError`, `CredentialsError` or
    `NetworkError` as Kaggle answers.
    """
    context = in_project(_project(folder), options)
    slug = _slug(folder, name)
    entries = _entries(folder)
    _refuse_leaks(folder)
    with context.asking() as kaggle:
        _refuse_leaks(folder, kaggle.connection.secrets)
        try:
            reference = upload(context, kaggle, slug, entries, notes)
            dataset_state.await_ready(context, kaggle, reference, minutes * 60)
        except Failure as failure:
            raise failure.error() from None
    context.events(
        "dataset", f'{reference} is ready: "dataset_sources": ["{reference}"]', ref=reference
    )
    return reference


def _project(folder: Path) -> Project:
    """The project that the folder lies in, or of the present folder where it lies in none.

    A folder outside any project is no place for runs or for a rehearsal's Kaggle: what they
    write would be uploaded too.
    """
    own = find_project(folder)
    return own if (own.root / "pyproject.toml").is_file() else plan.here(None)


def _slug(folder: Path, name: str | None) -> str:
    if not folder.is_dir():
        raise ParameterError(f"no folder {folder}")
    slug = name or re.sub(r"[^a-z0-9]+", "-", folder.resolve().name.lower()).strip("-")
    if not SLUG.fullmatch(slug):
        raise ParameterError(
            f"{slug!r} is not a name Kaggle takes for a dataset (6 to 50 small letters, digits "
            "and hyphens): give another with --name"
        )
    return slug


def _entries(folder: Path) -> list[Path]:
    paths = [p for p in sorted(folder.iterdir()) if p.name not in SKIPPED]
    for path in (p for p in paths if p.is_symlink() and not p.exists()):
        raise PreflightError(f"{path} is a link to nothing: mend it or take it out")
    kept = [p for p in paths if p.is_file() or (p.is_dir() and files_below(p))]
    if not kept:
        raise ParameterError(f"{folder} holds no file to upload")
    return kept


def _refuse_leaks(folder: Path, secrets: Sequence[str] = ()) -> None:
    texts = []
    for path in files_below(folder):
        small = path.stat().st_size <= LARGEST_TEXT
        text = path.read_bytes().decode("utf-8", "replace") if small else ""
        texts.append((path.relative_to(folder).as_posix(), text))
    if leaks := [str(leak) for leak in secret_scan.find_secrets(texts, secrets)]:
        listed = "\n".join(f"  - {leak}" for leak in leaks)
        raise PreflightError(f"this must not leave the desk:\n{listed}")


def upload(context: PushContext, kaggle: Kaggle, slug: str, entries: list[Path], notes: str) -> str:
    """Make the dataset, or a new version of it, of these files and folders; its "owner/slug".

    Raises `Failure`, and `RefusedError` where Kaggle does not take it.
    """
    reference = f"{kaggle.username}/{slug}"
    before = _version(kaggle, slug)
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(WORKERS) as pool:
        tokens = list(pool.map(lambda e: _send(context, kaggle, e, Path(scratch)), entries))
    make = _creation if before is None else _addition
    version = _once(kaggle, slug, before, make(kaggle, slug, tokens, notes))
    context.events("uploaded", f"{reference} version {version}", version=version)
    return reference


def _send(context: PushContext, kaggle: Kaggle, entry: Path, scratch: Path) -> str:
    """Upload one file, or a folder as an archive; the token that names it to Kaggle."""
    from kagglesdk.blobs.types.blob_api_service import ApiBlobType, ApiStartBlobUploadRequest

    with _as_file(entry, scratch) as file:
        request = ApiStartBlobUploadRequest()
        request.type, request.name = ApiBlobType.DATASET, file.name
        request.content_length = file.stat().st_size
        request.last_modified_epoch_seconds = int(file.stat().st_mtime)
        api = kaggle.connection.services.blobs.blob_api_client
        place = kaggle.repeated("StartBlobUpload", lambda: api.start_blob_upload(request))
        uploads.send(kaggle, place.create_url, file)
        context.events("sent", f"{file.name}, {size_of(request.content_length)}")
        return str(place.token)


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
    from kagglesdk.datasets.types.dataset_api_service import ApiGetDatasetRequest

    request = ApiGetDatasetRequest()
    request.owner_slug, request.dataset_slug = kaggle.username, slug
    api = kaggle.connection.services.datasets.dataset_api_client
    try:
        answer = kaggle.repeated("GetDataset", lambda: api.get_dataset(request))
    except Failure as failure:
        if failure.kind in (FailureKind.NOT_FOUND, FailureKind.REFUSED):
            return None
        raise
    return answer.current_version_number or 1


def _creation(kaggle: Kaggle, slug: str, tokens: list[str], notes: str) -> Callable[[], Any]:
    from kagglesdk.datasets.types.dataset_api_service import ApiCreateDatasetRequest

    request = ApiCreateDatasetRequest()
    request.owner_slug, request.slug = kaggle.username, slug
    request.title = slug.replace("-", " ")
    request.license_name, request.is_private = LICENCE, True
    request.files = _new_files(tokens)
    api = kaggle.connection.services.datasets.dataset_api_client
    return lambda: kaggle.connection.ask("CreateDataset", lambda: api.create_dataset(request))


def _addition(kaggle: Kaggle, slug: str, tokens: list[str], notes: str) -> Callable[[], Any]:
    from kagglesdk.datasets.types.dataset_api_service import (
        ApiCreateDatasetVersionRequest,
        ApiCreateDatasetVersionRequestBody,
    )

    body = ApiCreateDatasetVersionRequestBody()
    body.version_notes, body.files = notes, _new_files(tokens)
    request = ApiCreateDatasetVersionRequest()
    request.owner_slug, request.dataset_slug, request.body = kaggle.username, slug, body
    api = kaggle.connection.services.datasets.dataset_api_client
    method = "CreateDatasetVersion"
    return lambda: kaggle.connection.ask(method, lambda: api.create_dataset_version(request))


def _new_files(tokens: list[str]) -> list[Any]:
    from kagglesdk.datasets.types.dataset_api_service import ApiDatasetNewFile

    files = []
    for token in tokens:
        file = ApiDatasetNewFile()
        file.token = token
        files.append(file)
    return files


def _once(kaggle: Kaggle, slug: str, before: int | None, create: Callable[[], Any]) -> int:
    """Make one new version, though the answer may be lost; its number."""
    try:
        answer = create()
    except Failure as failure:
        if not failure.is_transient:
            raise
        kaggle.retries.clock.sleep(10.0)
        version = _version(kaggle, slug)
        if version is None or version == before:
            raise
        return version
    if answer.error or (answer.status or "").lower() == "error":
        raise RefusedError(f"Kaggle did not take the dataset: {answer.error or 'no reason'}")
    return (before or 0) + 1
