"""The calls about models, their variations and the variations' versions.

A variation is named by its `reference`, "owner/model/framework/variation"; whatever takes one
raises `PreflightError` for a framework that Kaggle does not have.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kagglesdk.models.types.model_api_service import (
    ApiCreateModelInstanceRequest,
    ApiCreateModelInstanceRequestBody,
    ApiCreateModelInstanceVersionRequest,
    ApiCreateModelInstanceVersionRequestBody,
    ApiCreateModelRequest,
    ApiDownloadModelInstanceVersionRequest,
    ApiGetModelInstanceRequest,
    ApiGetModelRequest,
    ApiListModelInstancesRequest,
    ApiListModelInstanceVersionFilesRequest,
)
from kagglesdk.models.types.model_enums import ModelFramework

from kernelkit.errors import PreflightError, nearest
from kernelkit.kaggle.services.blobs import uploaded
from kernelkit.kaggle.transport.connection import Connection


def variation_body(settings: Mapping[str, Any]) -> Any:
    """The settings of a variation as the SDK has them; its `framework` is the SDK's enum.

    Raises KeyError and others for values that Kaggle does not know.
    """
    return ApiCreateModelInstanceRequestBody.from_dict(dict(settings))


def framework_of(name: str, whose: str) -> ModelFramework:
    """The SDK's value for the name of a framework, such as "tensorFlow2" or "pyTorch".

    Raises `PreflightError`, which says `whose` it is, for one that Kaggle does not have.
    """
    try:
        framework: ModelFramework = variation_body({"framework": name}).framework
    except KeyError:
        hint = nearest(name, _frameworks())
        raise PreflightError(f"{whose}: Kaggle has no framework {name!r}: {hint}") from None
    return framework


def _frameworks() -> list[str]:
    """The names of all frameworks."""
    names = []
    for framework in ModelFramework:
        first, *others = framework.name.removeprefix("MODEL_FRAMEWORK_").lower().split("_")
        names.append(first + "".join(map(str.capitalize, others)))
    names.remove("unspecified")
    return names


def _named(reference: str) -> dict[str, Any]:
    """The fields of a request that name a variation."""
    owner, model, framework, slug = reference.split("/")
    return {
        "owner_slug": owner,
        "model_slug": model,
        "framework": framework_of(framework, reference),
        "instance_slug": slug,
    }


@dataclass(frozen=True)
class Models:
    """The calls about models; each raises `Failure`, and returns the SDK's own answer."""

    connection: Connection

    @property
    def _service(self) -> Any:
        return self.connection.services.models.model_api_client

    def get_model(self, owner: str, model: str) -> Any:
        """A model's page."""
        return self.connection.ask(
            self._service.get_model, ApiGetModelRequest(), owner_slug=owner, model_slug=model
        )

    def create_model(self, page: Mapping[str, Any]) -> Any:
        """Make a model without variations; `page` as in the client's model-metadata.json.

        Raises KeyError and others for values that Kaggle does not know.
        """
        request = ApiCreateModelRequest.from_dict(dict(page))
        return self.connection.ask(self._service.create_model, request)

    def get_model_instance(self, reference: str) -> Any:
        """A variation and its current version."""
        return self.connection.ask(
            self._service.get_model_instance, ApiGetModelInstanceRequest(), **_named(reference)
        )

    def list_model_instances(self, owner: str, model: str) -> Any:
        """The variations of a model with their states."""
        return self.connection.ask(
            self._service.list_model_instances,
            ApiListModelInstancesRequest(),
            owner_slug=owner,
            model_slug=model,
        )

    def list_model_instance_version_files(
        self, reference: str, version: int, page_size: int, page_token: str
    ) -> Any:
        """A page of a version's files with their sizes."""
        return self.connection.ask(
            self._service.list_model_instance_version_files,
            ApiListModelInstanceVersionFilesRequest(),
            **_named(reference),
            version_number=version,
            page_size=page_size,
            page_token=page_token,
        )

    def download_model_instance_version(self, reference: str, version: int) -> Any:
        """All files of a version in an archive: a streamed response."""
        return self.connection.ask(
            self._service.download_model_instance_version,
            ApiDownloadModelInstanceVersionRequest(),
            **_named(reference),
            version_number=version,
        )

    def create_model_instance(
        self, owner: str, model: str, settings: Mapping[str, Any], tokens: Sequence[str]
    ) -> Any:
        """Make a variation of uploaded files; `settings` as in model-instance-metadata.json.

        Raises KeyError and others for values that Kaggle does not know.
        """
        body = variation_body(settings)
        body.files = uploaded(tokens)
        return self.connection.ask(
            self._service.create_model_instance,
            ApiCreateModelInstanceRequest(),
            owner_slug=owner,
            model_slug=model,
            body=body,
        )

    def create_model_instance_version(
        self, reference: str, notes: str, tokens: Sequence[str]
    ) -> Any:
        """Make another version of a variation, of uploaded files."""
        body = ApiCreateModelInstanceVersionRequestBody()
        body.version_notes = notes
        body.files = uploaded(tokens)
        return self.connection.ask(
            self._service.create_model_instance_version,
            ApiCreateModelInstanceVersionRequest(),
            **_named(reference),
            body=body,
        )
