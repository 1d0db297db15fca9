"""A version of a dataset or of a model's variation: upload it, wait until kernels can use it."""

import tempfile
import threading
import zipfile
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path, PurePosixPath

from kernelkit.errors import NetworkError, OutputsError, RefusedError
from kernelkit.files import size_of
from kernelkit.kaggle.context.kaggle_context import KaggleContext
from kernelkit.kaggle.exchange import blob_upload, transfers
from kernelkit.kaggle.exchange.targets import Target
from kernelkit.kaggle.transport.failures import Failure
from kernelkit.kaggle.uploading.contents import Contents, Entry
from kernelkit.terminal.events import PROGRESS, Event

UPLOADED = Event("uploaded")
UNCHANGED = Event("unchanged")
FILE_SENT = Event("sent")
WORKERS = 4  # files that are sent at once
READY_SECONDS = 3600.0  # for Kaggle to make uploaded files usable
LISTED_SECONDS = 120.0  # for Kaggle to list the files of what is ready
LOOK_SECONDS = 10.0  # from a lost answer to the question which version there is
ARCHIVES = (".zip", ".tar", ".gz", ".tgz")  # which Kaggle unpacks
SHOWN = 5  # names of files, in an error
UNUSABLE = ("failed", "deleted")  # the states of what no kernel will ever get


def ensure_version(context: KaggleContext, target: Target, contents: Contents, notes: str) -> int:
    """Make sure that the latest version has these contents and can be used; returns the version.

    They are uploaded unless Kaggle's latest version lists their file of checksums, so that a
    command that was killed and is repeated makes no second version. Nor do two commands at once:
    the caller holds `context.alone` with the target. Raises `StorageError` for a file that changes
    meanwhile, and what `_make_version`, `await_ready` and `_check_files` raise.
    """
    latest = _latest_with(context, target, contents)
    if latest:
        context.events(UNCHANGED, f"{target.reference} version {latest} has these bytes already")
        return latest
    with tempfile.TemporaryDirectory() as folder:
        sums = Path(folder, contents.sums_name)
        sums.write_text(contents.sums, "utf-8")
        contents.check_unchanged()  # since a chain may have run for hours in between
        tokens = _send_all(context, target, {**contents.entries, sums.name: sums})
        contents.check_unchanged()
        version = _make_version(context, target, tokens, notes)
        end = context.kaggle.retries.clock.now() + READY_SECONDS
        await_ready(context, target, version, end)
        _check_files(context, target, version, [*contents.files.values(), sums], end)
    return version


def _latest_with(context: KaggleContext, target: Target, contents: Contents) -> int | None:
    """The target's latest version, if it has these contents and can be used; else None.

    Waits while Kaggle still processes it.
    """
    kaggle = context.kaggle
    latest = target.latest(kaggle)
    if latest is None:
        return None
    try:
        await_ready(context, target, latest, kaggle.retries.clock.now() + READY_SECONDS)
        listed = target.sizes(kaggle, latest)
    except RefusedError:  # it will never be usable: another version takes its place
        return None
    names = {PurePosixPath(name).name for name, _ in listed}
    return latest if contents.sums_name in names else None


def _send_all(context: KaggleContext, target: Target, entries: Mapping[str, Entry]) -> list[str]:
    """Upload the files and folders at a version's top; returns the tokens that name them to Kaggle.

    Raises `Failure`, and `StorageError` for a file that changes while it is sent.
    """
    over = threading.Event()
    sent: dict[str, int] = {}  # the bytes of each file that have been sent
    total = sum(path.stat().st_size for entry in entries.values() for path in _files_of(entry))
    progress = transfers.Progress("sending", total, lambda: sum([*sent.values()]))
    with (
        tempfile.TemporaryDirectory() as folder,
        ThreadPoolExecutor(WORKERS) as pool,
        context.events.moving(progress),
    ):
        send = partial(_send, context, target, scratch=Path(folder), is_over=over.is_set, sent=sent)
        try:
            return list(pool.map(send, entries.keys(), entries.values()))
        except BaseException:  # of one file, or a signal: the pool would wait for all others
            over.set()
            raise


def _files_of(entry: Entry) -> Collection[Path]:
    return [entry] if isinstance(entry, Path) else entry.values()


def _send(
    context: KaggleContext,
    target: Target,
    name: str,
    entry: Entry,
    scratch: Path,
    is_over: Callable[[], bool],
    sent: dict[str, int],
) -> str:
    """Upload one file, or a folder as an archive; returns the token that names it to Kaggle.

    Stops once `is_over`. `sent` gets the number of bytes that have been sent, by the file's name.
    """
    if isinstance(entry, Path):
        file = entry
    else:
        file = scratch / f"{name}.zip"
        _pack(entry, file, is_over)

    def tell(size: int) -> None:
        sent[file.name] = size

    start = partial(context.kaggle.blobs.start_blob_upload, target.kind)
    token = blob_upload.upload(context.kaggle, file, start, is_over, tell)
    context.events(FILE_SENT, f"{file.name}, {size_of(file.stat().st_size)}")
    if file != entry:
        file.unlink()
    return token


def _pack(files: Mapping[str, Path], archive: Path, is_over: Callable[[], bool]) -> None:
    """Write files into an archive, by their paths in it, unless `is_over`."""
    try:
        # A zip has no time before 1980: such a file gets that one.
        with zipfile.ZipFile(archive, "w", strict_timestamps=False) as packed:
            for name, path in files.items():
                if is_over():
                    break
                packed.write(path, name)
    except OSError as error:
        error.filename = error.filename or str(archive)  # a full disk names no file
        raise


def _make_version(context: KaggleContext, target: Target, tokens: list[str], notes: str) -> int:
    """Make the target, or a new version of it, of uploaded files; returns the version.

    Where Kaggle's answer is lost, the latest version says whether it was made, so that there are
    never two. Raises `Failure`, and `RefusedError` where Kaggle does not take it.
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


def await_ready(context: KaggleContext, target: Target, version: int, end: float) -> None:
    """Wait until kernels can use this version: Kaggle unpacks after the upload.

    `end`: when to give up, on the retries' clock. Raises `Failure`, `RefusedError` where Kaggle
    could not process it, and `NetworkError` past the time.
    """
    kaggle = context.kaggle
    clock = kaggle.retries.clock
    while True:
        state = target.state(kaggle, version, end)
        if state in UNUSABLE:
            raise RefusedError(f"Kaggle could not process {target.reference}: it is {state}")
        if state == "ready":
            latest = target.latest(kaggle) or 0
            if latest >= version:
                return
            state = f"version {latest} is still served"
        context.events(PROGRESS, f"{target.reference}: {state.replace('_', ' ')}")
        clock.sleep(context.timing.patience.poll)
        if clock.now() >= end:
            raise NetworkError(f"{target.reference} is not ready yet: see {target.page}")


def _check_files(
    context: KaggleContext, target: Target, version: int, sent: Collection[Path], end: float
) -> None:
    """Check that Kaggle lists each file that was sent, with its length.

    Archives are left out: Kaggle unpacks them. Raises `Failure`, `RefusedError` where Kaggle lists
    others, and `OutputsError` where it lists none.
    """
    listed = _listed(context, target, version, end)
    wrong = []
    for path in sent:
        is_unpacked = path.suffix.lower() in ARCHIVES
        if not is_unpacked and (path.name, path.stat().st_size) not in listed:
            wrong.append(path.name)
    if wrong:
        raise RefusedError(
            f"{target.reference} version {version} is not what was sent: files are missing or "
            f"differ in size: {', '.join(wrong[:SHOWN])}. Upload it again"
        )


def _listed(
    context: KaggleContext, target: Target, version: int, end: float
) -> set[tuple[str, int]]:
    """Name and bytes of each file of a version, as Kaggle lists it, perhaps without its folder.

    Asks again while Kaggle lists none, for `LISTED_SECONDS`; raises `OutputsError` then.
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
            raise OutputsError(
                f"{target.reference} was uploaded, but is not verified, since Kaggle lists no file "
                f"of it{why}: see {target.page} before you use it, or upload it again"
            )
        clock.sleep(context.timing.patience.poll)
