"""Download a source that a kernel has attached, and compare its files with Kaggle's list.

A download that breaks off, or whose command is killed, continues where it was. A folder of files
appears in its place whole, once every file that Kaggle lists is there in its length. Where Kaggle
lists no sizes, nothing is compared.
"""

import shutil
import sys
from collections import Counter
from functools import partial
from pathlib import Path, PurePosixPath

from kernelkit.errors import OutputsError, PreflightError
from kernelkit.files import size_of
from kernelkit.kaggle.client import Kaggle
from kernelkit.kaggle.downloading import archives
from kernelkit.kaggle.downloading.sources import ListedSource, naming
from kernelkit.kaggle.exchange import transfers
from kernelkit.kaggle.exchange.transfers import Expected
from kernelkit.kaggle.transport.connection import StoreSession
from kernelkit.kaggle.transport.failures import Failure, FailureKind
from kernelkit.terminal.events import Events

SHOWN = 5  # names of files, in an error


def download(
    kaggle: Kaggle, source: ListedSource, folder: Path, most: int, until: float, events: Events
) -> None:
    """Put the files of a source into `folder`, which does not exist yet.

    The archive, and what is unpacked, stand beside the folder until it is whole.

    most   the most bytes that the archive, or its files, may have; twice what Kaggle lists is
           allowed in any case
    until  when to give up, on the retries' clock

    Raises `Failure`, `PreflightError` for more bytes, and `OutputsError` for an archive that has
    not what Kaggle lists.
    """
    part = folder.with_name(f"{folder.name}.part")
    unpacked = folder.with_name(f"{folder.name}.unpacked")
    if source.size is not None:
        most = max(most, 2 * source.size)  # an archive of small files is larger than they are
    part.parent.mkdir(parents=True, exist_ok=True)

    def received() -> int:
        return part.stat().st_size if part.is_file() else 0

    progress = transfers.Progress(f"downloading {source.reference}:", 0, received)
    with StoreSession() as session, events.moving(progress), naming(source.kind, source.reference):
        fetch = partial(_fetch, kaggle, session, source, part, unpacked, most, until)
        kaggle.retries.call(fetch, until)
    _check(source, unpacked)
    unpacked.rename(folder)


def _fetch(
    kaggle: Kaggle,
    session: StoreSession,
    source: ListedSource,
    part: Path,
    unpacked: Path,
    most: int,
    until: float,
) -> None:
    """Download the archive, or the rest of it, and unpack it, once; raises as `download`."""
    with source.archive() as response:
        url = response.url  # the store to which Kaggle leads, and which can send a part

    def is_over() -> bool:
        """Whether the time is over; raises `PreflightError` once there are too many bytes.

        A limit in `Expected` would call the file malformed, and have it downloaded again.
        """
        if part.stat().st_size > most:
            raise _too_large(source, most)
        return kaggle.retries.clock.now() > until

    transfers.receive(kaggle, session, url, part, Expected(most=sys.maxsize), is_over)
    shutil.rmtree(unpacked, ignore_errors=True)  # of a command that was killed
    try:
        is_whole = archives.unpack(part, unpacked, most)
    except archives.DamagedError:
        transfers.forget(part)
        damaged = "the archive is damaged"
        raise Failure(FailureKind.MALFORMED, transfers.DOWNLOAD, damaged) from None
    if not is_whole:
        raise _too_large(source, most)
    transfers.forget(part)


def _too_large(source: ListedSource, most: int) -> PreflightError:
    return PreflightError(
        f"{source.kind} {source.reference} has more than {size_of(most)}, which Kaggle did not "
        "say: allow more with --download GB"
    )


def _check(source: ListedSource, folder: Path) -> None:
    """Raise `OutputsError` unless every file that Kaggle lists is there in its length.

    Kaggle may list a file without its folder. Where it lists no sizes, nothing is compared.
    """
    if source.size is None:
        return
    there = Counter(
        (path.name, path.stat().st_size) for path in folder.rglob("*") if path.is_file()
    )
    listed = Counter((PurePosixPath(name).name, size) for name, size in source.sizes)
    wrong = [name for name, _ in listed - there]
    if wrong:
        shutil.rmtree(folder)
        raise OutputsError(
            f"{source.kind} {source.reference} is not what Kaggle lists: files are missing or "
            f"differ in size: {', '.join(wrong[:SHOWN])}. Download it again"
        )
