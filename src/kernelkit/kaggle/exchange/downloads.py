"""What a kernel has attached, downloaded from Kaggle: each source as one archive, verified.

A download that breaks off, or whose command is killed, continues where it was. A folder of files
appears in its place whole, once every file that Kaggle lists is there in its length.
"""

import shutil
import stat
import sys
import tarfile
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Any

from kernelkit import files
from kernelkit.errors import NOT_VISIBLE, OutputsError, PreflightError, RefusedError
from kernelkit.kaggle.client import Kaggle, accept_rules
from kernelkit.kaggle.exchange import transfers
from kernelkit.kaggle.exchange.targets import Dataset, Variation
from kernelkit.kaggle.exchange.transfers import Expected
from kernelkit.kaggle.kernel import Kernel
from kernelkit.kaggle.transport.connection import StoreSession
from kernelkit.kaggle.transport.failures import Failure, FailureKind
from kernelkit.terminal.events import Events, size_of

SHOWN = 5  # names of files, in an error
CHUNK = 1 << 20


class DamagedError(Exception):
    """An archive cannot be read."""


@dataclass(frozen=True)
class Offered:
    """A source as Kaggle has it now.

    kind, source  as in a kernel's metadata
    version       its number; None for a competition, and for a kernel's latest
    sizes         bytes of each file that Kaggle lists, with its name, perhaps without its folder
    archive       asks Kaggle for all files in one archive: a streamed response
    """

    kind: str
    source: str
    version: int | None
    sizes: tuple[tuple[str, int], ...]
    archive: Callable[[], Any]

    @property
    def size(self) -> int | None:
        """Bytes of all files; None where Kaggle does not say."""
        return sum(size for _, size in self.sizes) or None

    @property
    def words(self) -> str:
        """Such as "dataset owner/slug, version 3: 2 files, 4.0 MB"."""
        version = f", version {self.version}" if self.version else ""
        many = "1 file" if len(self.sizes) == 1 else f"{len(self.sizes)} files"
        size = "of a size that Kaggle does not say" if self.size is None else size_of(self.size)
        return f"{self.kind} {self.source}{version}: {many}, {size}"


def look(kaggle: Kaggle, kind: str, source: str) -> Offered:
    """Ask Kaggle which files a source has.

    Raises `Failure`, which names the source, and `PreflightError` for a model's framework that
    Kaggle does not have.
    """
    with _naming(kind, source):
        return _LOOKS[kind](kaggle, source)


def _competition(kaggle: Kaggle, source: str) -> Offered:
    pages = kaggle.pages(partial(kaggle.calls.list_data_files, source))
    sizes = [(file.name, file.total_bytes) for page in pages for file in page.files]
    archive = partial(kaggle.calls.download_data_files, source)
    return Offered("competition", source, None, tuple(sizes), archive)


def _dataset(kaggle: Kaggle, source: str) -> Offered:
    owner, slug, *pinned = source.split("/")
    dataset = Dataset(f"{owner}/{slug}")
    version = int(pinned[0]) if pinned else dataset.latest(kaggle)
    if version is None:
        raise RefusedError(NOT_VISIBLE.format(f"dataset {dataset.reference}"))
    archive = partial(kaggle.calls.download_dataset, owner, slug, version)
    sizes = tuple(dataset.sizes(kaggle, version))
    return Offered("dataset", dataset.reference, version, sizes, archive)


def _kernel(kaggle: Kaggle, source: str) -> Offered:
    owner, slug, *pinned = source.split("/")
    version = int(pinned[0]) if pinned else None
    kernel = Kernel(owner, slug)
    pages = kaggle.pages(partial(kaggle.calls.list_kernel_files, kernel, version))
    sizes = [(file.name, file.size) for page in pages for file in page.files]
    archive = partial(kaggle.calls.download_kernel_output, kernel, version)
    return Offered("kernel", f"{owner}/{slug}", version, tuple(sizes), archive)


def _model(kaggle: Kaggle, source: str) -> Offered:
    reference, _, number = source.rpartition("/")
    variation = Variation(reference, {})
    version = int(number)
    archive = partial(kaggle.calls.download_model_instance_version, *variation.name, version)
    sizes = tuple(variation.sizes(kaggle, version))
    return Offered("model", reference, version, sizes, archive)


_LOOKS: Mapping[str, Callable[[Kaggle, str], Offered]] = {
    "competition": _competition,
    "dataset": _dataset,
    "kernel": _kernel,
    "model": _model,
}


@contextmanager
def _naming(kind: str, source: str) -> Iterator[None]:
    """A block whose `Failure` says of which source it is, and what to do after a refusal."""
    try:
        yield
    except Failure as failure:
        failure.args = (f"{kind} {source}: {failure}",)
        if failure.kind is not FailureKind.REFUSED:
            raise
        if kind == "competition":
            raise failure.advising(accept_rules(source)) from None
        if kind == "model":
            page = "/".join(source.split("/")[:2])
            raise failure.advising(
                f"accept its license, if it has one: https://www.kaggle.com/models/{page}"
            ) from None
        # Kaggle refuses to show a kernel that does not exist.
        raise failure.advising(FailureKind.NOT_FOUND.step) from None


def download(
    kaggle: Kaggle, offered: Offered, folder: Path, most: int, until: float, events: Events
) -> None:
    """Put the files of a source into `folder`, which does not exist yet.

    The archive, and what is unpacked, stand beside the folder until it is whole. `most`: the bytes
    that each of them may have. `until`: when to give up, on the retries' clock. Raises `Failure`,
    `PreflightError` for more bytes, and `OutputsError` for an archive that has not what Kaggle
    lists.
    """
    part = folder.with_name(f"{folder.name}.part")
    unpacked = folder.with_name(f"{folder.name}.unpacked")
    if offered.size is not None:
        most = max(most, 2 * offered.size)  # an archive of small files is larger than they are
    part.parent.mkdir(parents=True, exist_ok=True)

    def received() -> int:
        return part.stat().st_size if part.is_file() else 0

    progress = transfers.Progress(f"downloading {offered.source}:", 0, received)
    with StoreSession() as session, events.moving(progress), _naming(offered.kind, offered.source):
        fetch = partial(_fetch, kaggle, session, offered, part, unpacked, most, until)
        kaggle.retries.call(fetch, until)
    _check(offered, unpacked)
    unpacked.rename(folder)


def _fetch(
    kaggle: Kaggle,
    session: StoreSession,
    offered: Offered,
    part: Path,
    unpacked: Path,
    most: int,
    until: float,
) -> None:
    """Download the archive, or the rest of it, and unpack it, once; raises as `download`."""
    with offered.archive() as response:
        # Where Kaggle leads to; the rest of an earlier download comes from there.
        url = response.url

    def is_late() -> bool:
        """Whether the time is over; raises `PreflightError` once there are too many bytes."""
        if part.stat().st_size > most:
            raise _too_large(offered, most)
        return kaggle.retries.clock.now() > until

    unbounded = Expected(most=sys.maxsize)  # except by `is_late`
    transfers.receive(kaggle, session, url, part, unbounded, is_late)
    shutil.rmtree(unpacked, ignore_errors=True)  # of a command that was killed
    try:
        whole = _unpack(part, unpacked, most)
    except DamagedError:
        transfers.forget(part)
        malformed = FailureKind.MALFORMED
        raise Failure(malformed, transfers.DOWNLOAD, "the archive is damaged") from None
    if not whole:
        raise _too_large(offered, most)
    transfers.forget(part)


def _too_large(offered: Offered, most: int) -> PreflightError:
    return PreflightError(
        f"{offered.kind} {offered.source} has more than {size_of(most)}, which Kaggle did not say: "
        "allow more with --download GB"
    )


def _unpack(archive: Path, folder: Path, most: int) -> bool:
    """Unpack an archive's files into a new folder; links in it are left out.

    Returns whether all of them have no more bytes than `most`. Raises `DamagedError`, and
    `OutputsError` for a name that leads outside.
    """
    folder.mkdir()
    written = 0
    for name, content in _members(archive):
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or "\0" in name:
            raise OutputsError(f"the archive has a file {name!r}, which leads out of its folder")
        place = folder / path
        with files.named(place):
            place.parent.mkdir(parents=True, exist_ok=True)
            with place.open("wb") as file:
                for chunk in content:
                    written += len(chunk)
                    if written > most:
                        return False
                    file.write(chunk)
    return True


def _members(archive: Path) -> Iterator[tuple[str, Iterator[bytes]]]:
    """The names and contents of the files in an archive, a zip or a tar."""
    with _reading():
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as zipped:
                for entry in zipped.infolist():
                    is_link = stat.S_ISLNK(entry.external_attr >> 16)  # its mode on Unix
                    if not entry.is_dir() and not is_link:
                        with zipped.open(entry) as content:
                            yield entry.filename, _chunks(content)
            return
        with tarfile.open(archive) as tarred:
            for member in tarred:
                content_of_tar = tarred.extractfile(member) if member.isfile() else None
                if content_of_tar is not None:
                    yield member.name, _chunks(content_of_tar)


def _chunks(content: IO[bytes]) -> Iterator[bytes]:
    with _reading():
        while chunk := content.read(CHUNK):
            yield chunk


@contextmanager
def _reading() -> Iterator[None]:
    """A block of a generator that reads an archive: what is raised there says that it is damaged.

    Python's modules raise nearly every exception for one, a `RuntimeError` if it is encrypted.
    """
    try:
        yield
    except Exception as error:
        raise DamagedError from error


def _check(offered: Offered, folder: Path) -> None:
    """Raise `OutputsError` unless every file that Kaggle lists is there in its length.

    Kaggle may list a file without its folder.
    """
    if offered.size is None:
        return
    there = Counter(
        (path.name, path.stat().st_size) for path in folder.rglob("*") if path.is_file()
    )
    listed = Counter((PurePosixPath(name).name, size) for name, size in offered.sizes)
    wrong = [name for name, _ in listed - there]
    if wrong:
        shutil.rmtree(folder)
        raise OutputsError(
            f"{offered.kind} {offered.source} is not what Kaggle lists: files are missing or "
            f"differ in size: {', '.join(wrong[:SHOWN])}. Download it again"
        )
