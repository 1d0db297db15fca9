"""Download a session's files: in parallel, complete, and each under its right name.

A file is written into the kit's own folder and moved to its place once it matches the session's
manifest; without a manifest, once its length matches the response and Kaggle's file list. A signed
link that has expired is replaced from a fresh list.
"""

from __future__ import annotations

import contextlib
import fnmatch
import hashlib
import shutil
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from kernelkit.errors import OutputsError
from kernelkit.kaggle_api import transfers
from kernelkit.kaggle_api.client import Kaggle, Outputs
from kernelkit.kaggle_api.connection import StoreSession
from kernelkit.kaggle_api.retries import Failure, FailureKind
from kernelkit.kaggle_api.transfers import Expected
from kernelkit.plans.manifest import MANIFEST
from kernelkit.pushes.proof import Manifest
from kernelkit.run_folders import kit_folder
from kernelkit.shown import duration
from kernelkit.terminal import safe_text
from kernelkit.terminal.events import from_here, size_of
from kernelkit.workspace.context import PushContext
from kernelkit.workspace.ledger import Push

WORKERS = 16
LONGEST_NAME, LONGEST_PATH = 255, 3000  # bytes; Linux takes 255 and 4096 in all
LINK_RENEWALS = 5
SHOWN_NAMES = 20  # of files, in a message


def fetch(
    context: PushContext,
    kaggle: Kaggle,
    push: Push,
    folder: Path,
    outputs: Outputs,
    only: Sequence[str] = (),
    manifest: Manifest | None = None,
) -> dict[str, int]:
    """Download the files of a push's `outputs` into `folder`; returns the bytes of each.

    `only`: glob patterns of the files to download. Without them, these are all files except those
    that the push leaves on Kaggle. Files from an earlier download of the same session are kept if
    they are unchanged. `manifest`: the session's list of its files, to verify them; other files are
    downloaded too, and reported as unverified.

    Raises `OutputsError` that names the missing files; everything else is in its place then.
    """
    clock = context.timing.clock
    begun = clock.now()
    until = begun + context.timing.fetch_seconds
    expected = _expected(kaggle, push, manifest, until)
    listed = [name for name in outputs.files if name != MANIFEST]
    # Kaggle may omit hidden files.
    listed += [name for name in expected if name != MANIFEST and "/." not in f"/{name}"]
    names = dict.fromkeys(listed)
    wanted = [name for name in names if _fits(only, name) or not (only or _fits(push.stays, name))]
    if only and not wanted:
        raise OutputsError(
            f"no output file matches {' or '.join(only)}: the run has {_listed(names) or 'none'}"
        )
    links = _Links(outputs, lambda: kaggle.outputs(push.name, push.version or 0, until))
    record = kit_folder.FetchedFiles(folder)
    with StoreSession(WORKERS) as session:
        clear = context.events.clear
        download = _Download(kaggle, session, links, folder, record, until, clear)
        fetched = _all(download, {name: expected.get(name, Expected()) for name in wanted})
    size = f"{size_of(sum(fetched.values()))} in {duration(clock.wall(clock.now() - begun))}"
    count = f"{len(fetched)} of {len(names)}" if only else len(fetched)
    text = f"{count} file{'s' * (len(names) != 1)}, {size}: {from_here(folder)}"
    context.events("fetched", text, files=fetched, folder=str(folder))
    if not only:
        stays = {n: expected.get(n, Expected()).size or 0 for n in names if n not in fetched}
        _report_stays(context, push, stays)
    _report_unverified(context, manifest, fetched)
    return fetched


def _expected(
    kaggle: Kaggle, push: Push, manifest: Manifest | None, until: float
) -> Mapping[str, Expected]:
    """What each file must be, from the manifest, or else its length from Kaggle's file list."""
    if manifest:
        return manifest.files
    try:
        sizes = kaggle.sizes(push.name, push.version or 0, until)
    except Failure as failure:
        if failure.is_transient:
            raise OutputsError(f"the outputs cannot be listed: {failure}") from None
        return {}
    return {name: Expected(size) for name, size in sizes.items()}


def _report_unverified(
    context: PushContext, manifest: Manifest | None, fetched: Collection[str]
) -> None:
    verified = {name for name, file in manifest.files.items() if file.sha256} if manifest else set()
    doubtful = [name for name in fetched if name not in verified]
    if not doubtful:
        return
    why = "its manifest does not name or hash" if manifest else "it left no manifest of"
    context.events(
        "unverified",
        f"{len(doubtful)} files that {why} may be another run's: {_listed(doubtful)}",
        files=doubtful,
    )


def _fits(patterns: Sequence[str], name: str) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def _listed(names: Collection[str]) -> str:
    shown = ", ".join(safe_text.one_line(name) for name in [*names][:SHOWN_NAMES])
    return shown + (f" and {len(names) - SHOWN_NAMES} more" if len(names) > SHOWN_NAMES else "")


def _report_stays(context: PushContext, push: Push, stays: Mapping[str, int]) -> None:
    if stays:
        context.events(
            "stays",
            f"{len(stays)} files, {size_of(sum(stays.values()))}, are only useful in sessions; to "
            f"download: kernelkit fetch {push.reference} --only '{push.stays[0]}'",
            files=dict(stays),
        )


def _all(download: _Download, expected: Mapping[str, Expected]) -> dict[str, int]:
    """The bytes of each file, once all are downloaded; raises `OutputsError` if any are missing."""
    parts = kit_folder.path(download.folder, kit_folder.PARTS)
    parts.mkdir(exist_ok=True)
    fetched: dict[str, int] = {}
    trouble: dict[str, str] = {}
    with ThreadPoolExecutor(WORKERS) as pool:
        running = {name: pool.submit(download, name, file) for name, file in expected.items()}
        for name, future in running.items():
            try:
                fetched[name] = future.result()
            except Failure as failure:
                trouble[name] = f"  - {safe_text.one_line(name)}: {failure.message}"
    shutil.rmtree(parts, ignore_errors=True)
    if trouble:
        lines = "\n".join(trouble[name] for name in sorted(trouble))
        raise OutputsError(
            f"{len(trouble)} of {len(expected)} output files could not be downloaded; those in "
            f"{download.folder} are complete:\n{lines}"
        )
    return fetched


class _Links:
    """The signed links of a listing, which any thread may renew."""

    def __init__(self, outputs: Outputs, list_again: Callable[[], Outputs]) -> None:
        self._urls = dict(outputs.files)
        self._list_again = list_again
        self._lock = threading.Lock()
        self._renewals = 0

    def url(self, name: str) -> str:
        """The link to a file, as last listed; raises `Failure` where there is none."""
        with self._lock:
            if name not in self._urls:
                self._renew()  # the list may be incomplete
            if name not in self._urls:
                raise _refused("Kaggle does not list it")
            return self._urls[name]

    def renew(self, name: str, expired: str) -> None:
        """List the files again, unless another thread has done so since `expired` was returned."""
        with self._lock:
            if self._urls.get(name) != expired:
                return
            if not self._renew():
                raise _refused("its link is refused, although it was renewed")

    def _renew(self) -> bool:
        """Take the links of a fresh list, unless the limit is reached."""
        if self._renewals >= LINK_RENEWALS:
            return False
        self._renewals += 1
        self._urls |= self._list_again().files
        return True


@dataclass(frozen=True)
class _Download:
    """Fetches one file at each call; one instance serves all threads."""

    kaggle: Kaggle
    session: StoreSession
    links: _Links
    folder: Path
    record: kit_folder.FetchedFiles
    until: float
    clear: Callable[[str], str]

    def __call__(self, name: str, expected: Expected) -> int:
        """Download a file to its place; returns its bytes. Raises `Failure`."""
        if self.clear(name) != name:
            raise _refused("its name contains your credentials")
        target, size = _place(self.folder, name), expected.size
        if size is not None and self.record.holds(name, target, size):
            return size
        # Not in the same folder: the run may also have written a file of that name.
        unique = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
        part = kit_folder.path(self.folder, kit_folder.PARTS, f"{unique}.part")
        try:
            received = self.kaggle.retries.call(
                lambda: self._once(name, part, expected), self.until
            )
            target.parent.mkdir(parents=True, exist_ok=True)
            part.replace(target)
            self.record.add(name, target)
        finally:
            with contextlib.suppress(FileNotFoundError):
                part.unlink()
        return received

    def _once(self, name: str, part: Path, expected: Expected) -> int:
        url = self.links.url(name)
        try:
            return transfers.receive(self.kaggle, self.session, url, part, expected, self.until)
        except Failure as failure:
            if failure.kind is FailureKind.EXPIRED:
                self.links.renew(name, url)
            raise


def _place(folder: Path, name: str) -> Path:
    """The path of a file; raises `Failure` for a name that points outside the folder.

    A run's files whose name collides with the kit's folder go to a folder inside that.
    """
    pure = PurePosixPath(name)
    try:
        longest = max((len(part.encode()) for part in pure.parts), default=0)
    except UnicodeEncodeError:
        raise _refused("its name is not Unicode") from None
    if longest > LONGEST_NAME or len(str(pure).encode()) > LONGEST_PATH:
        raise _refused("its name is too long for a file system")
    if pure.is_absolute() or ".." in pure.parts or not pure.parts or "\\" in name or "\0" in name:
        raise _refused("its name points outside the folder")
    if pure.parts[0].casefold() == kit_folder.NAME:
        return kit_folder.path(folder, kit_folder.OUTPUTS, *pure.parts)
    return folder.joinpath(*pure.parts)


def _refused(why: str) -> Failure:
    return Failure(FailureKind.REFUSED, transfers.DOWNLOAD, why)
