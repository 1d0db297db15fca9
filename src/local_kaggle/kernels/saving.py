"""SaveKernel: the fields that it accepts, refuses, or drops with or without a message."""

import json
import math
import re
import time
from dataclasses import replace
from pathlib import Path

from kagglesdk.kernels.types import kernels_api_service as types
from kagglesdk.kernels.types.kernels_enums import KernelExecutionType
from slugify import slugify
from starlette.exceptions import HTTPException

from local_kaggle.execution import gateways
from local_kaggle.execution.running import SessionPlan
from local_kaggle.execution.sandbox import MountedSource, SourceKind
from local_kaggle.fault_responses import shows
from local_kaggle.faults.schedule import FaultKind
from local_kaggle.files import pages
from local_kaggle.kernels.kernels import Row, find, place, saved, seconds_of_week, versions_of
from local_kaggle.limits import Kind
from local_kaggle.state import ServerState
from local_kaggle.wire import Json, Message, Service, whole_number

answers = Service(types)

# What `kernels pull -m` writes before a source, and SaveKernel does not take.
PREFIXES = ("datasets/", "code/", "c/", "competitions/", "models/")
SOURCES: dict[str, tuple[SourceKind, int]] = {
    "competition": ("competitions", 1),
    "dataset": ("datasets", 2),
    "kernel": ("notebooks", 2),
    "model": ("models", 4),
}
"""By field of a request: the kind, and the parts of a name before the version that it may pin."""
LANGUAGES = ("python", "r", "rmarkdown")
SOURCE_BYTES = 1_000_000  # a notebook of this size or larger is refused
SHORTEST = 5  # characters of a title, and of a slug
NO_GATEWAY = (
    "rehearsal: this notebook imports kaggle_evaluation and would wait to be asked, and no gateway "
    "is among the files of {competition}: put the host's kaggle_evaluation, with its "
    "NAME_gateway.py, into the competition's folder or beside its hidden data"
)
DOCUMENTED_PINNING = (None, "", "original", "latest")


class Refused(Exception):  # noqa: N818 - it is an answer with HTTP 200, not a failure
    """The push is refused with this text in the answer's `error`."""


@answers
def save_kernel(state: ServerState, request: Message) -> Json:
    """Save a version and, unless it is a quick save, queue its session.

    Refusals are answered with HTTP 200 and `error`; the sources that were refused come
    back in `invalid*Sources` while the run goes on without them.
    """
    if state.closing:
        raise HTTPException(503, "The local Kaggle is stopping")
    try:
        _check(request)
        with state.store.lock:
            return _save(state, request)
    except Refused as refused:
        return {"error": str(refused)}


def _save(state: ServerState, request: Message) -> Json:
    kernel = _kernel(state, request)
    runs = request.kernel_execution_type != KernelExecutionType.QUICK_SAVE
    kind = place(request).kind
    full = _lack_of_capacity(state, kind) if runs else None
    # A refused push may leave its text behind as the draft.
    draft = request.text if full else None
    state.store.change("UPDATE kernels SET draft = ? WHERE id = ?", draft, kernel["id"])
    if full:
        raise Refused(full)
    query = "SELECT 1 FROM versions WHERE kernel = ?"
    number = len(state.store.rows(query, kernel["id"])) + 1
    version = state.store.change(
        "INSERT INTO versions (kernel, number, request, created) VALUES (?, ?, ?, ?)",
        kernel["id"],
        number,
        json.dumps(request.to_dict()),
        time.time(),
    )
    sources, invalid = _sources(state, request)
    if shows(FaultKind.FORMER_VERSION):
        sources = _former(state, sources)
    if runs:
        state.sessions.submit(version, _plan(state, version, request, sources), state.user)
    ref = f"/code/{kernel['owner']}/{kernel['slug']}"
    names = {"ref": ref, "url": state.url + ref, "kernelId": kernel["id"]}
    return names | {"versionNumber": number, **invalid}


def rerun_plan(
    state: ServerState, version: Row, competition: str, public: Path, hidden: Path
) -> SessionPlan:
    """What a rerun of a version runs: the same, with the competition's hidden folder in place.

    Where a gateway asks the notebook, it is the gateway that has the hidden folder. Raises
    HTTPException 400 for a version that the competition would not take.
    """
    request = saved(version)
    if request.enable_internet:
        raise HTTPException(400, "Your notebook must have internet access disabled to submit")
    sources, _ = _sources(state, request)
    gateway = gateways.find(competition, hidden, public)
    if not gateway and gateways.waits_for_one(request.text):
        raise HTTPException(400, NO_GATEWAY.format(competition=competition))
    if not gateway:
        places = {public: hidden}
        sources = [
            replace(source, folder=places.get(source.folder, source.folder)) for source in sources
        ]
    plan = _plan(state, version["id"], request, sources)
    # A version of the catalogue has had no session.
    return replace(
        plan,
        rerun=True,
        gateway=gateway,
        first_seconds=version.get("seconds", 0.0),
        first_memory=state.sessions.memory(version["id"]),
    )


def _kernel(state: ServerState, request: Message) -> Row:
    """The kernel to save to, made if it is new, under the slug that its title gives."""
    by_slug = "SELECT * FROM kernels WHERE owner = ? AND slug = ?"
    owner, _, slug = (request.slug or "").lower().partition("/")
    if request.id:
        row = state.store.row("SELECT * FROM kernels WHERE id = ?", request.id)
    else:
        row = state.store.row(by_slug, owner, slug)
    if row is not None:
        owner = row["owner"]
    if not state.is_user(owner):
        raise HTTPException(403, "Permission 'kernels.edit' was denied")
    private = request.is_private is not False
    if row is not None:
        change = "UPDATE kernels SET title = ?, private = ? WHERE id = ?"
        state.store.change(change, request.new_title or row["title"], private, row["id"])
        return dict(row)
    title = request.new_title or slug
    slug = slugify(title)
    if state.store.row(by_slug, owner, slug):
        raise Refused(
            f'The requested title "{title}" is already in use by a notebook. '
            "Please choose another title."
        )
    change = "INSERT INTO kernels (owner, slug, title, private) VALUES (?, ?, ?, ?)"
    number = state.store.change(change, owner, slug, title, private)
    return {"id": number, "owner": owner, "slug": slug}


def _lack_of_capacity(state: ServerState, kind: Kind) -> str | None:
    cap = state.limits.sessions[kind]
    if state.sessions.alive(state.user, kind) >= cap:
        return f"Maximum batch {kind.upper()} session count of {cap} reached."
    used, _ = seconds_of_week(state, kind)
    if used >= state.limits.weekly_seconds.get(kind, math.inf):
        return f"Maximum weekly {kind.upper()} quota reached."
    return None


def _plan(
    state: ServerState, version: int, request: Message, sources: list[MountedSource]
) -> SessionPlan:
    machine = place(request)
    folder = state.sessions.folder(version)
    return SessionPlan(
        folder,
        request,
        sources,
        machine.kind,
        machine.runs_on,
        state.limits,
        reached_by=state.reached_by,
    )


def _sources(
    state: ServerState, request: Message
) -> tuple[list[MountedSource], dict[str, list[str]]]:
    """The inputs of a version, and by field the ones that this Kaggle does not have."""
    sources: list[MountedSource] = []
    invalid: dict[str, list[str]] = {}
    for field in SOURCES:
        for name in getattr(request, f"{field}_data_sources"):
            if source := _source(state, field, name):
                sources.append(source)
            else:
                invalid.setdefault(f"invalid{field.title()}Sources", []).append(name)
    return sources, invalid


def _source(state: ServerState, field: str, name: str) -> MountedSource | None:
    """The input that a version names; None if it does not exist.

    The user's own inputs are looked up under both names of the user, and mounted under the last.
    """
    kind, depth = SOURCES[field]
    owner, *parts = name.split("/")
    if name.startswith(PREFIXES) or name in state.limits.rules_pending:
        return None
    if kind == "competitions":
        folder = state.contents.find(kind, name)
        return MountedSource(kind, name, folder) if folder else None
    parts[1:2] = map(str.lower, parts[1:2])  # a model's framework, such as TensorFlow2
    slug = "/".join(parts[: depth - 1])
    number = "/".join(parts[depth - 1 :])
    version = whole_number(number)
    if version is None and (number or kind == "models"):
        return None
    own = [user for user in (state.user, state.limits.also_named) if user]
    owners = own if owner.lower() in map(str.lower, own) else [owner]
    for each in owners:
        if folder := _folder(state, kind, f"{each}/{slug}", version or 0):
            place = f"{owners[-1]}/{slug}/{number}" if kind == "models" else f"{owners[-1]}/{slug}"
            return MountedSource(kind, place, folder)
    return None


def _folder(state: ServerState, kind: SourceKind, reference: str, number: int) -> Path | None:
    """The files of a version, or of the newest for number 0; None where there are none yet."""
    if given := state.contents.given("kernels" if kind == "notebooks" else kind, reference):
        return given
    try:
        if kind != "notebooks":
            return pages.version_of(state, f"{kind}/{reference}", number).folder
        versions = versions_of(state, find(state, *reference.split("/")))
    except HTTPException:
        return None
    for version in versions:
        if version["status"] == "COMPLETE" and number in (0, version["number"]):
            return Path(version["outputs"])
    return None


def _former(state: ServerState, sources: list[MountedSource]) -> list[MountedSource]:
    """The same inputs, but of each dataset with several versions the last but one."""
    former = []
    for source in sources:
        if source.kind == "datasets":
            versions = pages.find(state, source.place).versions
            source = replace(source, folder=versions[:2][-1].folder)
        former.append(source)
    return former


def _check(request: Message) -> None:
    if not request.text:
        raise Refused("The kernel source must not be empty.")
    if len(request.text.encode()) >= SOURCE_BYTES:
        raise Refused("The kernel source must be less than 1 megabytes")
    if not request.id and not re.fullmatch(r"[^/]+/[^/]+", request.slug or ""):
        raise Refused("The kernel must be specified as owner/slug.")
    if request.new_title and len(request.new_title) < SHORTEST:
        raise Refused(f"The title must be at least {SHORTEST} characters.")
    if request.slug and len(request.slug.rpartition("/")[2]) < SHORTEST:
        raise Refused(f"The slug must be at least {SHORTEST} characters.")
    if request.language not in LANGUAGES or request.kernel_type not in ("notebook", "script"):
        raise Refused("The language or the kernel type is not valid.")
    if request.docker_image_pinning_type not in DOCUMENTED_PINNING:
        raise Refused("The docker image pinning type is not valid.")
