"""The calls about kernels: a method for each that the kit makes, sent once.

SaveKernel starts a session each time it arrives: after a lost answer, look whether there is a new
version before it is sent again. `client.Kaggle.repeated` repeats the others.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kagglesdk.kernels.types.kernels_api_service import (
    ApiDeleteKernelRequest,
    ApiDownloadKernelOutputRequest,
    ApiGetAcceleratorQuotaStatisticsRequest,
    ApiGetKernelRequest,
    ApiGetKernelSessionStatusRequest,
    ApiListKernelFilesRequest,
    ApiListKernelSessionOutputRequest,
    ApiListKernelsRequest,
    ApiSaveKernelRequest,
)
from kagglesdk.kernels.types.kernels_enums import (
    KernelExecutionType,
    KernelsListSortType,
    KernelsListViewType,
)

from kernelkit.kaggle.kernel import Kernel
from kernelkit.kaggle.transport.connection import Connection


def _named(kernel: Kernel, version: int | None) -> dict[str, Any]:
    """The fields of a request that name a version of a kernel; None: the latest."""
    label = None if version is None else f"v{version}"
    return {"user_name": kernel.owner, "kernel_slug": kernel.slug, "version_label": label}


@dataclass(frozen=True)
class Kernels:
    """The calls about kernels; each raises `Failure`, and returns the SDK's own answer."""

    connection: Connection

    @property
    def _service(self) -> Any:
        return self.connection.services.kernels.kernels_api_client

    def save_kernel(self, fields: Mapping[str, Any]) -> Any:
        """Save a version of a kernel and start its session; fields as in `ApiSaveKernelRequest`.

        `kernel_execution_type`, the one enumeration, is given by its name.
        """
        execution = fields.get("kernel_execution_type")
        if execution:
            fields = {**fields, "kernel_execution_type": KernelExecutionType[execution]}
        return self.connection.ask(self._service.save_kernel, ApiSaveKernelRequest(), **fields)

    def get_kernel(self, kernel: Kernel, version: int | None) -> Any:
        """A version's metadata and text."""
        return self.connection.ask(
            self._service.get_kernel, ApiGetKernelRequest(), **_named(kernel, version)
        )

    def get_kernel_session_status(self, kernel: Kernel, version: int | None) -> Any:
        """The state of a version's session."""
        return self.connection.ask(
            self._service.get_kernel_session_status,
            ApiGetKernelSessionStatusRequest(),
            **_named(kernel, version),
        )

    def list_kernel_session_output(
        self, kernel: Kernel, version: int | None, page_size: int, page_token: str
    ) -> Any:
        """A page of a session's files, with signed links, and its log."""
        return self.connection.ask(
            self._service.list_kernel_session_output,
            ApiListKernelSessionOutputRequest(),
            **_named(kernel, version),
            page_size=page_size,
            page_token=page_token,
        )

    def list_kernel_files(
        self, kernel: Kernel, version: int | None, page_size: int, page_token: str
    ) -> Any:
        """A page of the names and sizes of a version's files."""
        return self.connection.ask(
            self._service.list_kernel_files,
            ApiListKernelFilesRequest(),
            **_named(kernel, version),
            page_size=page_size,
            page_token=page_token,
        )

    def download_kernel_output(self, kernel: Kernel, version: int | None) -> Any:
        """All files of a version in an archive: a streamed response."""
        return self.connection.ask(
            self._service.download_kernel_output,
            ApiDownloadKernelOutputRequest(),
            owner_slug=kernel.owner,
            kernel_slug=kernel.slug,
            version_number=version,
        )

    def list_kernels_of(self, username: str, page_size: int) -> Any:
        """The account's own kernels, those run last first."""
        return self.connection.ask(
            self._service.list_kernels,
            ApiListKernelsRequest(),
            group=KernelsListViewType.PROFILE,
            user=username,
            sort_by=KernelsListSortType.DATE_RUN,
            page=1,
            page_size=page_size,
        )

    def get_accelerator_quota_statistics(self) -> Any:
        """The week's accelerator hours: used, reserved, allowed."""
        return self.connection.ask(
            self._service.get_accelerator_quota_statistics,
            ApiGetAcceleratorQuotaStatisticsRequest(),
        )

    def delete_kernel(self, kernel: Kernel) -> Any:
        """Delete a kernel with all its versions; a running session ends."""
        return self.connection.ask(
            self._service.delete_kernel,
            ApiDeleteKernelRequest(),
            user_name=kernel.owner,
            kernel_slug=kernel.slug,
        )
