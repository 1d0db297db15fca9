"""Download a session's files: in parallel, complete, and each under its right name.

A file is written into the kit's own folder and moved to its place once it matches the session's
manifest; without a manifest, once its length and hash match the response. What arrived of a file
stays there until then, so that the next command requests only the rest. A signed link that has
expired is replaced from a fresh list.

Where a file stands is said in `output_names`; those whose names cannot be here are told.
"""

import errno
import fnmatch
import hashlib
import shlex
import textwrap
import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path, PurePosixPath

from kernelkit import files
from kernelkit.errors import OutputsError
from kernelkit.kaggle.client import Outputs
from kernelkit.kaggle.exchange import transfers
from kernelkit.kaggle.exchange.transfers import Expected
from kernelkit.kaggle.transport.connection import StoreSession
from kernelkit.kaggle.transport.failures import Failure, FailureKind
from kernelkit.push.bundle.manifest import MANIFEST
from kernelkit.push.delivered import output_names
from kernelkit.push.known.ledger import Push
from kernelkit.push.known.push_context import PushContext
from kernelkit.runs import kit_folder
from kernelkit.runs.fetched import FetchedFiles
from kernelkit.session.places import FOLDER as OF_SESSION
from kernelkit.session_records.session_manifest import Manifest
from kernelkit.shown import duration
from kernelkit.terminal import safe_text
from kernelkit.terminal.events import Event, from_here, size_of
from kernelkit.terminal.live_line import fitted

FETCHED = Event("fetched", quiet=True)
STAYS = Event("stays")
UNVERIFIED = Event("unverified", quiet=True)
ESCAPED = Event("renamed", quiet=True)
WORKERS = 16
LINK_RENEWALS = 5
GIT = ".git"
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
LONGEST_LIST = 500  # characters of the names of files in a message


def fetch(
    context: PushContext,
    push: Push,
    folder: Path,
    outputs: Outputs,
    manifest: Manifest | None = None,
    only: Sequence[str] = (),
) -> dict[str, int]:
    """Download the files of a push's `outputs` into `folder`; returns the bytes of each.

    `manifest`: the session's list of its files, to verify them; other files are downloaded too, and
    reported as unverified. `only`: glob patterns of the files to download. Without them, these are
    all files except those that the push leaves on Kaggle. What makes a git repository is only
    downloaded for a pattern that has `.git` in it or is its name. Files from an earlier download of
    the same session are kept if they are unchanged.

    Raises `OutputsError` that names the missing files; everything else is in its place then.
    """
    clock = context.timing.clock
    begun = clock.now()
    recorded = manifest.files if manifest else {}
    expected = {
        output_names.normal(name): Expected(file.size, file.sha256)
        for name, file in recorded.items()
    }
    verified = {name for name, file in expected.items() if file.sha256}
    links = output_names.by_path(outputs.files)
    verified_first = sorted(links, key=lambda name: name not in verified)
    met = output_names.meeting(verified_first, output_names.told_apart_in(folder))
    names = _without_repositories(context, push, _named(links, expected), only)
    chosen = _chosen(names, only, push.stays)
    downloads = _Downloads(context, push, folder, links, met)
    every = downloads.all({name: expected.get(name, Expected()) for name in chosen})
    _tell_escaped(context, downloads, every)
    # The report shows what the session recorded; these are the run's own.
    fetched = {name: size for name, size in every.items() if not _is_kits(name)}
    size = f"{size_of(sum(fetched.values()))} in {duration(clock.wall(clock.now() - begun))}"
    count = len([name for name in names if not _is_kits(name)])
    text = f"{len(fetched)} of {count} files, {size}: {from_here(folder)}"
    context.events(FETCHED, text, files=fetched, folder=str(folder))
    if len(fetched) < count and not only:
        options = " ".join(f"--only {shlex.quote(pattern)}" for pattern in push.stays)
        text = f"{context.resuming(push)} {options} downloads the others"
        context.events(STAYS, f"files that only sessions use stay on Kaggle: {text}")
    doubtful = [name for name in fetched if name not in verified]
    if doubtful:
        why = "the session left no manifest"
        if manifest:
            why = "the session's manifest does not name or hash what is there"
        _tell_doubtful(context, doubtful, why)
    return fetched


def _named(links: Iterable[str], expected: Iterable[str]) -> list[str]:
    """The files that Kaggle lists, and those of the manifest that it has to list.

    It may omit hidden files. The manifest itself is fetched already.
    """
    to_list = [name for name in expected if "/." not in f"/{name}"]
    return [name for name in dict.fromkeys([*links, *to_list]) if name != MANIFEST]


def _chosen(names: Sequence[str], only: Sequence[str], stays: Sequence[str]) -> list[str]:
    """The files to download: those that fit `only`, or else all but those that stay on Kaggle.

    Raises `OutputsError` if none fits `only`.
    """
    if not only:
        return [name for name in names if _is_kits(name) or not _fits(stays, name)]
    chosen = [name for name in names if _fits(only, name)]
    if not chosen:
        wanted = " or ".join(only)
        there = _listed(names) or "none"
        error = OutputsError(f"no output file matches {wanted}: the run has {there}")
        error.is_final = True
        raise error
    return chosen


def _without_repositories(
    context: PushContext, push: Push, names: Sequence[str], only: Sequence[str]
) -> list[str]:
    """The files without those of git repositories, which `only` may ask for; tells what stays."""
    of_git = _of_repositories(names)
    asked = [pattern for pattern in only if GIT in pattern]
    asked += [name for name in only if name in of_git]
    if of_git and not only:
        command = f"{context.resuming(push)} --only"
        many = "1 file" if len(of_git) == 1 else f"{len(of_git)} files"
        context.events(
            STAYS,
            f"{many} of git repositories stay on Kaggle, because git would run what their settings "
            f"name ({_listed(sorted(of_git))}): {command} '*{GIT}/*' downloads what is in {GIT}, "
            f"and {command} PATH any other",
        )
    return [name for name in names if name not in of_git or _fits(asked, name)]


def _of_repositories(names: Iterable[str]) -> set[str]:
    """Which of a run's files would make a folder a git repository: those in `.git`, and any HEAD.

    git takes commands from a repository's settings, and shells and editors start it in any folder.
    A bare repository without HEAD is none.
    """
    found = set()
    for name in names:
        parts = [part.casefold() for part in PurePosixPath(name).parts]
        if GIT in parts or parts[-1:] == ["head"]:
            found.add(name)
    return found


def _tell_escaped(context: PushContext, downloads: "_Downloads", fetched: Iterable[str]) -> None:
    """Tell which files stand under an escaped name."""
    escaped = [name for name in fetched if downloads.place_of(name).parent == downloads.aside]
    if escaped:
        words = f"{len(escaped)} files have names that cannot be here, and stand in"
        if len(escaped) == 1:
            words = "1 file has a name that cannot be here, and stands in"
        text = f"{words} {from_here(downloads.aside)}: {_listed(escaped)}"
        context.events(ESCAPED, text, files=escaped)


def _tell_doubtful(context: PushContext, doubtful: Sequence[str], why: str) -> None:
    """Tell which files are not proved to be this push's."""
    many = "1 file" if len(doubtful) == 1 else f"{len(doubtful)} files"
    words = f"{many} may come from another run, since {why}: {_listed(doubtful)}"
    context.events(UNVERIFIED, words, files=doubtful)


def _is_kits(name: str) -> bool:
    """Whether a file of a session is what the kit recorded there."""
    return name.startswith(f"{OF_SESSION}/")


def _fits(patterns: Sequence[str], name: str) -> bool:
    """Whether a name fits one of these glob patterns, or is one of them as it stands."""
    return name in patterns or any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def _listed(names: Iterable[str]) -> str:
    listed = ", ".join(map(safe_text.one_line, names))
    return textwrap.shorten(listed, LONGEST_LIST, placeholder=" …")


class SecretNameError(Exception):
    """A file's name has a secret of the account's in it, which must not be written down."""


class _Downloads:
    """Downloads the files of one push with many threads, which share the latest links."""

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
