"""The leaderboard: the users of this Kaggle among the made-up teams of a file.

boards/<slug>.csv       TeamName,Score and, where wanted, PrivateScore and Date of teams that do
                        not exist

Until the deadline in the competition's page, a board goes by public scores; afterwards by private
ones, if there are any. Only submissions before the deadline count. The private board takes a user's
two best by public score, as Kaggle does for users who selected none.
"""

import csv
import io
import math
import sqlite3
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from local_kaggle.catalogue import Catalogue
from local_kaggle.errors import LocalKaggleError

MADE_UP = 1_000_000  # what the numbers of made-up teams begin with
SELECTED = 2  # submissions that count in the end
USUAL_DATE = datetime(2026, 1, 1, tzinfo=UTC).timestamp()


@dataclass(frozen=True)
class Team:
    """A row of a board: a team, its score as submissions have it, and when it was reached."""

    number: int
    name: str
    score: str
    date: float
    submissions: int
    best: int | None  # the number of the submission that the score is of; None where made up


def deadline_of(contents: Catalogue, competition: str) -> float:
    """When a competition ends, in seconds since the epoch; infinite if its page does not say.

    Raises LocalKaggleError for a deadline that is not a date.
    """
    text = contents.page("competitions", competition).get("deadline")
    if text is None:
        return math.inf
    try:
        moment = datetime.fromisoformat(str(text).replace("Z", "+00:00"))
    except ValueError:
        raise LocalKaggleError(
            f"competitions/{competition}.toml: the deadline {text!r} is not a date: write "
            "deadline = 2026-12-31T23:59:00Z"
        ) from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def ranked(
    file: Path,
    submissions: Iterable[sqlite3.Row],
    *,
    deadline: float,
    lowest_wins: bool,
    private: bool,
) -> list[Team]:
    """The teams, the best first: those of a board's `file`, and the users who submitted.

    If scores are equal, the earlier one leads. Raises LocalKaggleError for an unreadable file.
    """
    sign = 1 if lowest_wins else -1

    def order(score: str, date: float) -> tuple[float, float]:
        return sign * float(score), date

    by_user: dict[str, list[sqlite3.Row]] = {}
    for row in submissions:
        if row["score"] and row["created"] <= deadline:
            by_user.setdefault(row["user"], []).append(row)
    teams = _made_up(file, private=private)
    for user, own in by_user.items():
        own.sort(key=lambda row: order(row["score"], row["created"]))
        best = own[0]
        score = own[0]["score"]
        if private and own[0]["private_score"]:
            selected = [row for row in own[:SELECTED] if row["private_score"]]
            best = min(selected, key=lambda row: order(row["private_score"], row["created"]))
            score = best["private_score"]
        first = min(row["id"] for row in own)
        teams.append(Team(first, user, score, best["created"], len(own), best["id"]))
    return sorted(teams, key=lambda team: order(team.score, team.date))


def _made_up(file: Path, *, private: bool) -> list[Team]:
    """The teams of a board's file."""
    teams = []
    try:
        text = file.read_text("utf-8-sig") if file.is_file() else ""
        for number, row in enumerate(csv.DictReader(io.StringIO(text)), start=1):
            score = row["Score"]
            if private and row.get("PrivateScore"):
                score = row["PrivateScore"]
            if not math.isfinite(float(score)):
                raise ValueError(f"the score {score} of line {number + 1} is not a number")
            date = USUAL_DATE
            with suppress(KeyError, ValueError, TypeError):
                date = datetime.fromisoformat(row["Date"].replace("Z", "+00:00")).timestamp()
            teams.append(Team(MADE_UP + number, row["TeamName"], score, date, 1, None))
    except (OSError, ValueError, KeyError, TypeError, csv.Error) as error:
        raise LocalKaggleError(
            f"{file} is not a leaderboard ({type(error).__name__}: {error}): write a CSV file with "
            "the columns TeamName and Score, and PrivateScore where there is one"
        ) from None
    return teams
