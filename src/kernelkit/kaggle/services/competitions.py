"""The calls about competitions: their settings, files and leaderboards, and submissions to them."""

from dataclasses import dataclass
from typing import Any

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

from kernelkit.kaggle.transport.connection import Connection


@dataclass(frozen=True)
class Competitions:
    """The calls about competitions; each raises `Failure`, and returns the SDK's own answer."""

    connection: Connection

    @property
    def _service(self) -> Any:
        return self.connection.services.competitions.competition_api_client

    def get_competition(self, competition: str) -> Any:
        """A competition's settings, and whether the account has entered it."""
        return self.connection.ask(
            self._service.get_competition, ApiGetCompetitionRequest(), competition_name=competition
        )

    def list_competitions(self, search: str) -> Any:
        """Competitions that fit a search, with the account's rank and the number of teams."""
        return self.connection.ask(
            self._service.list_competitions, ApiListCompetitionsRequest(), search=search, page=1
        )

    def list_data_files(self, competition: str, page_size: int, page_token: str) -> Any:
        """A page of a competition's files with their sizes."""
        return self.connection.ask(
            self._service.list_data_files,
            ApiListDataFilesRequest(),
            competition_name=competition,
            page_size=page_size,
            page_token=page_token,
        )

    def download_data_files(self, competition: str) -> Any:
        """A competition's files in an archive: a streamed response."""
        return self.connection.ask(
            self._service.download_data_files,
            ApiDownloadDataFilesRequest(),
            competition_name=competition,
        )

    def get_leaderboard(self, competition: str, page_size: int) -> Any:
        """The first rows of a competition's public leaderboard, the best first."""
        return self.connection.ask(
            self._service.get_leaderboard,
            ApiGetLeaderboardRequest(),
            competition_name=competition,
            override_public=True,
            page_size=page_size,
        )

    def get_submission_limits(self, competition: str) -> Any:
        """How many submissions the account's team has made, and how many more it may make today."""
        return self.connection.ask(
            self._service.get_submission_limits,
            ApiGetSubmissionLimitsRequest(),
            competition_name=competition,
        )

    def start_submission_upload(self, competition: str, name: str, size: int, modified: int) -> Any:
        """A URL and a token for a file to submit; `size` in bytes, `modified` in epoch seconds."""
        return self.connection.ask(
            self._service.start_submission_upload,
            ApiStartSubmissionUploadRequest(),
            competition_name=competition,
            file_name=name,
            content_length=size,
            last_modified_epoch_seconds=modified,
        )

    def create_submission(self, competition: str, token: str, message: str) -> Any:
        """Submit an uploaded file."""
        return self.connection.ask(
            self._service.create_submission,
            ApiCreateSubmissionRequest(),
            competition_name=competition,
            blob_file_tokens=token,
            submission_description=message,
        )

    def create_code_submission(
        self, competition: str, kernel: str, version: int, name: str, message: str
    ) -> Any:
        """Submit a version of "owner/slug", whose output file `name` is scored, perhaps after a
        rerun."""
        owner, slug = kernel.split("/")
        return self.connection.ask(
            self._service.create_code_submission,
            ApiCreateCodeSubmissionRequest(),
            competition_name=competition,
            kernel_owner=owner,
            kernel_slug=slug,
            kernel_version=version,
            file_name=name,
            submission_description=message,
        )

    def get_submission(self, reference: int) -> Any:
        """A submission's state and scores."""
        return self.connection.ask(
            self._service.get_submission, ApiGetSubmissionRequest(), ref=reference
        )

    def list_submissions(self, competition: str) -> Any:
        """The account's latest submissions to a competition."""
        return self.connection.ask(
            self._service.list_submissions,
            ApiListSubmissionsRequest(),
            competition_name=competition,
            page=1,
        )

    def download_submission(self, reference: int) -> Any:
        """What Kaggle holds of the account's own submission: a streamed `requests.Response`."""
        return self.connection.ask(
            self._service.download_submission,
            ApiDownloadSubmissionRequest(),
            submission_id=reference,
        )
