"""SaveKernel: the fields that it accepts, refuses, and drops with or without a word."""

from __future__ import annotations

import json
import re
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from kagglesdk.kernels.types import kernels_api_service as types
from kagglesdk.kernels.types.kernels_enums import KernelExecutionType
from slugify import slugify

from local_kaggle.execution.mounts import MountedSource
from local_kaggle.execution.running import SessionPlan
from local_kaggle.services.datasets import Datasets
from local_kaggle.services.placement import PREFIXES, Placement, place
from local_kaggle.services.quota import QuotaService
from local_kaggle.services.wire import ApiError, Message, Method, fill
from local_kaggle.state import ServerState

SourceKind = Literal["competitions", "datasets", "notebooks", "models"]

LANGUAGES = ("python", "r", "rmarkdown")
SHORTEST = 5  # characters of a title, and of a slug
DOCUMENTED_PINNING = (None, "", "original", "latest")


class Refused(Exception):  # noqa: N818 - it is an answer with HTTP 200, not a failure
    """The push is refused with this text in the answer's `error`."""


class Pushes:
    """Answers SaveKernel."""

    def __init__(self, state: ServerState, quota: QuotaService, datasets: Datasets) -> None:
        self._state = state
        self._store = state.store
        self._quota = quota
        self._datasets = datasets

    def methods(self) -> dict[str, Method]:
        return {
            "kernels.KernelsApiService/SaveKernel": Method(types.ApiSaveKernelRequest, self.save)
        }

    def save(self, request: Message, user: str) -> Message:
        """Save a version and, unless it is a quick save, queue its session.

        Refusals are answered with HTTP 200 and `error`; the sources that were refused come
        back in `invalid*Sources` while the run goes on without them.
        """
        if self._state.closing:
            raise ApiError(503, "The local Kaggle is stopping")
        try:
            _check(request, self._state.limits.source_bytes)
            with self._store.lock:
                return self._save(request, user)
        except Refused as refused:
            return fill(types.ApiSaveKernelResponse(), error=str(refused))

    def _save(self, request: Message, user: str) -> Message:
        kernel = self._kernel(request, user)
        runs = request.kernel_execution_type != KernelExecutionType.QUICK_SAVE
        placement = place(request)
        if runs:
            try:
                self._need_capacity(user, placement)
            except Refused:
                # A refused push may leave its text behind as the draft.
                change = "UPDATE kernels SET draft = ? WHERE id = ?"
                self._store.change(change, request.text, kernel["id"])
                raise
        self._store.change("UPDATE kernels SET draft = NULL WHERE id = ?", kernel["id"])
        number, version = self._add_version(kernel, request)
        sources, invalid = self._sources(request, user)
        if runs:
            plan = self._plan(version, request, placement, sources)
            self._state.sessions.submit(version, placement.kind, plan, user)
        return fill(
            types.ApiSaveKernelResponse(),
            ref=f"/code/{kernel['owner']}/{kernel['slug']}",
            url=f"{self._state.url}/code/{kernel['owner']}/{kernel['slug']}",
            version_number=number,
            kernel_id=kernel["id"],
            **{f"invalid_{kind}_sources": names for kind, names in invalid.items()},
        )

    def _kernel(self, request: Message, user: str) -> sqlite3.Row:
        """The kernel to save to, made if it is new, under the slug that its title gives."""
        owner, _, slug = (request.slug or "").lower().partition("/")
        if request.id:
            row = self._store.row("SELECT * FROM kernels WHERE id = ?", request.id)
        else:
            row = self._by_slug(owner, slug)
        if (row["owner"] if row else owner) != user.lower():
            raise ApiError(403, "Permission 'kernels.edit' was denied")
        private = request.is_private is not False
        if row is None:
            title = request.new_title or slug
            derived = slugify(title)
            if self._by_slug(owner, derived):
                raise Refused(
                    f'The requested title "{title}" is already in use by a notebook. '
                    "Please choose another title."
                )
            self._store.change(
                "INSERT INTO kernels (owner, slug, title, private) VALUES (?, ?, ?, ?)",
                owner,
                derived,
                title,
                private,
            )
            row = self._by_slug(owner, derived)
        else:
            change = "UPDATE kernels SET title = ?, private = ? WHERE id = ?"
            self._store.change(change, request.new_title or row["title"], private, row["id"])
        if row is None:
            raise ApiError(500, "The kernel that was just saved is gone")
        return row

    def _by_slug(self, owner: str, slug: str) -> sqlite3.Row | None:
        query = "SELECT * FROM kernels WHERE owner = ? AND slug = ?"
        return self._store.row(query, owner, slug)

    def _add_version(self, kernel: sqlite3.Row, request: Message) -> tuple[int, int]:
        last = self._store.row(
            "SELECT coalesce(max(number), 0) AS n FROM versions WHERE kernel = ?", kernel["id"]
        )
        number = (last["n"] if last else 0) + 1
        if not self._state.limits.phone_verified:
            request.enable_internet = False
        version = self._store.change(
            "INSERT INTO versions (kernel, number, request, created) VALUES (?, ?, ?, ?)",
            kernel["id"],
            number,
            json.dumps(request.to_dict()),
            time.time(),
        )
        return number, version

    def _need_capacity(self, user: str, placement: Placement) -> None:
        kind = placement.kind
        cap = self._state.limits.sessions[kind]
        if self._state.sessions.alive(user, kind) >= cap:
            raise Refused(f"Maximum batch {kind.upper()} session count of {cap} reached.")
        if self._quota.left(user, kind) <= 0:
            raise Refused(f"Maximum weekly {kind.upper()} quota reached.")

    def _plan(
        self, version: int, request: Message, placement: Placement, sources: list[MountedSource]
    ) -> SessionPlan:
        limits = self._state.limits
        longest = limits.session_seconds[placement.kind]
        return SessionPlan(
            folder=self._state.sessions.folder(version),
            text=request.text,
            kernel_type=request.kernel_type,
            language=request.language,
            sources=tuple(sources),
            runs_on=placement.runs_on,
            internet=bool(request.enable_internet),
            limit_seconds=min(request.session_timeout_seconds or longest, longest),
            layout=limits.layout,
            memory_bytes=limits.memory_bytes[placement.kind],
            working_bytes=limits.working_bytes,
        )

    def _sources(
        self, request: Message, user: str
    ) -> tuple[list[MountedSource], dict[str, list[str]]]:
        catalogue = self._state.catalogue
        finders: dict[str, tuple[SourceKind, Callable[[str], Path | None]]] = {
            "competition": ("competitions", lambda name: catalogue.find("competitions", name)),
            "dataset": ("datasets", lambda name: self._datasets.mounted(name, user)),
            "kernel": ("notebooks", lambda name: self._outputs(name, user)),
            "model": ("models", lambda name: catalogue.find("models", name)),
        }
        sources: list[MountedSource] = []
        invalid: dict[str, list[str]] = {}
        for field, (kind, find) in finders.items():
            for name in getattr(request, f"{field}_data_sources"):
                folder = None if name.startswith(PREFIXES) else find(name)
                if folder is None:
                    invalid.setdefault(field, []).append(name)
                else:
                    sources.append(MountedSource(kind, name, folder))
        return sources, invalid

    def _outputs(self, reference: str, user: str) -> Path | None:
        owner, _, slug = reference.lower().partition("/")
        row = self._store.row(
            "SELECT versions.id FROM versions JOIN sessions ON versions.id = version "
            "JOIN kernels ON kernels.id = kernel WHERE owner = ? AND slug = ? "
            "AND (owner = ? OR NOT private) AND status = 'COMPLETE' ORDER BY number DESC",
            owner,
            slug,
            user.lower(),
        )
        if row:
            return self._state.sessions.folder(row["id"]) / "working"
        return self._state.catalogue.find("kernels", reference)


def _check(request: Message, most_bytes: int) -> None:
    if not request.text:
        raise Refused("The kernel source must not be empty.")
    if len(request.text.encode()) >= most_bytes:
        raise Refused("The kernel source must be less than 1 megabytes")
    if not request.id and not re.fullmatch(r"[^/]+/[^/]+", request.slug or ""):
        raise Refused("The kernel must be specified as owner/slug.")
    if request.new_title and len(request.new_title) < SHORTEST:
        raise Refused(f"The title must be at least {SHORTEST} characters.")
    if request.slug and len(request.slug.split("/")[1]) < SHORTEST:
        raise Refused(f"The slug must be at least {SHORTEST} characters.")
    if request.language not in LANGUAGES or request.kernel_type not in ("notebook", "script"):
        raise Refused("The language or the kernel type is not valid.")
    if request.docker_image_pinning_type not in DOCUMENTED_PINNING:
        raise Refused("The docker image pinning type is not valid.")
