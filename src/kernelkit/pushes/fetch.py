"""Bring a session's files home: in parallel, whole, and each under its right name.

A file is written among the kit's own and moved to its place once its length is the one that
the answer and Kaggle's file list both name. A signed link that has expired is replaced from a
fresh list.
"""

from __future__ import annotations

import contextlib
import fnmatch
import hashlib
import shutil
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

import requests
from requests.adapters import HTTPAdapter

from kernelkit.errors import OutputsError
from kernelkit.kaggle_api import downloads
from kernelkit.kaggle_api.client import Kaggle
from kernelkit.kaggle_api.failures import Failure, FailureKind
from kernelkit.kaggle_api.types import Kernel, Output, Outputs
from kernelkit.run_folders import kit_folder
from kernelkit.run_folders.claims import session_of
from kernelkit.terminal import safe_text

WORKERS = 16
LONGEST_NAME, LONGEST_PATH = 255, 3000  # bytes; Linux takes 255 and 4096 in all
LINK_REFRESHES = 5
SHOWN_NAMES = 20  # of files, in a message


@dataclass(frozen=True)
class Fetched:
    """What came home: files with their bytes, and the session's log as Kaggle keeps it."""

    folder: Path
    files: Mapping[str, int]
    log: str
    stayed: Mapping[str, int] = field(default_factory=dict)  # what was not to be brought

    @property
    def bytes(self) -> int:
        """All bytes of all files."""
        return sum(self.files.values())


def fetch(
    kaggle: Kaggle,
    kernel: Kernel,
    version: int,
    folder: Path,
    *,
    outputs: Outputs | None = None,
    until: float | None = None,
    only: Sequence[str] = (),
    stays: Sequence[str] = (),
) -> Fetched:
    """Every output file of a version into `folder`; `outputs` is a listing just made.

    `only`: glob patterns, where no more is wanted than the files that one of them fits; `stays`:
    patterns of files that stay at Kaggle.

    Files that an earlier fetch brought from the same session are kept if they are as they came;
    all others are fetched. Raises `OutputsError` that names what is missing, with all that
    could be fetched in place.
    """
    folder.mkdir(parents=True, exist_ok=True)
    try:
        outputs = outputs or kaggle.outputs(kernel, version, until)
        sizes = _sizes(kaggle, kernel, version, until)
    except Failure as failure:
        raise OutputsError(f"the outputs cannot be listed: {failure.error()}") from None
    if only:
        outputs, sizes = _fitting(only, outputs, sizes)
    names = [file.name for file in outputs.files]
    stayed = {name: sizes.get(name, 0) for name in names if _fits(stays, name)}
    outputs = replace(outputs, files=tuple(f for f in outputs.files if f.name not in stayed))
    sizes = {name: size for name, size in sizes.items() if not _fits(stays, name)}
    record = kit_folder.FetchedFiles(folder, session_of(outputs.log))
    record.begin()
    parts = kit_folder.path(folder, kit_folder.PARTS)
    parts.mkdir(exist_ok=True)
    links = _Links(kaggle, kernel, version, outputs, until)
    trouble: dict[str, str] = {}
    files: dict[str, int] = {}
    with requests.Session() as session, ThreadPoolExecutor(WORKERS) as pool:
        for scheme in ("https://", "http://"):
            session.mount(scheme, HTTPAdapter(pool_connections=WORKERS, pool_maxsize=WORKERS))
        download = _Download(kaggle, session, links, folder, record, until)
        running = {
            file.name: pool.submit(download, file.name, sizes.get(file.name))
            for file in outputs.files
        }
        for name, future in running.items():
            try:
                files[name] = future.result()
            except Failure as failure:
                trouble[name] = failure.message
    shutil.rmtree(parts, ignore_errors=True)
    trouble |= {name: "never listed with a link" for name in sizes if name not in running}
    if trouble:
        listed = "\n".join(
            f"  - {safe_text.one_line(name)}: {why}" for name, why in sorted(trouble.items())
        )
        raise OutputsError(
            f"{len(trouble)} of {len(trouble) + len(files)} output files could not be brought "
            f"home; those in {folder} are whole:\n{listed}"
        )
    return Fetched(folder, files, outputs.log, stayed)


def _sizes(kaggle: Kaggle, kernel: Kernel, version: int, until: float | None) -> dict[str, int]:
    """The lengths in Kaggle's file list; empty where Kaggle does not answer with one."""
    try:
        return kaggle.sizes(kernel, version, until)
    except Failure as failure:
        if failure.is_transient:
            raise
        return {}


def _fits(patterns: Sequence[str], name: str) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def _fitting(
    only: Sequence[str], outputs: Outputs, sizes: Mapping[str, int]
) -> tuple[Outputs, dict[str, int]]:
    """The files of a listing that fit a pattern; raises `OutputsError` where none does."""
    files = tuple(file for file in outputs.files if _fits(only, file.name))
    kept = {name: size for name, size in sizes.items() if _fits(only, name)}
    if not files and not kept:
        names = [safe_text.one_line(file.name) for file in outputs.files]
        more = f" and {len(names) - SHOWN_NAMES} more" if len(names) > SHOWN_NAMES else ""
        raise OutputsError(
            f"no output file fits {' or '.join(only)}: the run left "
            f"{', '.join(names[:SHOWN_NAMES]) or 'none'}{more}"
        )
    return replace(outputs, files=files), kept


class _Links:
    """The signed links of a listing, which any thread may ask to renew."""

    def __init__(
        self, kaggle: Kaggle, kernel: Kernel, version: int, outputs: Outputs, until: float | None
    ) -> None:
        self._kaggle, self._kernel, self._version, self._until = kaggle, kernel, version, until
        self._urls = _urls(outputs.files)
        self._lock = threading.Lock()
        self._refreshes = 0

    def url(self, name: str) -> str:
        """The link to a file, as last listed."""
        with self._lock:
            return self._urls[name]

    def renew(self, name: str, expired: str) -> None:
        """List again, unless another thread has since `expired` was handed out."""
        with self._lock:
            if self._urls.get(name) != expired:
                return
            if self._refreshes >= LINK_REFRESHES:
                raise Failure(
                    FailureKind.REFUSED,
                    downloads.METHOD,
                    "its link stays refused, however often renewed",
                )
            self._refreshes += 1
            listed = self._kaggle.outputs(self._kernel, self._version, self._until)
            self._urls |= _urls(listed.files)


class _Download:
    """Fetches one file at each call; one instance serves all threads."""

    def __init__(
        self,
        kaggle: Kaggle,
        session: requests.Session,
        links: _Links,
        folder: Path,
        record: kit_folder.FetchedFiles,
        until: float | None,
    ) -> None:
        self._kaggle, self._session, self._links = kaggle, session, links
        self._folder, self._record, self._until = folder, record, until

    def __call__(self, name: str, size: int | None) -> int:
        """Bytes of the file once it lies whole under its name; raises `Failure`."""
        target = _place(self._folder, name)
        if size is not None and self._record.holds(name, target, size):
            return size
        # Not beside its place: the run may have left a file of that name too.
        unique = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
        part = kit_folder.path(self._folder, kit_folder.PARTS, f"{unique}.part")
        try:
            received = self._kaggle.retries.call(lambda: self._once(name, part, size), self._until)
            target.parent.mkdir(parents=True, exist_ok=True)
            part.replace(target)
            self._record.add(name, target)
        finally:
            with contextlib.suppress(FileNotFoundError):
                part.unlink()
        return received

    def _once(self, name: str, part: Path, size: int | None) -> int:
        url = self._links.url(name)
        try:
            return downloads.receive(self._kaggle, self._session, url, part, size, self._until)
        except downloads.LinkExpiredError:
            self._links.renew(name, url)
            raise


def _place(folder: Path, name: str) -> Path:
    """Where a file goes; a name that leads out of the folder is refused.

    The run's own files never take the kit's name: those that bear it go to a folder inside.
    """
    pure = PurePosixPath(name)
    _refuse_unwritable(pure)
    if pure.is_absolute() or ".." in pure.parts or not pure.parts or "\\" in name or "\0" in name:
        raise _refused("its name leads out of the folder")
    if pure.parts[0].casefold() == kit_folder.NAME:
        return kit_folder.path(folder, kit_folder.OUTPUTS, *pure.parts)
    return folder.joinpath(*pure.parts)


def _refuse_unwritable(name: PurePosixPath) -> None:
    try:
        longest = max((len(part.encode()) for part in name.parts), default=0)
    except UnicodeEncodeError:
        raise _refused("its name is not Unicode") from None
    if longest > LONGEST_NAME or len(str(name).encode()) > LONGEST_PATH:
        raise _refused("its name is longer than a disk takes")


def _refused(why: str) -> Failure:
    return Failure(FailureKind.REFUSED, downloads.METHOD, why)


def _urls(files: tuple[Output, ...]) -> dict[str, str]:
    return {file.name: file.url for file in files}
