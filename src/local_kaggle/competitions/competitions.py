"""Competitions: their files, what is submitted and its score, and where its users stand."""

import csv
import io
import shutil
import sqlite3
import threading
import time
import zipfile
from collections.abc import Sequence
from concurrent.futures import Future
from datetime import UTC, datetime
from pathlib import Path

from kagglesdk.competitions.types import competition_api_service as types
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

from local_kaggle.catalogue import files_below
from local_kaggle.competitions import leaderboard
from local_kaggle.competitions.leaderboard import Team, deadline_of
from local_kaggle.competitions.scoring import SubmissionError, lower_is_better, prepare, scores
from local_kaggle.execution import gateways, sessions
from local_kaggle.execution.sessions import Rerun
from local_kaggle.files import storage
from local_kaggle.kernels import kernels, outputs, saving
from local_kaggle.state import ServerState
from local_kaggle.wire import (
    Filters,
    Json,
    Message,
    Service,
    file_listing,
    filtered,
    holds,
    listing,
    moment,
)

answers = Service(types)

DAY = 24 * 3600.0
SCORING_SECONDS = 50.0  # that a request waits for a score; clients hang up after 60
UNANSWERED_SECONDS = 60.0  # that a gateway waits for an answer before the local Kaggle says so
Judged = tuple[str, str | None, str | None, str | None]
FILTERS: Filters = {
    "category": holds("category"),
    "group=entered": lambda entry, _: entry["userHasEntered"],
    "group=successful": lambda entry, _: entry["status"] == "COMPLETE",
    "group=selected": lambda *_: False,  # nobody selects submissions here
}
HEADER = (
    "Rank",
    "TeamId",
    "TeamName",
    "LastSubmissionDate",
    "Score",
    "SubmissionCount",
    "TeamMemberUserNames",
)


def folder_of(state: ServerState, competition: str) -> Path:
    """The folder of a competition's files. Raises HTTPException 404."""
    folder = state.contents.find("competitions", competition)
    if folder is None:
        expected = state.catalogue / "competitions" / competition
        raise HTTPException(
            404, f"Competition {competition} not found: rehearsal: put its files into {expected}"
        )
    return folder


def entered(state: ServerState, competition: str) -> Path:
    """The folder of a competition whose rules the user accepted. Raises HTTPException 403, 404."""
    folder = folder_of(state, competition)
    if competition in state.limits.rules_pending:
        raise HTTPException(403, "You must accept this competition's rules before you can continue")
    return folder


@answers
def list_competitions(state: ServerState, request: Message) -> Json:
    """The catalogue's competitions that match the request's filters."""
    entries = [_about(state, name) for name in state.contents.references("competitions")]
    hosted: Filters = {
        "group=hosted": lambda entry, _: state.is_user(entry.get("hostName", "")),
    }
    entries = filtered(request, entries, FILTERS | hosted)
    return listing(state, request, "competitions", entries)


@answers
def get_competition(state: ServerState, request: Message) -> Json:
    """One competition."""
    folder_of(state, request.competition_name)
    return _about(state, request.competition_name)


def _about(state: ServerState, name: str) -> Json:
    page = state.contents.page("competitions", name)
    teams = board(state, name)
    return {
        "title": name,
        **page,
        "teamCount": len(teams) or page.get("teamCount", 0),
        "userRank": _rank(state, teams),
        "ref": f"{state.url}/competitions/{name}",
        "url": f"{state.url}/competitions/{name}",
        "userHasEntered": name not in state.limits.rules_pending,
        "maxDailySubmissions": state.limits.submissions_a_day,
        "isKernelsSubmissionsOnly": state.contents.find("hidden", name) is not None,
    }


@answers
def list_data_files(state: ServerState, request: Message) -> Json:
    """The names of a competition's files, and their sizes in bytes."""
    folder = entered(state, request.competition_name)
    return file_listing(state, request, "files", files_below(folder))


@answers.to("DownloadDataFile", "DownloadDataFiles")
def download(state: ServerState, request: Message) -> Response:
    """A redirect to one file, or to an archive of all."""
    folder = entered(state, request.competition_name)
    name = getattr(request, "file_name", None)
    return storage.one_or_all(state, files_below(folder), name)


@answers
def start_submission_upload(state: ServerState, request: Message) -> Json:
    """A token for a file, and the URL that takes it."""
    entered(state, request.competition_name)
    prepare()
    return storage.open_upload(state, request.file_name, request.content_length)


@answers
def create_submission(state: ServerState, request: Message) -> Json:
    """Submit an uploaded file; it is scored later."""
    entered(state, request.competition_name)
    if state.contents.find("hidden", request.competition_name):
        raise HTTPException(400, "This is a code competition: submit from a notebook")
    return _enter(state, request, *storage.complete(state, request.blob_file_tokens))


@answers
def create_code_submission(state: ServerState, request: Message) -> Json:
    """Submit a file from a finished version's output."""
    competition = request.competition_name
    public = entered(state, competition)
    prepare()
    kernel = kernels.find(state, request.kernel_owner, request.kernel_slug)
    version = kernels.version_of(state, kernel, str(request.kernel_version or ""))
    name = request.file_name or "submission.csv"
    path = dict(outputs.files_of(version)).get(name)
    if path is None or version["status"] != "COMPLETE":
        raise HTTPException(400, f"Version {version['number']} has no output {name} to submit")
    hidden = state.contents.find("hidden", competition)
    plan = hidden and saving.rerun_plan(state, version, competition, public, hidden)
    with state.store.lock:  # nobody asks for the score before its rerun has begun
        answer = _enter(state, request, name, path)
        if plan:
            state.sessions.rerun(answer["ref"], plan, name)
    return answer


@answers
def get_submission(state: ServerState, request: Message) -> Json:
    """One submission."""
    query = "SELECT * FROM submissions WHERE id = ? AND user = ?"
    row = state.store.row(query, request.ref, state.user)
    if row is None:
        raise HTTPException(404, f"Submission {request.ref} not found")
    entry = _entry(state, settled(state, row))
    if entry["status"] == "PENDING":
        folder = sessions.rerun_folder(state.root, row["id"]) / gateways.FOLDER
        unanswered = gateways.waiting(folder, UNANSWERED_SECONDS)
        if unanswered:
            entry["errorDescription"] = f"rehearsal: {unanswered}"
    return entry


@answers
def list_submissions(state: ServerState, request: Message) -> Json:
    """The user's submissions, newest first."""
    entries = [_entry(state, settled(state, row)) for row in _of(state, request.competition_name)]
    return listing(state, request, "submissions", filtered(request, entries, FILTERS))


@answers
def get_submission_limits(state: ServerState, request: Message) -> Json:
    """How many submissions the user made today and in all, and how many are left for today."""
    rows = _of(state, request.competition_name)
    today = _today(rows)
    left = state.limits.submissions_a_day - today
    return {"numToday": today, "numTotal": len(rows), "numAllowedNow": max(0, left)}


def settled(state: ServerState, row: sqlite3.Row) -> sqlite3.Row:
    """A submission with its score, which is computed at the first request after it is due."""
    if row["status"] != "PENDING" or time.time() < row["created"] + state.limits.score_seconds:
        return row
    folder = sessions.rerun_folder(state.root, row["id"])
    rerun = sessions.read_rerun(folder)
    if rerun is None and folder.is_dir():  # it runs still
        return row
    with state.store.lock:
        scoring = state.scorings.get(row["id"])
        if scoring is None:
            scoring = _begin_scoring(state, row, rerun)
            state.scorings[row["id"]] = scoring
    try:
        judged = scoring.result(SCORING_SECONDS)
    except TimeoutError:  # a metric of somebody's may take minutes: the client asks again
        return row
    finally:
        if scoring.done():
            state.scorings.pop(row["id"], None)
    change = (
        "UPDATE submissions SET status = ?, score = ?, private_score = ?, failure = ? WHERE id = ?"
    )
    state.store.change(change, *judged, row["id"])
    return state.store.rows("SELECT * FROM submissions WHERE id = ?", row["id"])[0]


def _begin_scoring(state: ServerState, row: sqlite3.Row, rerun: Rerun | None) -> Future[Judged]:
    """Work out the score of a submission in a thread that does not keep the server from ending."""
    future: Future[Judged] = Future()

    def work() -> None:
        try:
            future.set_result(_judged(state, row, rerun))
        except BaseException as error:  # whoever asks for the score is told
            future.set_exception(error)

    threading.Thread(target=work, daemon=True).start()
    return future


def _judged(state: ServerState, row: sqlite3.Row, rerun: Rerun | None) -> Judged:
    """The status of a submission, its public and private score, and why it has none."""
    try:
        if rerun and rerun.message:
            raise SubmissionError(rerun.message)
        file = Path(rerun.file) if rerun else _copy(state, row["id"], row["name"])
        rules = _rules(state, row["competition"])
        by_gateway = bool(rerun) and file.parent.parent.name == gateways.FOLDER
        reached = scores(file, rules, hidden=bool(rerun), by_gateway=by_gateway)
    except SubmissionError as error:
        return "ERROR", None, None, str(error)
    private = None if reached.private is None else f"{reached.private:.5f}"
    return "COMPLETE", f"{reached.public:.5f}", private, None


def _of(state: ServerState, competition: str) -> list[sqlite3.Row]:
    folder_of(state, competition)
    query = "SELECT * FROM submissions WHERE competition = ? AND user = ? ORDER BY id DESC"
    return state.store.rows(query, competition, state.user)


def _today(rows: list[sqlite3.Row]) -> int:
    midnight = time.time() // DAY * DAY
    return len([row for row in rows if row["created"] >= midnight])


def _enter(state: ServerState, request: Message, name: str, path: Path) -> Json:
    competition = request.competition_name
    most = state.limits.submissions_a_day
    with state.store.lock:
        if _today(_of(state, competition)) >= most:
            raise HTTPException(400, f"Your team has used its daily submission allowance ({most})")
        ref = state.store.change(
            "INSERT INTO submissions (competition, user, description, name, size, created, "
            "status) VALUES (?, ?, ?, ?, ?, ?, 'PENDING')",
            competition,
            state.user,
            request.submission_description,
            name,
            path.stat().st_size,
            time.time(),
        )
        # A copy, since the kernel that it came from may be deleted before it is scored.
        copy = _copy(state, ref, name)
        copy.parent.mkdir(exist_ok=True)
        shutil.copyfile(path, copy)
    return {"message": f"Successfully submitted to {competition}", "ref": ref}


def _copy(state: ServerState, ref: int, name: str) -> Path:
    return state.root / "submissions" / f"{ref}-{Path(name).name}"


@answers
def download_submission(state: ServerState, request: Message) -> Response:
    """A redirect to the bytes of one of the user's own submissions."""
    query = "SELECT * FROM submissions WHERE id = ? AND user = ?"
    row = state.store.row(query, request.submission_id, state.user)
    if row is None:
        raise HTTPException(404, f"Submission {request.submission_id} not found")
    name = Path(row["name"]).name
    return RedirectResponse(state.link(_copy(state, row["id"], name), name), 302)


def _entry(state: ServerState, row: sqlite3.Row) -> Json:
    is_over = time.time() > deadline_of(state.contents, row["competition"])
    return {
        "ref": row["id"],
        "fileName": row["name"],
        "totalBytes": row["size"],
        "date": moment(row["created"]),
        "description": row["description"],
        "status": row["status"],
        "publicScore": row["score"],
        "privateScore": row["private_score"] if is_over else None,
        "errorDescription": row["failure"],
        "submittedBy": row["user"],
        "teamName": row["user"],
    }


def board(state: ServerState, competition: str, *, private: bool | None = None) -> list[Team]:
    """The teams of a competition, best first: by private scores after its end, or as requested."""
    folder_of(state, competition)
    deadline = deadline_of(state.contents, competition)
    query = "SELECT * FROM submissions WHERE competition = ?"
    rows = [settled(state, row) for row in state.store.rows(query, competition)]
    return leaderboard.ranked(
        state.catalogue / "boards" / f"{competition}.csv",
        rows,
        deadline=deadline,
        lowest_wins=lower_is_better(_rules(state, competition)),
        private=time.time() > deadline if private is None else private,
    )


def _rank(state: ServerState, teams: Sequence[Team]) -> int | None:
    """The user's rank on a board, from 1; None without a submission that counts."""
    for rank, team in enumerate(teams, start=1):
        if team.best is not None and team.name == state.user:
            return rank
    return None


@answers
def get_leaderboard(state: ServerState, request: Message) -> Json:
    """A page of scores, best first; every user is a team of one."""
    private = False if request.override_public else None
    entries = [
        {
            "teamId": team.number,
            "teamName": team.name,
            "submissionDate": moment(team.date),
            "score": team.score,
        }
        for team in board(state, request.competition_name, private=private)
    ]
    return listing(state, request, "submissions", entries)


@answers
def download_leaderboard(state: ServerState, request: Message) -> Response:
    """An archive with one CSV file, named after the time, with a byte order mark, as on Kaggle."""
    name = request.competition_name
    text, packed = io.StringIO(), io.BytesIO()
    csv.writer(text).writerow(HEADER)
    for rank, team in enumerate(board(state, name, private=False), start=1):
        date = f"{datetime.fromtimestamp(team.date, UTC):%Y-%m-%d %H:%M:%S}"
        row = (rank, team.number, team.name, date, team.score, team.submissions, team.name)
        csv.writer(text).writerow(row)
    with zipfile.ZipFile(packed, "w") as archive:
        file = f"{name}-publicleaderboard-{datetime.now(UTC):%Y-%m-%dT%H:%M:%S}.csv"
        archive.writestr(file, text.getvalue().encode("utf-8-sig"))
    return Response(packed.getvalue(), media_type="application/zip")


def _rules(state: ServerState, competition: str) -> Path:
    return state.catalogue / "solutions" / f"{competition}.toml"
