"""A version of a dataset or of a model's variation: upload it, wait until kernels can use it."""

import tempfile
import threading
import zipfile
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path, PurePosixPath

from kernelkit.errors import NetworkError, OutputsError, RefusedError
from kernelkit.files import files_below
from kernelkit.kaggle.context import KaggleContext
from kernelkit.kaggle.exchange import blob_upload, transfers
from kernelkit.kaggle.exchange.contents import Contents
from kernelkit.kaggle.exchange.targets import Target
from kernelkit.kaggle.transport.failures import Failure
from kernelkit.terminal.events import PROGRESS, WARNING, Event, size_of

UPLOADED = Event("uploaded")
UNCHANGED = Event("unchanged")
FILE_SENT = Event("sent")
WORKERS = 4
READY_SECONDS = 3600.0  # for Kaggle to make uploaded files usable
LISTED_SECONDS = 120.0  # for Kaggle to list the files of what is ready
LOOK_SECONDS = 10.0  # from a lost answer to the look for the version
ARCHIVES = (".zip", ".tar", ".gz", ".tgz")  # which Kaggle unpacks
WEIGHTS = (".pth", ".pt")  # which are zip archives inside: one was unpacked, as somebody reported
SHOWN = 5  # names of files, in an error
UNUSABLE = ("failed", "deleted")  # the states of what no kernel will ever get


def bring(context: KaggleContext, target: Target, contents: Contents, notes: str) -> int:
    """See to it that its latest version has these contents and can be used; returns the version.

    They are uploaded where Kaggle's latest version lists no checksums of theirs, so that a command
    that was killed and is repeated makes no second version. Raises `StorageError` for a file that
    changes meanwhile, and what `_make_version` and `await_ready` raise.
    """
    latest = _latest_with(context, target, contents)
    if latest:
        context.events(UNCHANGED, f"{target.reference} version {latest} has these bytes already")
        return latest
    with tempfile.TemporaryDirectory() as folder:
        sums = Path(folder, contents.sums_name)
        sums.write_text(contents.sums, "utf-8")
        contents.check_unchanged()  # since a chain may have run for hours in between
        tokens = _send_all(context, target, [*contents.entries, sums])
        contents.check_unchanged()
        version = _make_version(context, target, tokens, notes)
        await_ready(context, target, version, [*contents.files.values(), sums])
    return version


def _latest_with(context: KaggleContext, target: Target, contents: Contents) -> int | None:
    """Its latest version, once it can be used, if that has these contents."""
    latest = target.latest(context.kaggle)
    if latest is None:
        return None
    try:
        await_ready(context, target, latest, ())
        listed = target.sizes(context.kaggle, latest)
    except RefusedError:  # it will never be usable: another version takes its place
        return None
    names = {PurePosixPath(name).name for name, _ in listed}
    return latest if contents.sums_name in names else None


def _send_all(context: KaggleContext, target: Target, entries: list[Path]) -> list[str]:
    """Upload these files and folders; returns the tokens that name them to Kaggle.

    Raises `Failure`, and `StorageError` for a file that changes while it is sent.
    """
    over = threading.Event()
    sent: dict[str, int] = {}  # the bytes of each file that have been sent
    files = [
        path for entry in entries for path in (files_below(entry) if entry.is_dir() else [entry])
    ]
    total = sum(path.stat().st_size for path in files)
    progress = transfers.Progress("sending", total, lambda: sum([*sent.values()]))
    with (
        tempfile.TemporaryDirectory() as folder,
        ThreadPoolExecutor(WORKERS) as pool,
        context.events.moving(progress),
    ):
        send = partial(_send, context, target, scratch=Path(folder), is_over=over.is_set, sent=sent)
        try:
            return list(pool.map(send, entries))
        except BaseException:  # of one file, or a signal: the pool would wait for all others
            over.set()
            raise


def _make_version(context: KaggleContext, target: Target, tokens: list[str], notes: str) -> int:
    """Make it, or a new version of it, of uploaded files; returns the version.

    Makes one version, even where Kaggle's answer is lost. Raises `Failure`, and `RefusedError`
    where Kaggle does not take it.
    """
    kaggle = context.kaggle
    before = target.latest(kaggle)
    version = (before or 0) + 1
    try:
        answer = target.create(kaggle, tokens, None if before is None else notes)
    except Failure as failure:
        if not failure.is_transient:
            raise
        kaggle.retries.clock.sleep(LOOK_SECONDS)
        latest = target.latest(kaggle)
        if latest is None or latest == before:
            raise
        version = latest
    else:
        if answer.error or getattr(answer, "status", "").lower() == "error":
            reason = answer.error or "no reason"
            raise RefusedError(f"Kaggle did not accept {target.reference}: {reason}")
    context.events(UPLOADED, f"{target.reference} version {version}", version=version)
    return version


def _send(
    context: KaggleContext,
    target: Target,
    entry: Path,
    scratch: Path,
    is_over: Callable[[], bool],
    sent: dict[str, int],
) -> str:
    """Upload one file, or a folder as an archive, unless `is_over`; the token that names it to
    Kaggle. `sent` gets the bytes that have been sent."""
    file = entry
    if entry.is_dir():
        file = scratch / f"{entry.name}.zip"
        _pack(entry, file, is_over)
    start = partial(context.kaggle.calls.start_blob_upload, target.service)
    tell = partial(sent.__setitem__, file.name)
    token = blob_upload.upload(context.kaggle, file, start, is_over, tell)
    context.events(FILE_SENT, f"{file.name}, {size_of(file.stat().st_size)}")
    if file != entry:
        file.unlink()
    return token


def _pack(folder: Path, archive: Path, is_over: Callable[[], bool]) -> None:
    """Write the files of a folder into an archive, unless `is_over`."""
    try:
        # A zip has no time before 1980: such a file gets that one.
        with zipfile.ZipFile(archive, "w", strict_timestamps=False) as packed:
            for path in files_below(folder):
                if is_over():
                    break
                packed.write(path, path.relative_to(folder).as_posix())
    except OSError as error:
        error.filename = error.filename or str(archive)  # a full disk names no file
        raise


def await_ready(
    context: KaggleContext, target: Target, version: int, files: Collection[Path]
) -> None:
    """Wait until kernels can use this version: Kaggle unpacks after the upload.

    `files`: those that were sent, whose names and lengths Kaggle must list.
    Raises `Failure`, `RefusedError` where Kaggle could not or lists others, `OutputsError` where it
    lists none, `NetworkError` past the time.
    """
    kaggle = context.kaggle
    clock = kaggle.retries.clock
    end = clock.now() + READY_SECONDS
    while True:
        state = target.state(kaggle, version, end)
        if state in UNUSABLE:
            raise RefusedError(f"Kaggle could not process {target.reference}: it is {state}")
        if state == "ready":
            served = target.latest(kaggle) or 0
            if served >= version:
                break
            state = f"version {served} is still served"
        context.events(PROGRESS, f"{target.reference}: {state.replace('_', ' ')}")
        clock.sleep(context.timing.patience.poll)
        if clock.now() >= end:
            page = f"https://www.kaggle.com/{target.service}/{target.reference}"
            raise NetworkError(f"{target.reference} is not ready yet: see {page}")
    if not files:
        return
    listed = _listed(context, target, version, end)
    sent = [
        (path.name, path.stat().st_size) for path in files if path.suffix.lower() not in ARCHIVES
    ]
    wrong = [name for name, size in sent if (name, size) not in listed]
    if wrong:
        raise RefusedError(
            f"{target.reference} version {version} is not what was sent: files are missing or "
            f"differ in size: {', '.join(wrong[:SHOWN])}. Upload it again"
        )


def tell_unpacked(context: KaggleContext, files: Collection[Path]) -> None:
    """Warn of the archives among files that are uploaded: Kaggle unpacks them."""
    packed = [path.name for path in files if path.suffix.lower() in ARCHIVES]
    if packed:
        names = ", ".join(packed[:SHOWN])
        context.events(WARNING, f"Kaggle unpacks {names}: what is in them is not verified")
    weights = [path.name for path in files if path.suffix in WEIGHTS and zipfile.is_zipfile(path)]
    if weights:
        names = ", ".join(weights[:SHOWN])
        context.events(
            WARNING,
            f"{names}: a zip archive inside, which Kaggle may unpack to a folder. Look at the "
            "dataset's page before a run reads it",
        )


def _listed(
    context: KaggleContext, target: Target, version: int, end: float
) -> set[tuple[str, int]]:
    """Name and bytes of each file of a version, as Kaggle lists it, perhaps without its folder.

    Raises `OutputsError` if Kaggle lists none, also after some time.
    """
    clock = context.kaggle.retries.clock
    until = min(end, clock.now() + LISTED_SECONDS)
    while True:
        why = ""
        try:
            sizes = target.sizes(context.kaggle, version, end)
        except RefusedError as error:
            sizes = []
            why = f" ({error})"
        if sizes:
            return {(PurePosixPath(name).name, size) for name, size in sizes}
        if clock.now() >= until:
            page = f"https://www.kaggle.com/{target.service}/{target.reference}"
            raise OutputsError(
                f"{target.reference} was uploaded, but is not verified, since Kaggle lists no file "
                f"of it{why}: see {page} before you use it, or upload it again"
            )
        clock.sleep(context.timing.patience.poll)
