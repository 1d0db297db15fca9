"""Leaderboards: each user's best public score, of the submissions made to this local Kaggle."""

from __future__ import annotations

import csv
import io
import sqlite3
import zipfile
from datetime import UTC, datetime

from kagglesdk.competitions.types import competition_api_service as types
from starlette.responses import Response

from local_kaggle.api.wire import Message, answers, fill, listing, moment
from local_kaggle.competitions.competitions import folder_of
from local_kaggle.competitions.metrics import lower_is_better
from local_kaggle.competitions.scoring import SubmissionError, read_rules
from local_kaggle.competitions.submissions import settled
from local_kaggle.state import ServerState

HEADER = (
    "Rank",
    "TeamId",
    "TeamName",
    "LastSubmissionDate",
    "Score",
    "SubmissionCount",
    "TeamMemberUserNames",
)


@answers(types.ApiGetLeaderboardRequest)
def get(state: ServerState, request: Message, _user: str) -> Message:
    """A page of the best scores, the best first; every user is a team of one."""

    def entry(message: Message, place: tuple[sqlite3.Row, int, int]) -> Message:
        row, team, _ = place
        date, score = moment(row["created"]), row["score"]
        return fill(message, team_id=team, team_name=row["user"], submission_date=date, score=score)

    return listing(state, request, _ranked(state, request.competition_name), entry)


@answers(types.ApiDownloadLeaderboardRequest)
def download(state: ServerState, request: Message, _user: str) -> Response:
    """An archive with one CSV file."""
    name = request.competition_name
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(HEADER)
    for rank, (row, team, count) in enumerate(_ranked(state, name), start=1):
        date = f"{moment(row['created']):%Y-%m-%d %H:%M:%S}"
        writer.writerow([rank, team, row["user"], date, row["score"], count, row["user"]])
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        today = datetime.now(UTC)
        archive.writestr(f"{name}-publicleaderboard-{today:%Y-%m-%d}.csv", text.getvalue())
    return Response(packed.getvalue(), media_type="application/zip")


def _ranked(state: ServerState, competition: str) -> list[tuple[sqlite3.Row, int, int]]:
    """Each user's best submission, id as a team, and number of scored submissions; best first.

    Among equal scores the earlier one leads. A team's id is that of its first submission.
    """
    folder_of(state, competition)
    try:
        metric = read_rules(state.catalogue.scoring_rules(competition)).metric
        sign = 1 if lower_is_better(metric) else -1
    except SubmissionError:  # the answers went after they had served
        sign = -1
    query = "SELECT * FROM submissions WHERE competition = ?"
    rows = [settled(state, row) for row in state.store.rows(query, competition)]
    scored = [row for row in rows if row["status"] == "COMPLETE"]
    by_user: dict[str, list[sqlite3.Row]] = {}
    for row in sorted(scored, key=lambda row: (sign * float(row["score"]), row["id"])):
        by_user.setdefault(row["user"], []).append(row)
    return [(own[0], min(row["id"] for row in own), len(own)) for own in by_user.values()]
