"""Kaggle's API as this kit uses it: typed answers, sorted failures, every version named.

Reads are repeated while a failure may pass. `save` is not: see `kernelkit.pushes.save`.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from kernelkit.kaggle_api.connection import Connection
from kernelkit.kaggle_api.failures import Failure, FailureKind, is_capacity
from kernelkit.kaggle_api.retries import Retries
from kernelkit.kaggle_api.types import (
    SOURCES,
    Kernel,
    Output,
    Outputs,
    Quota,
    Recent,
    Saved,
    Status,
    Stored,
)

T = TypeVar("T")

PAGE_SIZE = 100
MOST_PAGES = 5000  # of PAGE_SIZE files each: far more than a session leaves
SAME_PAGE_LIMIT = 10  # how often one page token may come again before the list counts as broken


class Kaggle:
    """One account's kernels, over a `Connection`."""

    def __init__(self, connection: Connection, retries: Retries | None = None) -> None:
        self.connection = connection
        self.retries = retries or Retries()
        self.kernels = connection.services.kernels.kernels_api_client

    @property
    def username(self) -> str:
        """The name of the account."""
        return self.connection.username

    def repeated(self, method: str, call: Callable[[], T], until: float | None = None) -> T:
        """The answer of `call`, which is repeated while that may help; raises `Failure`."""
        return self.retries.call(lambda: self.connection.ask(method, call), until)

    def save(self, fields: Mapping[str, Any]) -> Saved:
        """Send one SaveKernel, once. Raises `Failure`; a refusal may still have saved."""
        from kagglesdk.kernels.types.kernels_api_service import ApiSaveKernelRequest

        request = _filled(ApiSaveKernelRequest(), fields)
        answer = self.connection.ask("SaveKernel", lambda: self.kernels.save_kernel(request))
        if answer.error:
            sort = FailureKind.CAPACITY if is_capacity(answer.error) else FailureKind.REFUSED
            raise Failure(sort, "SaveKernel", answer.error)
        if not answer.version_number:
            raise Failure(FailureKind.MALFORMED, "SaveKernel", "the answer names no version")
        refused = [
            f"{kind} {source}"
            for kind in SOURCES
            for source in getattr(answer, f"invalid_{kind}_sources") or []
        ]
        tags = tuple(answer.invalid_tags or [])
        return Saved(answer.version_number, answer.url, tuple(refused), tags)

    def stored(
        self, kernel: Kernel, version: int | None = None, until: float | None = None
    ) -> Stored | None:
        """The kernel as Kaggle keeps it, None when there is none (or it is not ours to see)."""
        from kagglesdk.kernels.types.kernels_api_service import ApiGetKernelRequest

        request = _named(ApiGetKernelRequest(), kernel, version)
        try:
            answer = self.repeated("GetKernel", lambda: self.kernels.get_kernel(request), until)
        except Failure as failure:
            # Kaggle says 403 of a kernel of one's own that does not exist.
            if failure.kind in (FailureKind.NOT_FOUND, FailureKind.REFUSED):
                return None
            raise
        if answer.metadata is None or answer.blob is None:
            raise Failure(FailureKind.MALFORMED, "GetKernel", "the answer holds no kernel")
        sources = {
            f"{kind} {source}"
            for kind in SOURCES
            for source in getattr(answer.metadata, f"{kind}_data_sources") or []
        }
        return Stored(
            version=answer.metadata.current_version_number,
            text=answer.blob.source,
            sources=frozenset(sources),
            language=(answer.blob.language or "").lower(),
            kernel_type=(answer.blob.kernel_type or "").lower(),
            machine_shape=answer.metadata.machine_shape or "",
            accelerator=_accelerator(answer.metadata),
            internet=bool(answer.metadata.enable_internet),
        )

    def status(
        self, kernel: Kernel, version: int | None, until: float | None = None
    ) -> Status | None:
        """The status of a version's session (None: of the latest one's); None without one."""
        from kagglesdk.kernels.types.kernels_api_service import ApiGetKernelSessionStatusRequest

        request = _named(ApiGetKernelSessionStatusRequest(), kernel, version)
        method = "GetKernelSessionStatus"
        try:
            answer = self.repeated(
                method, lambda: self.kernels.get_kernel_session_status(request), until
            )
        except Failure as failure:
            if failure.kind in (FailureKind.NOT_FOUND, FailureKind.REFUSED):
                return None
            raise
        return Status(answer.status.name.lower(), answer.failure_message or "")

    def outputs(self, kernel: Kernel, version: int, until: float | None = None) -> Outputs:
        """All files and the log of a version's session, paged to the end."""
        from kagglesdk.kernels.types.kernels_api_service import ApiListKernelSessionOutputRequest

        request = _named(ApiListKernelSessionOutputRequest(), kernel, version)
        files: dict[str, Output] = {}
        log = ""
        method = "ListKernelSessionOutput"
        for answer in self._pages(method, self.kernels.list_kernel_session_output, request, until):
            files.update((f.file_name, Output(f.file_name, f.url)) for f in answer.files or [])
            log = log or answer.log or ""
        return Outputs(tuple(files.values()), log)

    def sizes(self, kernel: Kernel, version: int, until: float | None = None) -> dict[str, int]:
        """Bytes of each output file of a version, by name."""
        from kagglesdk.kernels.types.kernels_api_service import ApiListKernelFilesRequest

        request = _named(ApiListKernelFilesRequest(), kernel, version)
        sizes: dict[str, int] = {}
        for answer in self._pages(
            "ListKernelFiles", self.kernels.list_kernel_files, request, until
        ):
            sizes.update((f.name, f.size) for f in answer.files or [])
        return sizes

    def delete(self, kernel: Kernel) -> None:
        """Delete a kernel with all its versions, which ends the sessions that run of it.

        Raises `Failure`; after a lost answer the failure may say that the kernel is gone already.
        """
        from kagglesdk.kernels.types.kernels_api_service import ApiDeleteKernelRequest

        request = _named(ApiDeleteKernelRequest(), kernel, None)
        answer = self.repeated("DeleteKernel", lambda: self.kernels.delete_kernel(request))
        if answer.error_message:
            raise Failure(FailureKind.REFUSED, "DeleteKernel", answer.error_message)

    def quota(self, kind: str) -> Quota | None:
        """This week's hours of `tpu` or `gpu`; None where Kaggle names none (the CPU)."""
        from kagglesdk.kernels.types.kernels_api_service import (
            ApiGetAcceleratorQuotaStatisticsRequest,
        )

        request = ApiGetAcceleratorQuotaStatisticsRequest()
        answer = self.repeated(
            "GetAcceleratorQuotaStatistics",
            lambda: self.kernels.get_accelerator_quota_statistics(request),
        )
        hours = getattr(answer, f"{kind}_quota", None)
        if hours is None:
            return None
        used = _hours(hours.time_used) + _hours(hours.time_reserved)
        return Quota(used, _hours(hours.total_time_allowed))

    def recent(self, count: int = 10) -> list[Recent]:
        """One's own kernels that ran last, the latest first."""
        from kagglesdk.kernels.types.kernels_api_service import ApiListKernelsRequest
        from kagglesdk.kernels.types.kernels_enums import KernelsListSortType, KernelsListViewType

        request = ApiListKernelsRequest()
        request.group = KernelsListViewType.PROFILE
        request.user = self.username
        request.sort_by = KernelsListSortType.DATE_RUN
        request.page, request.page_size = 1, count
        answer = self.repeated("ListKernels", lambda: self.kernels.list_kernels(request))
        return [
            Recent(Kernel(*kernel.ref.split("/", 1)), _accelerator(kernel))
            for kernel in answer.kernels or []
            if kernel.ref.count("/") == 1
        ]

    def _pages(
        self, method: str, call: Callable[[Any], Any], request: Any, until: float | None
    ) -> Iterable[Any]:
        """Every page of a list. Pages may repeat; raises `Failure` for a list without an end."""
        request.page_size = PAGE_SIZE
        seen: Counter[str] = Counter()
        token = ""
        while True:
            request.page_token = token
            answer = self.repeated(method, lambda: call(request), until)
            yield answer
            token = answer.next_page_token or ""
            if not token:
                return
            seen[token] += 1
            if seen[token] > SAME_PAGE_LIMIT:
                raise Failure(FailureKind.MALFORMED, method, "its pages go in a circle")
            if seen.total() >= MOST_PAGES:
                raise Failure(FailureKind.MALFORMED, method, f"no end after {MOST_PAGES:,} pages")
            if until is not None and self.retries.clock.now() > until:
                raise Failure(FailureKind.NETWORK, method, "no end of its pages in time")


def _filled(request: Any, fields: Mapping[str, Any]) -> Any:
    for name, value in fields.items():
        setattr(request, name, value)
    return request


def _named(request: Any, kernel: Kernel, version: int | None) -> Any:
    request.user_name, request.kernel_slug = kernel.owner, kernel.slug
    if version is not None:
        request.version_label = f"v{version}"
    return request


def _hours(time: datetime.timedelta | None) -> float:
    return time.total_seconds() / 3600 if time else 0.0


def _accelerator(kernel: Any) -> str:
    if kernel.enable_tpu or "tpu" in (kernel.machine_shape or "").lower():
        return "tpu"
    return "gpu" if kernel.enable_gpu or "nvidia" in (kernel.machine_shape or "").lower() else "cpu"
