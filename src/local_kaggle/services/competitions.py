"""Competitions: their files, and what is submitted to them."""

from __future__ import annotations

import shutil
import sqlite3
import time
from pathlib import Path

from kagglesdk.competitions.types import competition_api_service as types
from kagglesdk.competitions.types.submission_status import SubmissionStatus

from local_kaggle.catalogue import files_below
from local_kaggle.faults.fault_responses import current_fault
from local_kaggle.faults.schedule import FaultKind
from local_kaggle.services.blobs import Blobs
from local_kaggle.services.kernels import Kernels
from local_kaggle.services.outputs import OutputService
from local_kaggle.services.scoring import SubmissionError, read_rules, score
from local_kaggle.services.wire import (
    ApiError,
    Message,
    Method,
    Redirect,
    fill,
    moment,
    page,
)
from local_kaggle.state import ServerState

DAY = 24 * 3600.0


class Competitions:
    """Answers CompetitionApiService for the competitions of the catalogue."""

    def __init__(
        self, state: ServerState, blobs: Blobs, kernels: Kernels, outputs: OutputService
    ) -> None:
        self._state = state
        self._store = state.store
        self._blobs = blobs
        self._kernels = kernels
        self._outputs = outputs

    def methods(self) -> dict[str, Method]:
        answers = {
            "ListDataFiles": (types.ApiListDataFilesRequest, self.files),
            "DownloadDataFile": (types.ApiDownloadDataFileRequest, self.download),
            "DownloadDataFiles": (types.ApiDownloadDataFilesRequest, self.download_all),
            "StartSubmissionUpload": (types.ApiStartSubmissionUploadRequest, self.start_upload),
            "CreateSubmission": (types.ApiCreateSubmissionRequest, self.submit),
            "CreateCodeSubmission": (types.ApiCreateCodeSubmissionRequest, self.submit_code),
            "GetSubmission": (types.ApiGetSubmissionRequest, self.submission),
            "ListSubmissions": (types.ApiListSubmissionsRequest, self.submissions),
            "GetSubmissionLimits": (types.ApiGetSubmissionLimitsRequest, self.limits),
        }
        return {
            f"competitions.CompetitionApiService/{name}": Method(*both)
            for name, both in answers.items()
        }

    def files(self, request: Message, _user: str) -> Message:
        """The answer to ListDataFiles: names and sizes in bytes."""
        limits = self._state.limits
        size = min(request.page_size or limits.page_size, limits.max_page_size)
        files = files_below(self._folder(request.competition_name))
        shown, following = page(files, request.page_token, size)
        items = [
            fill(
                types.ApiDataFile(),
                name=name,
                total_bytes=path.stat().st_size,
                creation_date=moment(path.stat().st_mtime),
            )
            for name, path in shown
        ]
        return fill(types.ApiListDataFilesResponse(), files=items, next_page_token=following)

    def download(self, request: Message, _user: str) -> Redirect:
        """The answer to DownloadDataFile: a redirect to one file."""
        name = request.file_name
        if name not in dict(files_below(self._folder(request.competition_name))):
            raise ApiError(404, f"The competition has no file {name}")
        return self._redirect(f"/storage/competitions/{request.competition_name}/{name}")

    def download_all(self, request: Message, _user: str) -> Redirect:
        """The answer to DownloadDataFiles: a redirect to one archive."""
        self._folder(request.competition_name)
        return self._redirect(f"/storage/archives/{request.competition_name}.zip")

    def start_upload(self, request: Message, _user: str) -> Message:
        """The answer to StartSubmissionUpload."""
        self._folder(request.competition_name)
        token, url = self._blobs.open(request.file_name, request.content_length)
        return fill(types.ApiStartSubmissionUploadResponse(), token=token, create_url=url)

    def submit(self, request: Message, user: str) -> Message:
        """The answer to CreateSubmission; the score comes later."""
        self._folder(request.competition_name)
        name, path = self._blobs.complete(request.blob_file_tokens)
        description = request.submission_description
        ref = self._enter(request.competition_name, user, name, path, description)
        message = f"Successfully submitted to {request.competition_name}"
        return fill(types.ApiCreateSubmissionResponse(), message=message, ref=ref)

    def submit_code(self, request: Message, user: str) -> Message:
        """The answer to CreateCodeSubmission: a file out of a finished version's output."""
        self._folder(request.competition_name)
        kernel = self._kernels.find(request.kernel_owner, request.kernel_slug, user)
        label = str(request.kernel_version) if request.kernel_version else None
        version = self._kernels.version(kernel, label)
        session = self._state.sessions.of(version["id"])
        name = request.file_name or "submission.csv"
        path = self._outputs.file(version["id"], name)
        if session is None or session["status"] != "COMPLETE" or not path.is_file():
            raise ApiError(400, f"Version {version['number']} has no output {name} to submit")
        description = request.submission_description
        ref = self._enter(request.competition_name, user, name, path, description)
        message = f"Successfully submitted to {request.competition_name}"
        return fill(types.ApiCreateCodeSubmissionResponse(), message=message, ref=ref)

    def submission(self, request: Message, user: str) -> Message:
        """The answer to GetSubmission."""
        query = "SELECT * FROM submissions WHERE id = ? AND user = ?"
        row = self._store.row(query, request.ref, user)
        if row is None:
            raise ApiError(404, f"Submission {request.ref} not found")
        return _message(self._settled(row))

    def submissions(self, request: Message, user: str) -> Message:
        """The answer to ListSubmissions, newest first."""
        rows = self._of(request.competition_name, user)
        size = min(request.page_size or self._state.limits.page_size, 200)
        token = request.page_token or str((max(request.page or 1, 1) - 1) * size)
        shown, following = page(rows, token, size)
        if current_fault() is FaultKind.REPEATED_PAGE:
            shown, following = page(rows, str(max(int(token) - size, 0)), size)[0], token
        entries = [_message(self._settled(row)) for row in shown]
        answer = types.ApiListSubmissionsResponse()
        return fill(answer, submissions=entries, next_page_token=following)

    def limits(self, request: Message, user: str) -> Message:
        """The answer to GetSubmissionLimits: how many today, in all, and still allowed."""
        rows = self._of(request.competition_name, user)
        today = self._today(rows)
        allowed = max(0, self._state.limits.submissions_a_day - today)
        answer = types.ApiSubmissionLimits()
        return fill(answer, num_today=today, num_total=len(rows), num_allowed_now=allowed)

    def scored(self, competition: str) -> list[sqlite3.Row]:
        """Every user's submissions that have a score, oldest first."""
        self._folder(competition)
        query = "SELECT * FROM submissions WHERE competition = ? ORDER BY id"
        rows = map(self._settled, self._store.rows(query, competition))
        return [row for row in rows if row["status"] == "COMPLETE"]

    def _folder(self, competition: str) -> Path:
        folder = self._state.catalogue.find("competitions", competition)
        if folder is None:
            raise ApiError(404, f"Competition {competition} not found")
        return folder

    def _redirect(self, path: str) -> Redirect:
        return Redirect(self._state.signer.link(path, self._state.limits.link_seconds))

    def _of(self, competition: str, user: str) -> list[sqlite3.Row]:
        self._folder(competition)
        query = "SELECT * FROM submissions WHERE competition = ? AND user = ? ORDER BY id DESC"
        return self._store.rows(query, competition, user)

    def _today(self, rows: list[sqlite3.Row]) -> int:
        midnight = time.time() // DAY * DAY
        return sum(row["created"] >= midnight for row in rows)

    def _enter(
        self, competition: str, user: str, name: str, path: Path, description: str | None
    ) -> int:
        with self._store.lock:
            most = self._state.limits.submissions_a_day
            if self._today(self._of(competition, user)) >= most:
                raise ApiError(400, f"Your team has used its daily submission allowance ({most})")
            ref = self._store.change(
                "INSERT INTO submissions (competition, user, description, name, size, created, "
                "status) VALUES (?, ?, ?, ?, ?, ?, 'PENDING')",
                competition,
                user,
                description,
                name,
                path.stat().st_size,
                time.time(),
            )
            # A copy, since the kernel that it came from may be deleted before it is scored.
            shutil.copyfile(path, self._copy(ref))
            return ref

    def _copy(self, ref: int) -> Path:
        folder = self._state.root / "submissions"
        folder.mkdir(exist_ok=True)
        return folder / f"{ref}.csv"

    def _settled(self, row: sqlite3.Row) -> sqlite3.Row:
        """The row with its score, which is worked out once it is asked for and is due."""
        if row["status"] != "PENDING":
            return row
        if time.time() < row["created"] + self._state.limits.score_seconds:
            return row
        rules = self._state.catalogue.scoring_rules(row["competition"])
        status, public, failure = "ERROR", None, None
        try:
            scores = score(self._copy(row["id"]), read_rules(rules))
            public = f"{scores.public:.5f}"
            status = "COMPLETE"
        except SubmissionError as error:
            failure = str(error)
        self._store.change(
            "UPDATE submissions SET status = ?, score = ?, failure = ? WHERE id = ?",
            status,
            public,
            failure,
            row["id"],
        )
        settled = self._store.row("SELECT * FROM submissions WHERE id = ?", row["id"])
        return settled or row


def _message(row: sqlite3.Row) -> Message:
    return fill(
        types.ApiSubmission(),
        ref=row["id"],
        file_name=row["name"],
        total_bytes=row["size"],
        date=moment(row["created"]),
        description=row["description"],
        status=SubmissionStatus[row["status"]],
        public_score=row["score"],
        error_description=row["failure"],
        submitted_by=row["user"],
        team_name=row["user"],
    )
