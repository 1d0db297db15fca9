"""The calls about datasets and their versions."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kagglesdk.datasets.types.dataset_api_service import (
    ApiCreateDatasetRequest,
    ApiCreateDatasetVersionRequest,
    ApiCreateDatasetVersionRequestBody,
    ApiDownloadDatasetRequest,
    ApiGetDatasetRequest,
    ApiGetDatasetStatusRequest,
    ApiListDatasetFilesRequest,
    ApiListDatasetsRequest,
)

from kernelkit.kaggle.services.blobs import uploaded
from kernelkit.kaggle.transport.connection import Connection


@dataclass(frozen=True)
class Datasets:
    """The calls about datasets; each raises `Failure`, and returns the SDK's own answer."""

    connection: Connection

    @property
    def _service(self) -> Any:
        return self.connection.services.datasets.dataset_api_client

    def get_dataset(self, owner: str, slug: str) -> Any:
        """A dataset and its current version."""
        return self.connection.ask(
            self._service.get_dataset, ApiGetDatasetRequest(), owner_slug=owner, dataset_slug=slug
        )

    def list_datasets(self, search: str) -> Any:
        """Datasets that fit a search, the hottest first."""
        return self.connection.ask(
            self._service.list_datasets, ApiListDatasetsRequest(), search=search, page=1
        )

    def get_dataset_status(self, owner: str, slug: str) -> Any:
        """The state of a dataset's newest version."""
        return self.connection.ask(
            self._service.get_dataset_status,
            ApiGetDatasetStatusRequest(),
            owner_slug=owner,
            dataset_slug=slug,
        )

    def list_dataset_files(
        self, owner: str, slug: str, version: int, page_size: int, page_token: str
    ) -> Any:
        """A page of a version's files with their sizes."""
        return self.connection.ask(
            self._service.list_dataset_files,
            ApiListDatasetFilesRequest(),
            owner_slug=owner,
            dataset_slug=slug,
            dataset_version_number=version,
            page_size=page_size,
            page_token=page_token,
        )

    def download_dataset(self, owner: str, slug: str, version: int) -> Any:
        """All files of a version in an archive: a streamed response."""
        return self.connection.ask(
            self._service.download_dataset,
            ApiDownloadDatasetRequest(),
            owner_slug=owner,
            dataset_slug=slug,
            dataset_version_number=version,
        )

    def create_dataset(
        self, owner: str, slug: str, title: str, licence: str, tokens: Sequence[str]
    ) -> Any:
        """Make a private dataset of uploaded files."""
        return self.connection.ask(
            self._service.create_dataset,
            ApiCreateDatasetRequest(),
            owner_slug=owner,
            slug=slug,
            title=title,
            license_name=licence,
            is_private=True,
            files=uploaded(tokens),
        )

    def create_dataset_version(
        self, owner: str, slug: str, notes: str, tokens: Sequence[str]
    ) -> Any:
        """Make another version of a dataset, of uploaded files."""
        body = ApiCreateDatasetVersionRequestBody()
        body.version_notes = notes
        body.files = uploaded(tokens)
        return self.connection.ask(
            self._service.create_dataset_version,
            ApiCreateDatasetVersionRequest(),
            owner_slug=owner,
            dataset_slug=slug,
            body=body,
        )
