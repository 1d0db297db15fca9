"""What has versions at Kaggle: upload one, and wait until kernels can use it."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from kernelkit.datasets.targets import Target
from kernelkit.errors import NetworkError, RefusedError
from kernelkit.kaggle_api import transfers
from kernelkit.kaggle_api.client import Kaggle
from kernelkit.kaggle_api.retries import Failure
from kernelkit.plans.packages import files_below
from kernelkit.terminal.events import size_of
from kernelkit.workspace.context import PushContext

WORKERS = 4
READY_SECONDS = 3600.0  # for Kaggle to make uploaded files usable
LOOK_SECONDS = 10.0  # from a lost answer to the look for the version
ARCHIVES = (".zip", ".tar", ".gz", ".tgz", ".7z")
SHOWN = 5  # names of files, in an error
UNUSABLE = ("failed", "deleted")  # the states of what no kernel will ever get


@dataclass(frozen=True)
class Uploaded:
    """The version that was made, and the bytes of each file in it."""

    version: int
    sizes: Mapping[str, int]


def upload(
    context: PushContext, kaggle: Kaggle, target: Target, entries: list[Path], notes: str
) -> Uploaded:
    """Make the target, or a new version of it, of these files and folders.

    Raises `Failure`, and `RefusedError` where Kaggle does not take it.
    """
    before = target.latest(kaggle)
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(WORKERS) as pool:
        blob = target.service.removesuffix("s").upper()
        send = pool.map(lambda e: _send(context, kaggle, e, blob, Path(scratch)), entries)
        tokens = list(send)
    version = _create_once(kaggle, target, before, tokens, notes)
    context.events("uploaded", f"{target.reference} version {version}", version=version)
    return Uploaded(version, sizes_of(entries))


def sizes_of(entries: list[Path]) -> dict[str, int]:
    """The bytes of each file, and of each file in the folders, by their names at Kaggle."""
    files = [p for entry in entries for p in ([entry] if entry.is_file() else files_below(entry))]
    root = entries[0].parent
    return {file.relative_to(root).as_posix(): file.stat().st_size for file in files}


def await_ready(
    context: PushContext, kaggle: Kaggle, target: Target, uploaded: Uploaded | None = None
) -> None:
    """Wait until kernels can use it: Kaggle unpacks and copies after the upload.

    With `uploaded` it is ready once Kaggle serves that version, with the bytes that were sent.
    Raises `Failure`, `RefusedError` where Kaggle could not, `NetworkError` past the time.
    """
    clock = kaggle.retries.clock
    reference, end = target.reference, clock.now() + READY_SECONDS
    while clock.now() < end:
        state = target.state(kaggle, end, uploaded.version if uploaded else 0)
        if state in UNUSABLE:
            raise RefusedError(f"Kaggle could not make {reference} usable: it is {state}")
        if state == "ready":
            served = target.latest(kaggle) if uploaded else None
            if not uploaded or (served or 0) >= uploaded.version:
                if uploaded:
                    _check_files(context, kaggle, target, uploaded, end)
                return
            state = f"version {served} is still served"
        context.events("progress", f"{reference}: {state.replace('_', ' ')}")
        clock.sleep(context.timing.patience.poll)
    raise NetworkError(
        f"{reference} is not ready yet: see https://www.kaggle.com/{target.service}/{reference}"
    )


def _check_files(
    context: PushContext, kaggle: Kaggle, target: Target, uploaded: Uploaded, until: float
) -> None:
    """Compare names and lengths with what was sent. Raises `RefusedError` where they differ."""
    method, fields = target.listing(uploaded.version)
    listed: dict[str, list[int]] = {}
    for answer in kaggle.pages(method, fields, until, target.service, target.files):
        for file in getattr(answer, target.files) or []:  # named with or without their folder
            size = file.total_bytes if hasattr(file, "total_bytes") else file.size
            listed.setdefault(PurePosixPath(file.name).name, []).append(size)
    if not listed:
        context.events(
            "unverified", f"Kaggle lists no files of {target.reference}: what it holds is open"
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
            f"{target.reference} version {uploaded.version} does not hold what was sent: missing "
            f"or of another length: {', '.join(wrong[:SHOWN])}. Upload it again"
        )


def _send(context: PushContext, kaggle: Kaggle, entry: Path, blob: str, scratch: Path) -> str:
    """Upload one file, or a folder as an archive; the token that names it to Kaggle."""
    from kagglesdk.blobs.types.blob_api_service import ApiBlobType

    with _as_file(entry, scratch) as file:
        size = size_of(file.stat().st_size)
        token = transfers.upload(
            kaggle, file, "StartBlobUpload", "blobs", type=ApiBlobType[blob], name=file.name
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


def _create_once(
    kaggle: Kaggle, target: Target, before: int | None, tokens: list[str], notes: str
) -> int:
    """Make one new version, even where Kaggle's answer is lost; its number."""
    from kagglesdk.datasets.types.dataset_api_service import ApiDatasetNewFile

    files = [ApiDatasetNewFile.from_dict({"token": token}) for token in tokens]
    method, fields = target.creation(files, None if before is None else notes)
    try:
        answer = kaggle.once(method, target.service, **fields)
    except Failure as failure:
        if not failure.is_transient:
            raise
        kaggle.retries.clock.sleep(LOOK_SECONDS)
        version = target.latest(kaggle)
        if version is None or version == before:
            raise
        return version
    if answer.error or (getattr(answer, "status", "") or "").lower() == "error":
        raise RefusedError(f"Kaggle did not take {target.reference}: {answer.error or 'no reason'}")
    return (before or 0) + 1
