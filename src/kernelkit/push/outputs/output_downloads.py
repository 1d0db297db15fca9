"""Download many files of a session at a time, each whole or not at all.

A file is written into the kit's own folder and moved to its place once it matches the session's
manifest; without a manifest, once its length and hash match the response. What arrived of a file
stays there until then, so that the next command requests only the rest. A signed link that has
expired is replaced from a fresh list.
"""

import errno
import hashlib
import threading
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path

from kernelkit import files
from kernelkit.errors import OutputsError
from kernelkit.kaggle.exchange import transfers
from kernelkit.kaggle.exchange.transfers import Expected
from kernelkit.kaggle.transport.connection import StoreSession
from kernelkit.kaggle.transport.failures import Failure, FailureKind
from kernelkit.push.known.ledger import Push
from kernelkit.push.known.push_context import PushContext
from kernelkit.push.outputs import output_names
from kernelkit.runs import kit_folder
from kernelkit.runs.fetched import FetchedFiles
from kernelkit.terminal import safe_text
from kernelkit.terminal.live_line import fitted

WORKERS = 16
LINK_RENEWALS = 5
# Of a path that this file system does not take, or where another file has a folder's place.
OF_ITS_NAME = {
    errno.EEXIST,
    errno.ENOTDIR,
    errno.EISDIR,
    errno.ENOTEMPTY,
    errno.ENAMETOOLONG,
    errno.EILSEQ,
    errno.EINVAL,
    errno.ELOOP,
}
LONGEST_SHOWN = 200  # characters of a name


class SecretNameError(Exception):
    """A file's name has a secret of the account's in it, which must not be written down."""


class OutputDownloads:
    """Downloads the files of one push with many threads, which share the latest links.

    `met` are the names whose files would take the place of others, and stand aside.
    """

    def __init__(
        self,
        context: PushContext,
        push: Push,
        folder: Path,
        links: Mapping[str, str],
        met: Collection[str],
    ) -> None:
        self._events = context.events
        self._kaggle = context.kaggle
        self._push = push
        self._folder = folder
        self._interrupted = False
        self._complete = 0  # bytes of the files that this command completed
        self._until = context.timing.clock.now() + context.timing.fetch_seconds
        self._record = FetchedFiles(folder)
        self._parts = kit_folder.path(folder, kit_folder.PARTS)
        self._progress = transfers.Progress("downloading", 0, self._arrived)
        self.aside = kit_folder.path(folder, kit_folder.OUTPUTS)
        self._escaped = set(met)  # names that cannot be here, as far as that is known
        self._links = dict(links)
        self._renewals = 0
        self._lock = threading.Lock()

    def place_of(self, name: str) -> Path:
        """Where a file stands, or is to stand."""
        if name in self._escaped or not output_names.is_plain(name):
            return self.aside / output_names.escaped(name)
        return kit_folder.output(self._folder, name)

    def all(self, expected: Mapping[str, Expected]) -> dict[str, int]:
        """The bytes of each file, once all are there; raises `OutputsError` if any are missing."""
        fetched: dict[str, int] = {}
        trouble: dict[str, Failure | SecretNameError] = {}
        self._parts.mkdir(exist_ok=True)
        self._download(expected, fetched, trouble)
        with suppress(OSError):  # a file did not arrive
            self._parts.rmdir()
        if not trouble:
            return fetched
        lines = [
            f"{len(trouble)} of {len(expected)} output files could not be downloaded; those in "
            f"{self._folder} are complete:"
        ]
        for name, failure in trouble.items():
            shown = fitted(safe_text.one_line(name), LONGEST_SHOWN)
            why = failure.message if isinstance(failure, Failure) else failure
            lines.append(f"  - {shown}: {why}")
        is_final = not any(isinstance(failure, Failure) for failure in trouble.values())
        if is_final:  # all are names
            lines.append("Give them other names in the notebook, and push again")
        error = OutputsError("\n".join(lines))
        error.is_final = is_final
        raise error

    def _download(
        self,
        expected: Mapping[str, Expected],
        fetched: dict[str, int],
        trouble: dict[str, Failure | SecretNameError],
    ) -> None:
        """Download into `fetched`; `trouble` gets the failure of each file that did not arrive.

        Raises `OSError` if a file cannot be written.
        """
        sizes = [file.size for file in expected.values()]
        if None not in sizes:
            self._progress.total = sum(filter(None, sizes))
        with (
            StoreSession(WORKERS) as session,
            ThreadPoolExecutor(WORKERS) as pool,
            self._events.moving(self._progress),
        ):
            running = {
                name: pool.submit(self._fetch, session, name, file)
                for name, file in expected.items()
            }
            for name, future in sorted(running.items()):
                try:
                    fetched[name] = future.result()
                except (Failure, SecretNameError) as failure:
                    trouble[name] = failure
                except BaseException:  # an interrupt, a full disk: begin no other download
                    self._interrupted = True
                    pool.shutdown(wait=False, cancel_futures=True)
                    raise

    def _fetch(self, session: StoreSession, name: str, expected: Expected) -> int:
        """Download a file to its place; returns its bytes.

        Raises `Failure` and `SecretNameError`.
        """
        if self._events.clear(name) != name:
            raise SecretNameError("its name contains your credentials")
        target = self.place_of(name)
        if self._is_here(name, target, expected):
            size = target.stat().st_size
            with self._lock:
                self._progress.total -= size
            return size
        # Not in the same folder: the run may also have written a file of that name.
        unique = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
        part = self._parts / f"{unique}.part"
        receive = partial(self._receive, session, name, part, expected)
        with files.named(target):
            received = self._kaggle.retries.call(receive, self._until)
        try:
            _move(part, target)
        except OSError as error:
            if error.errno not in OF_ITS_NAME:
                raise
            self._escaped.add(name)  # this file system does not take it
            target = self.place_of(name)
            _move(part, target)
        transfers.forget(part)
        self._record.add(name, target, expected.sha256)
        with self._lock:
            self._complete += received
        return received

    def _is_here(self, name: str, target: Path, expected: Expected) -> bool:
        """Whether an earlier download of the same session has put the expected file here."""
        if not self._record.holds(name, target, expected.size):
            return False
        if not expected.sha256 or self._record.verified(name, expected.sha256):
            return True
        # It was taken unverified, or by an older version of the kit.
        if files.sha256_of(target) != expected.sha256:
            return False
        self._record.add(name, target, expected.sha256)
        return True

    def _receive(self, session: StoreSession, name: str, part: Path, expected: Expected) -> int:
        """Download a file once, through its link; a list of fresh links serves all threads."""
        with self._lock:
            if name not in self._links and self._renewals < LINK_RENEWALS:
                self._renewals += 1
                push = self._push
                listed = self._kaggle.outputs(push.name, push.version, self._until).files
                self._links |= output_names.by_path(listed)
            url = self._links.get(name)
        if url is None:
            raise _refused("Kaggle does not list it, or refuses every link to it")
        try:
            return transfers.receive(self._kaggle, session, url, part, expected, self._is_late)
        except Failure as failure:
            with self._lock:
                if failure.kind is FailureKind.EXPIRED and self._links.get(name) == url:
                    del self._links[name]
            raise

    def _arrived(self) -> int:
        """The bytes that are here: of complete files, and of parts of others."""
        arrived = self._complete
        for part in self._parts.glob("*.part"):
            with suppress(OSError):  # it has just been completed
                arrived += part.stat().st_size
        return arrived

    def _is_late(self) -> bool:
        if self._interrupted:
            raise _refused("interrupted")
        return self._kaggle.retries.clock.now() > self._until


def _move(part: Path, target: Path) -> None:
    with files.named(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        part.replace(target)


def _refused(why: str) -> Failure:
    return Failure(FailureKind.REFUSED, transfers.DOWNLOAD, why)
