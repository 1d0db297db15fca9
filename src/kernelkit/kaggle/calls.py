"""Kaggle's calls: a method for each that the kit makes, sent once.

One that may arrive twice can be repeated with `Kaggle.repeated`. SaveKernel, CreateSubmission and
the like start something each time they arrive, so whoever makes them looks first whether a lost one
did.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from kagglesdk.blobs.types.blob_api_service import ApiBlobType, ApiStartBlobUploadRequest
from kagglesdk.competitions.types.competition_api_service import (
    ApiCreateCodeSubmissionRequest,
    ApiCreateSubmissionRequest,
    ApiDownloadDataFilesRequest,
    ApiDownloadSubmissionRequest,
    ApiGetCompetitionRequest,
    ApiGetLeaderboardRequest,
    ApiGetSubmissionLimitsRequest,
    ApiGetSubmissionRequest,
    ApiListCompetitionsRequest,
    ApiListDataFilesRequest,
    ApiListSubmissionsRequest,
    ApiStartSubmissionUploadRequest,
)
from kagglesdk.datasets.types.dataset_api_service import (
    ApiCreateDatasetRequest,
    ApiCreateDatasetVersionRequest,
    ApiCreateDatasetVersionRequestBody,
    ApiDatasetNewFile,
    ApiDownloadDatasetRequest,
    ApiGetDatasetRequest,
    ApiGetDatasetStatusRequest,
    ApiListDatasetFilesRequest,
    ApiListDatasetsRequest,
)
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
from kernelkit.kaggle.kernel import Kernel
from kernelkit.kaggle.transport.connection import Connection

Request = TypeVar("Request")


class Calls:
    """The calls of one account; each raises `Failure`, and returns the SDK's own answer."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    # Kernels

    def save_kernel(self, fields: Mapping[str, Any]) -> Any:
        """Save a version of a kernel and start its session; fields as in `ApiSaveKernelRequest`.

        An enumeration is given by its name.
        """
        execution = fields.get("kernel_execution_type")
        if execution:
            fields = {**fields, "kernel_execution_type": KernelExecutionType[execution]}
        request = _filled(ApiSaveKernelRequest(), **fields)
        return self._ask("SaveKernel", self._kernels.save_kernel, request)

    def get_kernel(self, kernel: Kernel, version: int | None = None) -> Any:
        """A kernel's metadata and text, of the latest version or this one."""
        request = _named(ApiGetKernelRequest(), kernel, version)
        return self._ask("GetKernel", self._kernels.get_kernel, request)

    def get_kernel_session_status(self, kernel: Kernel, version: int | None) -> Any:
        """The state of a version's session."""
        request = _named(ApiGetKernelSessionStatusRequest(), kernel, version)
        ask = self._kernels.get_kernel_session_status
        return self._ask("GetKernelSessionStatus", ask, request)

    def list_kernel_session_output(
        self, kernel: Kernel, version: int | None, page_size: int, page_token: str
    ) -> Any:
        """A page of a session's files, with signed links, and its log."""
        request = _named(ApiListKernelSessionOutputRequest(), kernel, version)
        _filled(request, page_size=page_size, page_token=page_token)
        ask = self._kernels.list_kernel_session_output
        return self._ask("ListKernelSessionOutput", ask, request)

    def list_kernel_files(
        self, kernel: Kernel, version: int | None, page_size: int, page_token: str
    ) -> Any:
        """A page of the names and sizes of a version's files."""
        request = _named(ApiListKernelFilesRequest(), kernel, version)
        _filled(request, page_size=page_size, page_token=page_token)
        return self._ask("ListKernelFiles", self._kernels.list_kernel_files, request)

    def download_kernel_output(self, kernel: Kernel, version: int | None) -> Any:
        """All files of a version, or of the latest, in an archive: a streamed response."""
        request = _filled(
            ApiDownloadKernelOutputRequest(), owner_slug=kernel.owner, kernel_slug=kernel.slug
        )
        if version is not None:
            _filled(request, version_number=version)
        return self._ask("DownloadKernelOutput", self._kernels.download_kernel_output, request)

    def list_kernels_of(self, username: str, page_size: int) -> Any:
        """The account's own kernels, those run last first."""
        request = _filled(
            ApiListKernelsRequest(),
            group=KernelsListViewType.PROFILE,
            user=username,
            sort_by=KernelsListSortType.DATE_RUN,
            page=1,
            page_size=page_size,
        )
        return self._ask("ListKernels", self._kernels.list_kernels, request)

    def get_accelerator_quota_statistics(self) -> Any:
        """The week's accelerator hours: used, reserved, allowed."""
        request = ApiGetAcceleratorQuotaStatisticsRequest()
        ask = self._kernels.get_accelerator_quota_statistics
        return self._ask("GetAcceleratorQuotaStatistics", ask, request)

    def delete_kernel(self, kernel: Kernel) -> Any:
        """Delete a kernel with all its versions; a running session ends."""
        request = _named(ApiDeleteKernelRequest(), kernel)
        return self._ask("DeleteKernel", self._kernels.delete_kernel, request)

    # Competitions

    def get_competition(self, competition: str) -> Any:
        """A competition's settings, and whether the account has entered it."""
        request = _filled(ApiGetCompetitionRequest(), competition_name=competition)
        return self._ask("GetCompetition", self._competitions.get_competition, request)

    def list_competitions(self, search: str) -> Any:
        """Competitions that fit a search, with the account's rank and the number of teams."""
        request = _filled(ApiListCompetitionsRequest(), search=search, page=1)
        return self._ask("ListCompetitions", self._competitions.list_competitions, request)

    def list_data_files(self, competition: str, page_size: int, page_token: str) -> Any:
        """A page of a competition's files with their sizes."""
        request = _filled(
            ApiListDataFilesRequest(),
            competition_name=competition,
            page_size=page_size,
            page_token=page_token,
        )
        return self._ask("ListDataFiles", self._competitions.list_data_files, request)

    def download_data_files(self, competition: str) -> Any:
        """A competition's files in an archive: a streamed response."""
        request = _filled(ApiDownloadDataFilesRequest(), competition_name=competition)
        return self._ask("DownloadDataFiles", self._competitions.download_data_files, request)

    def get_leaderboard(self, competition: str, page_size: int) -> Any:
        """The first rows of a competition's public leaderboard, the best first."""
        request = _filled(
            ApiGetLeaderboardRequest(),
            competition_name=competition,
            override_public=True,
            page_size=page_size,
        )
        return self._ask("GetLeaderboard", self._competitions.get_leaderboard, request)

    def get_submission_limits(self, competition: str) -> Any:
        """How many submissions the account's team has made, and how many more it may make today."""
        request = _filled(ApiGetSubmissionLimitsRequest(), competition_name=competition)
        ask = self._competitions.get_submission_limits
        return self._ask("GetSubmissionLimits", ask, request)

    def start_submission_upload(self, competition: str, name: str, size: int, modified: int) -> Any:
        """A URL and a token for a file to submit; `size` in bytes, `modified` in epoch seconds."""
        request = _filled(
            ApiStartSubmissionUploadRequest(),
            competition_name=competition,
            file_name=name,
            content_length=size,
            last_modified_epoch_seconds=modified,
        )
        ask = self._competitions.start_submission_upload
        return self._ask("StartSubmissionUpload", ask, request)

    def create_submission(self, competition: str, token: str, message: str) -> Any:
        """Submit an uploaded file."""
        request = _filled(
            ApiCreateSubmissionRequest(),
            competition_name=competition,
            blob_file_tokens=token,
            submission_description=message,
        )
        return self._ask("CreateSubmission", self._competitions.create_submission, request)

    def create_code_submission(
        self, competition: str, kernel: Kernel, version: int, name: str, message: str
    ) -> Any:
        """Submit a kernel's version, whose output file `name` is scored, perhaps after a rerun."""
        request = _filled(
            ApiCreateCodeSubmissionRequest(),
            competition_name=competition,
            kernel_owner=kernel.owner,
            kernel_slug=kernel.slug,
            kernel_version=version,
            file_name=name,
            submission_description=message,
        )
        ask = self._competitions.create_code_submission
        return self._ask("CreateCodeSubmission", ask, request)

    def get_submission(self, reference: int) -> Any:
        """A submission's state and scores."""
        request = _filled(ApiGetSubmissionRequest(), ref=reference)
        return self._ask("GetSubmission", self._competitions.get_submission, request)

    def download_submission(self, reference: int) -> Any:
        """What Kaggle holds of the account's own submission: a streamed `requests.Response`."""
        request = _filled(ApiDownloadSubmissionRequest(), submission_id=reference)
        return self._ask("DownloadSubmission", self._competitions.download_submission, request)

    def list_submissions(self, competition: str) -> Any:
        """The account's latest submissions to a competition."""
        request = _filled(ApiListSubmissionsRequest(), competition_name=competition, page=1)
        return self._ask("ListSubmissions", self._competitions.list_submissions, request)

    # Datasets, models and the files that they are made of

    def start_blob_upload(self, kind: str, name: str, size: int, modified: int) -> Any:
        """A URL and a token for a file of a dataset or model; `kind`: "dataset" or "model"."""
        request = _filled(
            ApiStartBlobUploadRequest(),
            type=ApiBlobType[kind.upper()],
            name=name,
            content_length=size,
            last_modified_epoch_seconds=modified,
        )
        return self._ask("StartBlobUpload", self._blobs.start_blob_upload, request)

    def get_dataset(self, owner: str, slug: str) -> Any:
        """A dataset and its current version."""
        request = _filled(ApiGetDatasetRequest(), owner_slug=owner, dataset_slug=slug)
        return self._ask("GetDataset", self._datasets.get_dataset, request)

    def list_datasets(self, search: str) -> Any:
        """Datasets that fit a search, the hottest first."""
        request = _filled(ApiListDatasetsRequest(), search=search, page=1)
        return self._ask("ListDatasets", self._datasets.list_datasets, request)

    def get_dataset_status(self, owner: str, slug: str) -> Any:
        """The state of a dataset's newest version."""
        request = _filled(ApiGetDatasetStatusRequest(), owner_slug=owner, dataset_slug=slug)
        return self._ask("GetDatasetStatus", self._datasets.get_dataset_status, request)

    def list_dataset_files(
        self, owner: str, slug: str, version: int, page_size: int, page_token: str
    ) -> Any:
        """A page of a dataset's files with their sizes."""
        request = _filled(
            ApiListDatasetFilesRequest(),
            owner_slug=owner,
            dataset_slug=slug,
            dataset_version_number=version,
            page_size=page_size,
            page_token=page_token,
        )
        return self._ask("ListDatasetFiles", self._datasets.list_dataset_files, request)

    def download_dataset(self, owner: str, slug: str, version: int) -> Any:
        """All files of a dataset's version in an archive: a streamed response."""
        request = _filled(
            ApiDownloadDatasetRequest(),
            owner_slug=owner,
            dataset_slug=slug,
            dataset_version_number=version,
        )
        return self._ask("DownloadDataset", self._datasets.download_dataset, request)

    def create_dataset(
        self, owner: str, slug: str, title: str, licence: str, tokens: Sequence[str]
    ) -> Any:
        """Make a private dataset of uploaded files."""
        request = _filled(
            ApiCreateDatasetRequest(),
            owner_slug=owner,
            slug=slug,
            title=title,
            license_name=licence,
            is_private=True,
            files=_files(tokens),
        )
        return self._ask("CreateDataset", self._datasets.create_dataset, request)

    def create_dataset_version(
        self, owner: str, slug: str, notes: str, tokens: Sequence[str]
    ) -> Any:
        """Make another version of a dataset, of uploaded files."""
        body = ApiCreateDatasetVersionRequestBody()
        _filled(body, version_notes=notes, files=_files(tokens))
        request = _filled(
            ApiCreateDatasetVersionRequest(), owner_slug=owner, dataset_slug=slug, body=body
        )
        return self._ask("CreateDatasetVersion", self._datasets.create_dataset_version, request)

    def get_model(self, owner: str, model: str) -> Any:
        """A model's page."""
        request = _filled(ApiGetModelRequest(), owner_slug=owner, model_slug=model)
        return self._ask("GetModel", self._models.get_model, request)

    def create_model(self, page: Mapping[str, Any]) -> Any:
        """Make a model without variations; `page` as in the client's model-metadata.json.

        Raises KeyError and others for values that Kaggle does not know.
        """
        request = ApiCreateModelRequest.from_dict(dict(page))
        return self._ask("CreateModel", self._models.create_model, request)

    def get_model_instance(self, owner: str, model: str, framework: Any, variation: str) -> Any:
        """A variation of a model and its current version."""
        request = _variation(ApiGetModelInstanceRequest(), owner, model, framework, variation)
        return self._ask("GetModelInstance", self._models.get_model_instance, request)

    def list_model_instances(self, owner: str, model: str) -> Any:
        """The variations of a model with their states."""
        request = _filled(ApiListModelInstancesRequest(), owner_slug=owner, model_slug=model)
        return self._ask("ListModelInstances", self._models.list_model_instances, request)

    def list_model_instance_version_files(
        self,
        owner: str,
        model: str,
        framework: Any,
        variation: str,
        version: int,
        page_size: int,
        page_token: str,
    ) -> Any:
        """A page of the files of a variation's version with their sizes."""
        request = ApiListModelInstanceVersionFilesRequest()
        _variation(request, owner, model, framework, variation)
        _filled(request, version_number=version, page_size=page_size, page_token=page_token)
        ask = self._models.list_model_instance_version_files
        return self._ask("ListModelInstanceVersionFiles", ask, request)

    def download_model_instance_version(
        self, owner: str, model: str, framework: Any, variation: str, version: int
    ) -> Any:
        """All files of a variation's version in an archive: a streamed response."""
        request = ApiDownloadModelInstanceVersionRequest()
        _variation(request, owner, model, framework, variation)
        _filled(request, version_number=version)
        ask = self._models.download_model_instance_version
        return self._ask("DownloadModelInstanceVersion", ask, request)

    def create_model_instance(
        self, owner: str, model: str, settings: Mapping[str, Any], tokens: Sequence[str]
    ) -> Any:
        """Make a variation of uploaded files; `settings` as in model-instance-metadata.json."""
        body = variation_body(settings)
        body.files = _files(tokens)
        request = _filled(
            ApiCreateModelInstanceRequest(), owner_slug=owner, model_slug=model, body=body
        )
        return self._ask("CreateModelInstance", self._models.create_model_instance, request)

    def create_model_instance_version(
        self,
        owner: str,
        model: str,
        framework: Any,
        variation: str,
        notes: str,
        tokens: Sequence[str],
    ) -> Any:
        """Make another version of a variation, of uploaded files."""
        body = ApiCreateModelInstanceVersionRequestBody()
        _filled(body, version_notes=notes, files=_files(tokens))
        request = ApiCreateModelInstanceVersionRequest()
        _variation(request, owner, model, framework, variation)
        request.body = body
        ask = self._models.create_model_instance_version
        return self._ask("CreateModelInstanceVersion", ask, request)

    def _ask(self, method: str, call: Callable[[Any], Any], request: Any) -> Any:
        return self._connection.ask(method, call, request)

    @property
    def _kernels(self) -> Any:
        return self._connection.services.kernels.kernels_api_client

    @property
    def _competitions(self) -> Any:
        return self._connection.services.competitions.competition_api_client

    @property
    def _datasets(self) -> Any:
        return self._connection.services.datasets.dataset_api_client

    @property
    def _models(self) -> Any:
        return self._connection.services.models.model_api_client

    @property
    def _blobs(self) -> Any:
        return self._connection.services.blobs.blob_api_client


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


def variation_body(settings: Mapping[str, Any]) -> Any:
    """The settings of a variation as the SDK has them; its `framework` is the SDK's enum.

    Raises KeyError and others for values that Kaggle does not know.
    """
    return ApiCreateModelInstanceRequestBody.from_dict(dict(settings))


def _filled(request: Request, **fields: Any) -> Request:
    """Set fields of one of the SDK's messages; raises `TypeError` for one that it lacks."""
    for name, value in fields.items():
        if not hasattr(request, name):
            raise TypeError(f"{type(request).__name__} has no field {name}")
        setattr(request, name, value)
    return request


def _named(request: Request, kernel: Kernel, version: int | None = None) -> Request:
    """Name a kernel in a message, and the version, without which it is the latest."""
    _filled(request, user_name=kernel.owner, kernel_slug=kernel.slug)
    if version is not None:
        _filled(request, version_label=f"v{version}")
    return request


def _variation(request: Request, owner: str, model: str, framework: Any, slug: str) -> Request:
    return _filled(
        request, owner_slug=owner, model_slug=model, framework=framework, instance_slug=slug
    )


def _files(tokens: Sequence[str]) -> list[Any]:
    return [ApiDatasetNewFile.from_dict({"token": token}) for token in tokens]
