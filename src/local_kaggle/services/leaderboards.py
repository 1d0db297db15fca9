"""Leaderboards: each user's best public score, of the submissions made to this local Kaggle."""

from __future__ import annotations

import csv
import io
import sqlite3
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

from kagglesdk.competitions.types import competition_api_service as types

from local_kaggle.services import metrics
from local_kaggle.services.competitions import Competitions
from local_kaggle.services.scoring import SubmissionError, read_rules
from local_kaggle.services.wire import Message, Method, Redirect, fill, moment, page
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


class Leaderboards:
    """Answers what `competitions leaderboard` asks; every user is a team of one."""

    def __init__(self, state: ServerState, competitions: Competitions) -> None:
        self._state = state
        self._competitions = competitions

    def methods(self) -> dict[str, Method]:
        service = "competitions.CompetitionApiService"
        return {
            f"{service}/GetLeaderboard": Method(types.ApiGetLeaderboardRequest, self.get),
            f"{service}/DownloadLeaderboard": Method(
                types.ApiDownloadLeaderboardRequest, self.download
            ),
        }

    def get(self, request: Message, _user: str) -> Message:
        """The answer to GetLeaderboard: a page of the best scores, the best first."""
        rows = [best for best, _ in self._ranked(request.competition_name)]
        size = min(request.page_size or self._state.limits.page_size, 200)
        shown, following = page(rows, request.page_token, size)
        entries = [
            fill(
                types.ApiLeaderboardSubmission(),
                team_id=self._team(row["user"]),
                team_name=row["user"],
                submission_date=moment(row["created"]),
                score=row["score"],
            )
            for row in shown
        ]
        answer = types.ApiGetLeaderboardResponse()
        return fill(answer, submissions=entries, next_page_token=following)

    def download(self, request: Message, _user: str) -> Redirect:
        """The answer to DownloadLeaderboard: a redirect to an archive with one CSV file."""
        name = request.competition_name
        text = io.StringIO()
        writer = csv.writer(text)
        writer.writerow(HEADER)
        for rank, (best, count) in enumerate(self._ranked(name), start=1):
            date = moment(best["created"]).strftime("%Y-%m-%d %H:%M:%S")
            user = best["user"]
            writer.writerow([rank, self._team(user), user, date, best["score"], count, user])
        today = datetime.now(UTC).strftime("%Y-%m-%d")
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr(f"{name}-publicleaderboard-{today}.csv", text.getvalue())
        file = leaderboard_file(self._state, name)
        file.parent.mkdir(exist_ok=True)
        part = file.with_suffix(f".{uuid4()}")
        part.write_bytes(packed.getvalue())
        part.replace(file)
        path = f"/storage/leaderboards/{name}"
        return Redirect(self._state.signer.link(path, self._state.limits.link_seconds))

    def _ranked(self, competition: str) -> list[tuple[sqlite3.Row, int]]:
        """Each user's best scored submission and how many they made, the best first.

        Among equal scores the earlier one leads.
        """
        by_user: dict[str, list[sqlite3.Row]] = {}
        for row in self._competitions.scored(competition):
            by_user.setdefault(row["user"], []).append(row)
        lower = self._lower_is_better(competition)

        def order(row: sqlite3.Row) -> tuple[float, int]:
            score = float(row["score"])
            return (score if lower else -score), row["id"]

        best = [(min(rows, key=order), len(rows)) for rows in by_user.values()]
        return sorted(best, key=lambda one: order(one[0]))

    def _lower_is_better(self, competition: str) -> bool:
        try:
            rules = read_rules(self._state.catalogue.scoring_rules(competition))
        except SubmissionError:  # the answers went after they had served
            return False
        return metrics.lower_is_better(rules.metric)

    def _team(self, user: str) -> int:
        query = "SELECT min(id) AS first FROM submissions WHERE user = ?"
        row = self._state.store.row(query, user)
        return int(row["first"]) if row else 0


def leaderboard_file(state: ServerState, competition: str) -> Path:
    """Where a competition's leaderboard lies once it was asked for."""
    folder: Path = state.root / "leaderboards"
    return folder / f"{competition}.zip"
