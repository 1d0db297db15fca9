"""The part of Kaggle's API that the kit uses: typed answers, classified failures.

Reads are repeated after transient failures. `save` is not: see `kernelkit.pushes.save`.
"""

from __future__ import annotations

import datetime
import importlib
import itertools
import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from kernelkit.kaggle_api.answers import (
    SOURCES,
    Failure,
    FailureKind,
    Kernel,
    Output,
    Outputs,
    Quota,
    Recent,
    Saved,
    Status,
    Stored,
    is_capacity,
)
from kernelkit.kaggle_api.connection import Connection
from kernelkit.kaggle_api.retries import Retries

# The services of Kaggle's API, and how the SDK begins its names for each.
SERVICES = {
    "kernels": "kernels_api",
    "competitions": "competition_api",
    "datasets": "dataset_api",
    "models": "model_api",
    "blobs": "blob_api",
}
PAGE_SIZE = 100
MOST_PAGES = 5000  # of PAGE_SIZE files each: far more than a session's output
STALE_PAGES = 10  # pages without a new file, after which a list counts as broken


class Kaggle:
    """One account's kernels, over a `Connection`."""

    def __init__(self, connection: Connection, retries: Retries | None = None) -> None:
        self.connection = connection
        self.retries = retries or Retries()

    @property
    def username(self) -> str:
        """The name of the account."""
        return self.connection.username

    def once(self, method: str, service: str = "kernels", **fields: Any) -> Any:
        """Send one request without repeating it, and return the answer; raises `Failure`.

        `method` is Kaggle's name for it, such as "SaveKernel", `service` one of `SERVICES`, and
        `fields` are those of the SDK's request.
        """
        name = SERVICES[service]
        types = importlib.import_module(f"kagglesdk.{service}.types.{name}_service")
        request = getattr(types, f"Api{method}Request")()
        for field, value in fields.items():
            setattr(request, field, value)
        client = getattr(getattr(self.connection.services, service), f"{name}_client")
        call = getattr(client, re.sub(r"(?<!^)(?=[A-Z])", "_", method).lower())
        return self.connection.ask(method, partial(call, request))

    def repeated(
        self, method: str, service: str = "kernels", until: float | None = None, **fields: Any
    ) -> Any:
        """Like `once`, but repeated after transient failures."""
        return self.retries.call(lambda: self.once(method, service, **fields), until)

    def if_there(
        self, method: str, service: str = "kernels", until: float | None = None, **fields: Any
    ) -> Any:
        """Like `repeated`, for something that the account owns; None if it does not exist."""
        try:
            return self.repeated(method, service, until, **fields)
        except Failure as failure:
            # Kaggle answers 403 for an own kernel that does not exist.
            if failure.kind in (FailureKind.NOT_FOUND, FailureKind.REFUSED):
                return None
            raise

    def save(self, fields: Mapping[str, Any]) -> Saved:
        """Send one SaveKernel, once. Raises `Failure`; a refusal may still have saved."""
        answer = self.once("SaveKernel", **fields)
        if answer.error:
            sort = FailureKind.CAPACITY if is_capacity(answer.error) else FailureKind.REFUSED
            raise Failure(sort, "SaveKernel", answer.error)
        if answer.version_number <= 0:
            raise Failure(FailureKind.MALFORMED, "SaveKernel", "the answer names no version")
        refused = _sources(answer, "invalid_{}_sources")
        tags = tuple(answer.invalid_tags or [])
        return Saved(
            answer.version_number, answer.url or "", answer.ref or "", tuple(refused), tags
        )

    def stored(
        self, kernel: Kernel, version: int | None = None, until: float | None = None
    ) -> Stored | None:
        """The kernel as Kaggle stores it; None if it does not exist or is not visible."""
        answer = self.if_there("GetKernel", until=until, **_name(kernel, version))
        if answer is None:
            return None
        if answer.metadata is None or answer.blob is None:
            raise Failure(FailureKind.MALFORMED, "GetKernel", "the answer contains no kernel")
        return Stored(
            version=answer.metadata.current_version_number,
            text=answer.blob.source,
            sources=frozenset(_sources(answer.metadata, "{}_data_sources")),
            language=(answer.blob.language or "").lower(),
            kernel_type=(answer.blob.kernel_type or "").lower(),
            machine_shape=answer.metadata.machine_shape or "",
            accelerator=_accelerator(answer.metadata),
            internet=bool(answer.metadata.enable_internet),
        )

    def status(
        self, kernel: Kernel, version: int | None, until: float | None = None
    ) -> Status | None:
        """The status of a version's session (version None: the latest); None if it has none."""
        answer = self.if_there("GetKernelSessionStatus", until=until, **_name(kernel, version))
        return answer and Status(answer.status.name.lower(), answer.failure_message or "")

    def outputs(self, kernel: Kernel, version: int, until: float | None = None) -> Outputs:
        """All files and the log of a version's session, paged to the end."""
        files: dict[str, Output] = {}
        log = ""
        for answer in self.pages("ListKernelSessionOutput", _name(kernel, version), until):
            files.update((f.file_name, Output(f.file_name, f.url)) for f in answer.files or [])
            log = log or answer.log or ""
        return Outputs(tuple(files.values()), log)

    def sizes(self, kernel: Kernel, version: int, until: float | None = None) -> dict[str, int]:
        """Bytes of each output file of a version, by name."""
        sizes: dict[str, int] = {}
        for answer in self.pages("ListKernelFiles", _name(kernel, version), until):
            sizes.update((f.name, f.size) for f in answer.files or [])
        return sizes

    def delete(self, kernel: Kernel) -> None:
        """Delete a kernel with all its versions, which ends its active sessions.

        Raises `Failure`; after a lost answer, it may say that the kernel does not exist.
        """
        answer = self.repeated("DeleteKernel", **_name(kernel))
        if answer.error_message:
            raise Failure(FailureKind.REFUSED, "DeleteKernel", answer.error_message)

    def quota(self, kind: str) -> Quota | None:
        """This week's hours of `tpu` or `gpu`; None if there is no quota (the CPU)."""
        hours = getattr(self.repeated("GetAcceleratorQuotaStatistics"), f"{kind}_quota", None)
        if hours is None:
            return None
        used = _hours(hours.time_used) + _hours(hours.time_reserved)
        return Quota(used, _hours(hours.total_time_allowed))

    def recent(self) -> list[Recent]:
        """The ten kernels that the account ran most recently, latest first."""
        from kagglesdk.kernels.types.kernels_enums import KernelsListSortType, KernelsListViewType

        answer = self.repeated(
            "ListKernels",
            group=KernelsListViewType.PROFILE,
            user=self.username,
            sort_by=KernelsListSortType.DATE_RUN,
            page=1,
            page_size=10,
        )
        return [
            Recent(Kernel(*kernel.ref.split("/", 1)), _accelerator(kernel))
            for kernel in answer.kernels or []
            if kernel.ref.count("/") == 1
        ]

    def pages(
        self,
        method: str,
        fields: Mapping[str, Any],
        until: float | None = None,
        service: str = "kernels",
        items: str = "files",
    ) -> Iterator[Any]:
        """Every page of a list; raises `Failure` for a list that continues without anything new."""
        listed: set[str] = set()
        token, stale = "", 0
        for number in itertools.count(1):
            page: dict[str, Any] = {"page_size": PAGE_SIZE, "page_token": token}
            answer = self.repeated(method, service, until, **fields, **page)
            yield answer
            files = getattr(answer, items) or []
            names = {file.name if hasattr(file, "name") else file.file_name for file in files}
            stale = stale + 1 if names <= listed else 0
            listed |= names
            token = answer.next_page_token or ""
            if not token:
                return
            if stale > STALE_PAGES:
                raise Failure(FailureKind.MALFORMED, method, "its pages repeat")
            if number >= MOST_PAGES:
                raise Failure(FailureKind.MALFORMED, method, f"no end after {MOST_PAGES:,} pages")
            if until is not None and self.retries.clock.now() > until:
                raise Failure(FailureKind.NETWORK, method, "its pages did not end in time")


def _name(kernel: Kernel, version: int | None = None) -> dict[str, Any]:
    """The fields of a request that name a kernel, and one of its versions."""
    label = {} if version is None else {"version_label": f"v{version}"}
    return {"user_name": kernel.owner, "kernel_slug": kernel.slug, **label}


def _sources(answer: Any, field: str) -> list[str]:
    """The sources that an answer lists by kind, such as "dataset owner/slug"."""
    return [
        f"{kind} {source}"
        for kind in SOURCES
        for source in getattr(answer, field.format(kind)) or []
    ]


def _hours(time: datetime.timedelta | None) -> float:
    return time.total_seconds() / 3600 if time else 0.0


def _accelerator(kernel: Any) -> str:
    shape = (kernel.machine_shape or "").lower()
    if kernel.enable_tpu or "tpu" in shape:
        return "tpu"
    return "gpu" if kernel.enable_gpu or "nvidia" in shape else "cpu"
