"""The inputs of a plan that are on this machine, or come to it for a rehearsal."""

import math
from collections.abc import Iterator, Sequence
from functools import partial

from kernelkit import files
from kernelkit.errors import CredentialsError, PreflightError
from kernelkit.files import size_of
from kernelkit.kaggle.client import Kaggle
from kernelkit.kaggle.context.timing import KAGGLE, REHEARSAL
from kernelkit.kaggle.downloading.downloads import download
from kernelkit.kaggle.downloading.sources import ListedSource, list_source
from kernelkit.kaggle.metadata_words import SOURCES, is_placeholder, owned
from kernelkit.push.known.ledger import State
from kernelkit.push.known.push_context import PushContext
from kernelkit.push.planned.plan import Plan
from kernelkit.rehearsal import inputs, stand_in
from kernelkit.rehearsal.inputs import Mounted
from kernelkit.terminal.events import PROGRESS, WAITING, Event

DOWNLOADS = Event("download")
GB = 10**9


def gather_inputs(context: PushContext, plan: Plan) -> Mounted:
    """The folders of a plan's sources that are on this machine, by their places in the catalogue.

    A source is taken from the first place that has it: an `input/` folder, the catalogue, what the
    plan itself uploads or an earlier rehearsal has left, and what was downloaded before. What none
    of them has is downloaded now, if the request asks for it. Raises what `inputs.found` and
    `_download` raise.
    """
    project = plan.project
    lying = inputs.input_folders(plan.metadata.code_file, project.root, project.repository)
    catalogue = (context.serves or context.runs) / stand_in.CATALOGUE
    owner = plan.username or stand_in.username()
    beside = {}
    catalogued = {}
    lacking = {}
    for kind, source in _attached(plan):
        place = inputs.place_in_catalogue(kind, owned(source, owner))
        found = inputs.found(lying, kind, source)
        downloaded = inputs.downloaded(kind, source)
        if found:
            beside[place] = found
        elif (catalogue / place).is_dir():
            catalogued[place] = catalogue / place
        elif _comes_otherwise(context, plan, kind, source):
            continue
        elif downloaded.is_dir():
            beside[place] = downloaded
        else:
            lacking[place] = (kind, source)
    if lacking and plan.request.download is not None:
        _download(context, [*lacking.values()], plan.request.download)
        for place, (kind, source) in lacking.items():
            beside[place] = inputs.downloaded(kind, source)
    return Mounted(owner, beside | catalogued, beside)


def _comes_otherwise(context: PushContext, plan: Plan, kind: str, source: str) -> bool:
    """Whether the plan brings a source, or an earlier rehearsal has left it."""
    owner, _, slug = source.partition("/")
    if kind == "dataset" and is_placeholder(owner):
        return slug in {each.slug for each in plan.datasets}
    if kind == "kernel":
        rehearsed = plan.owned_by(stand_in.username(), anyone=True).metadata.sources["kernel"]
        kernel = f"{stand_in.username()}/{slug}"
        return kernel in rehearsed and _has_rehearsed_output(context, kernel)
    return False


def _download(context: PushContext, lacking: Sequence[tuple[str, str]], allowed: float) -> None:
    """Download sources that are nowhere on this machine, up to so many GB.

    Those whose sizes Kaggle says may have so many together, and each of the others by itself.

    Raises `CredentialsError` without an account, `PreflightError` for more than is allowed, and
    what `list_source` and `download` raise.
    """
    put = inputs.where_to_put(lacking)
    timing = KAGGLE if context.timing is REHEARSAL else context.timing  # it is Kaggle that answers
    try:
        kaggle = Kaggle.sign_in(timing.timeouts, timing.retries)
    except CredentialsError as error:
        raise CredentialsError(f"{error}. Or {put}") from None
    context.events.keep_secret(kaggle.connection.secrets)
    listed = []
    for kind, source in lacking:
        context.events(PROGRESS, f"asking Kaggle for the files of {kind} {source}")
        listed.append(list_source(kaggle, kind, owned(source, kaggle.username)))
    _refuse_too_large(listed, allowed, put)
    until = timing.clock.now() + timing.fetch_seconds
    for (kind, source), there in zip(lacking, listed, strict=True):
        folder = inputs.downloaded(kind, source)
        lock = folder.with_name(f"{folder.name}.lock")
        busy = partial(context.events, WAITING, "another command downloads it: waiting")
        with files.locked(lock, busy):
            if not folder.is_dir():
                context.events(DOWNLOADS, there.words)
                most = int(allowed * GB)
                download(kaggle, there, folder, most, until, context.events)


def _has_rehearsed_output(context: PushContext, kernel: str) -> bool:
    """Whether an earlier rehearsal of a kernel is complete, so that its outputs are here."""
    name = "/".join(kernel.split("/")[:2])
    pushes = context.ledger.of(name)
    return any(push.state in (State.COMPLETE, State.UNFETCHED) for push in pushes)


def _refuse_too_large(sources: Sequence[ListedSource], allowed: float, put: str) -> None:
    """Raise `PreflightError` for more bytes than a request allows, with all sizes."""
    total = sum(source.size or 0 for source in sources)
    if total <= allowed * GB:
        return
    listed = "\n".join(f"  - {source.words}" for source in sources)
    raise PreflightError(
        f"what is attached and not here has {size_of(total)}, and --download takes {allowed:g} GB "
        f"unless it is given more: add --download {math.ceil(total / GB)}, or {put}\n{listed}"
    )


def _attached(plan: Plan) -> Iterator[tuple[str, str]]:
    """Kind and name of each source of a plan."""
    for kind in SOURCES:
        for source in plan.metadata.sources[kind]:
            yield kind, source
