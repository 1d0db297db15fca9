"""The files that datasets and models are made of: uploaded one by one, then named by tokens."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kagglesdk.blobs.types.blob_api_service import ApiBlobType, ApiStartBlobUploadRequest
from kagglesdk.datasets.types.dataset_api_service import ApiDatasetNewFile

from kernelkit.kaggle.transport.connection import Connection


@dataclass(frozen=True)
class Blobs:
    """The call about files; it raises `Failure`, and returns the SDK's own answer."""

    connection: Connection

    def start_blob_upload(self, kind: str, name: str, size: int, modified: int) -> Any:
        """A URL and a token for a file of a `kind`: "dataset" or "model".

        `size` in bytes, `modified` in epoch seconds.
        """
        return self.connection.ask(
            self.connection.services.blobs.blob_api_client.start_blob_upload,
            ApiStartBlobUploadRequest(),
            type=ApiBlobType[kind.upper()],
            name=name,
            content_length=size,
            last_modified_epoch_seconds=modified,
        )


def uploaded(tokens: Sequence[str]) -> list[Any]:
    """Uploaded files, as the requests take them that make a version of a dataset or a model."""
    return [ApiDatasetNewFile.from_dict({"token": token}) for token in tokens]
