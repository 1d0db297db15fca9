"""Kernels and their versions: finding, listing, reading and deleting them; machines and quota."""

import json
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from kagglesdk.kernels.types import kernels_api_service as types
from starlette.exceptions import HTTPException

from local_kaggle.catalogue import files_below
from local_kaggle.fault_responses import shows
from local_kaggle.faults.schedule import FaultKind
from local_kaggle.limits import HOUR, RETIRED, SHAPES, Kind
from local_kaggle.state import ServerState
from local_kaggle.wire import Filters, Json, Message, Service, filtered, holds, listing, moment

answers = Service(types)
public = Service(types, anonymous=True)

Row = dict[str, Any]  # of the store, or what stands for one in the catalogue

# What the catalogue's kernels were pushed with, where their pages do not say it.
CATALOGUED = {
    "language": "python",
    "kernelType": "script",
    "text": "# The catalogue has the output alone.\n",
}
EARLIER = {"COMPLETE": "RUNNING", "ERROR": "RUNNING", "RUNNING": "QUEUED"}
DRAWN = (".html", ".jpeg", ".jpg", ".png", ".svg")
SWITCHES = ("enableGpu", "enableTpu", "enableInternet")
FIRST_SATURDAY, WEEK = 2 * 24 * HOUR, 7 * 24 * HOUR  # in seconds; the epoch began on a Thursday
_KINDS: dict[str, Kind] = {shape.lower(): kind for kind in SHAPES for shape in SHAPES[kind]}
_RETIRED = {shape.lower(): instead for shape, instead in RETIRED.items()}
FILTERS: Filters = {
    "user": holds("author"),
    "language": holds("language"),
    "kernelType": holds("kernelType"),
    "dataset": holds("datasetDataSources"),
    "competition": holds("competitionDataSources"),
    "parentKernel": holds("kernelDataSources"),
}


def find(state: ServerState, owner: str, slug: str) -> Row:
    """A kernel that the user may see, pushed or of the catalogue, as its row in the store.

    Raises HTTPException 403, as Kaggle does.
    """
    query = "SELECT * FROM kernels WHERE owner = ? AND slug = ?"
    kernel: Row | None = None
    if row := state.store.row(query, owner.lower(), slug.lower()):
        kernel = dict(row)
    elif outputs := state.contents.versions("kernels", f"{owner}/{slug}"):
        page = state.contents.page("kernels", f"{owner}/{slug}")
        kernel = {
            "id": 0,
            "owner": owner,
            "slug": slug,
            "title": page.get("title", slug),
            "private": page.get("isPrivate", False),
            "draft": None,
            "request": json.dumps(CATALOGUED | page),
            "outputs": outputs,
        }
    if kernel is None or (kernel["private"] and not state.is_user(kernel["owner"])):
        raise HTTPException(403, "Permission 'kernels.get' was denied")
    return kernel


def versions_of(state: ServerState, kernel: Row) -> list[Row]:
    """A kernel's versions, the newest first, each with its session's state and its `outputs`."""
    if not kernel["id"]:
        run = {"id": 0, "request": kernel["request"], "status": "COMPLETE", "failure": None}
        runs = []
        for number, outputs in kernel["outputs"].items():
            at = outputs.stat().st_mtime
            own = {"number": number, "outputs": outputs, "created": at, "started": at}
            runs.append(run | own)
        return runs
    rows = state.store.rows(
        "SELECT versions.*, status, failure, started, ended - started AS seconds "
        "FROM versions LEFT JOIN sessions ON versions.id = version WHERE kernel = ? "
        "ORDER BY number DESC",
        kernel["id"],
    )
    if not rows:  # the first push was refused
        raise HTTPException(404, "This kernel has no version")
    return [{**row, "outputs": state.sessions.folder(row["id"]) / "working"} for row in rows]


def version_of(state: ServerState, kernel: Row, label: str | None) -> Row:
    """The version that `label` ("v3" or "3") names.

    Without a label: the newest one whose session began a while ago, so a request right after a push
    gets the previous version. Raises HTTPException 404 for an unknown one.
    """
    versions = versions_of(state, kernel)
    if label:
        for version in versions:
            if label.removeprefix("v") == str(version["number"]):
                return version
        raise HTTPException(404, f"Version {label} of this kernel was not found")
    visible_since = time.time() - state.limits.lag_seconds
    begun = [v for v in versions if v["started"] is not None and v["started"] < visible_since]
    run = [v for v in versions if v["status"] is not None]
    return (begun or run[-1:] or versions)[0]


def named(state: ServerState, request: Message) -> Row:
    """The version that a request names."""
    kernel = find(state, request.user_name, request.kernel_slug)
    return version_of(state, kernel, request.version_label)


@answers
def get_kernel_session_status(state: ServerState, request: Message) -> Json:
    """The state of a version's session."""
    version = named(state, request)
    name = version["status"] or "NEW_SCRIPT"
    failure = version["failure"]
    if name in EARLIER and shows(FaultKind.STALE_STATUS):
        name = EARLIER[name]
        failure = None
    return {"status": name, "failureMessage": failure}


@public
def get_kernel(state: ServerState, request: Message) -> Json:
    """The newest text, or that of the version named.

    The client writes the version into the slug ("slug/3"), which is understood as well.
    """
    slug, _, number = request.kernel_slug.partition("/")
    kernel = find(state, request.user_name, slug)
    label = request.version_label or number
    newest = versions_of(state, kernel)[0]
    version = version_of(state, kernel, label) if label else newest
    pushed = saved(version)
    blob = {
        "source": pushed.text if label else kernel["draft"] or pushed.text,
        "language": pushed.language,
        "kernelType": pushed.kernel_type,
        "slug": kernel["slug"],
    }
    metadata = _metadata(kernel, version) | {"currentVersionNumber": newest["number"]}
    return {"metadata": metadata, "blob": blob}


def visible(state: ServerState) -> list[Row]:
    """All kernels that the user may see, by name."""
    rows = state.store.rows("SELECT owner, slug FROM kernels")
    names = {f"{row['owner']}/{row['slug']}" for row in rows}
    found = []
    for name in sorted(names.union(state.contents.references("kernels"))):
        with suppress(HTTPException):
            found.append(find(state, *name.split("/")))
    return found


@answers
def list_kernels(state: ServerState, request: Message) -> Json:
    """The caller's kernels, or all that the caller may see; the last run comes first."""
    outputs = {}
    listed = []
    for kernel in visible(state):
        with suppress(HTTPException):  # it has no version
            newest = versions_of(state, kernel)[0]
            listed.append(_metadata(kernel, newest))
            outputs[listed[-1]["ref"]] = newest["outputs"]

    def has_pictures(entry: Json, _: str) -> bool:
        return any(name.endswith(DRAWN) for name, _ in files_below(outputs[entry["ref"]]))

    filters: Filters = {
        "group=profile": lambda entry, _: state.is_user(entry["author"]),
        "outputType=data": lambda entry, _: files_below(outputs[entry["ref"]]),
        "outputType=visualization": has_pictures,
    }
    listed.sort(key=lambda metadata: metadata["lastRunTime"], reverse=True)
    return listing(state, request, "kernels", filtered(request, listed, FILTERS | filters))


@answers
def delete_kernel(state: ServerState, request: Message) -> Json:
    """Delete a kernel with everything in it: the only way to stop a run."""
    with state.store.lock:  # no version is saved meanwhile
        kernel = find(state, request.user_name, request.kernel_slug)
        if not kernel["id"] or not state.is_user(kernel["owner"]):
            raise HTTPException(403, "Permission 'kernels.delete' was denied")
        versions = state.store.rows("SELECT id FROM versions WHERE kernel = ?", kernel["id"])
        state.store.change("DELETE FROM versions WHERE kernel = ?", kernel["id"])
        state.store.change("DELETE FROM kernels WHERE id = ?", kernel["id"])
    for version in versions:  # without the lock, which the sessions take to record their ends
        state.sessions.remove(version["id"])
    return {}


def saved(version: Row) -> Message:
    """The request that saved a version."""
    return types.ApiSaveKernelRequest.from_dict(json.loads(version["request"]))


def _metadata(kernel: Row, version: Row) -> Json:
    pushed = json.loads(version["request"])
    shape = place(saved(version)).shape
    del pushed["text"]
    return {
        **pushed,
        **{switch: pushed.get(switch, False) for switch in SWITCHES},
        "id": kernel["id"],
        "ref": f"{kernel['owner']}/{kernel['slug']}",
        "title": kernel["title"],
        "author": kernel["owner"],
        "slug": kernel["slug"],
        "lastRunTime": moment(version["created"]),
        "isPrivate": bool(kernel["private"]),
        "dockerImage": pushed.get("dockerImage") or "kaggle/rehearsal",
        "machineShape": shape,
        "currentVersionNumber": version["number"],
    }


@dataclass(frozen=True)
class Placement:
    """`shape` as the server keeps it, `kind` it is counted as, and the kind it really `runs_on`."""

    shape: str
    kind: Kind
    runs_on: Kind


def place(request: Message) -> Placement:
    """The machine for a SaveKernel request.

    A retired shape becomes another one, an unknown one the CPU. A TPU push with a pinned image,
    or whose notebook carries `metadata.kaggle`, starts in the CPU image: it is counted as a TPU
    session and sees no TPU (Kaggle/kaggle-cli #1197).
    """
    switched: Kind = "gpu" if request.enable_gpu else "cpu"
    if request.enable_tpu:
        switched = "tpu"
    requested = request.machine_shape or SHAPES[switched][0]
    shape = _RETIRED.get(requested.lower(), requested)
    kind = _KINDS.get(shape.lower(), "cpu")
    runs_on: Kind = "cpu" if kind == "tpu" and _wants_own_image(request) else kind
    return Placement(shape, kind, runs_on)


def _wants_own_image(request: Message) -> bool:
    try:
        return bool(request.docker_image) or "kaggle" in json.loads(request.text)["metadata"]
    except (ValueError, TypeError, KeyError):  # a script, or a broken notebook
        return False


def week_begins(now: float) -> float:
    """The last Saturday, 00:00 UTC, as seconds since the epoch: when quotas were refilled."""
    return (now - FIRST_SATURDAY) // WEEK * WEEK + FIRST_SATURDAY


def seconds_of_week(state: ServerState, kind: Kind) -> tuple[float, float]:
    """The seconds of `kind` that the user has used this week, and may use in running sessions."""
    now = time.time()
    (row,) = state.store.rows(
        # Without numbers, of which Python 3.12.0 to 3.12.3 warn.
        "SELECT coalesce(sum(coalesce(ended, ?) - started), 0) AS used, "
        "coalesce(sum(max(started + limit_seconds - ?, 0)) FILTER (WHERE ended IS NULL), 0) "
        "AS reserved FROM sessions "
        "WHERE user = ? AND kind = ? AND started IS NOT NULL AND coalesce(ended, ?) >= ?",
        now,
        now,
        state.user,
        kind,
        now,
        week_begins(now),
    )
    return row["used"], row["reserved"]


@answers
def get_accelerator_quota_statistics(state: ServerState, _request: Message) -> Json:
    """The week of both accelerators; seconds as the API writes them, such as `72000s`."""
    answer: Json = {"quotaRefreshTime": moment(week_begins(time.time()) + WEEK)}
    for kind, allowed in state.limits.weekly_seconds.items():
        used, reserved = seconds_of_week(state, kind)
        answer[f"{kind}Quota"] = {
            "timeUsed": f"{used:.0f}s",
            "timeReserved": f"{reserved:.0f}s",
            "totalTimeAllowed": f"{allowed:.0f}s",
            "minimumTimeAllowed": "0s",
            "hasEverRun": used > 0,
        }
    return answer
