"""Where an account stands in a competition: rank, percentile, medal zone, distance to the next."""

import datetime
from dataclasses import dataclass, replace
from functools import partial

from kernelkit.kaggle.client import Kaggle
from kernelkit.kaggle.context.kaggle_context import KaggleContext
from kernelkit.kaggle.transport.failures import Failure
from kernelkit.terminal.events import WARNING, Event

STANDING = Event("standing", quiet=True)
MEDALS = ("gold", "silver", "bronze")
BOARD_ROWS = 200  # of the board, that one request asks for


@dataclass(frozen=True)
class Standing:
    """A place on the public leaderboard, and when Kaggle said so (ISO 8601, UTC).

    `medal`: the zone that the rank lies in, "" for none. `next_medal`: the zone above it, "" if
    there is none or the competition awards no medals; it begins at `next_rank`, with `next_score`
    as Kaggle formats it ("" if that is too far down the board to be looked up in one request).
    """

    rank: int
    teams: int
    when: str
    medal: str = ""
    next_medal: str = ""
    next_rank: int = 0
    next_score: str = ""

    @property
    def percentile(self) -> float:
        """The share of the teams that stand here or above, in percent."""
        return 100 * self.rank / self.teams

    def __str__(self) -> str:
        share = f"{self.percentile:.0f}" if self.percentile >= 1 else f"{self.percentile:.1g}"
        words = f"rank {self.rank:,} of {self.teams:,} teams (top {share} %)"
        if self.medal:
            words += f", {self.medal} zone"
        if self.next_medal:
            score = f", score {self.next_score}" if self.next_score else ""
            words += f"; {self.next_medal} begins at rank {self.next_rank:,}{score}"
        return f"{words}, as of {self.when[11:16]} UTC"


def zones(teams: int) -> dict[str, int]:
    """The last rank of each medal zone among so many teams.

    By the table on https://www.kaggle.com/progression (looked up in November 2026), which rounds
    shares down: below 100 teams gold for the top 10 %, silver 20 %, bronze 40 %; below 250 the top
    10, 20 %, 40 %; below 1,000 the top 10 and one more for every 500 teams, the top 50, the top
    100; from 1,000 on gold likewise, silver the top 5 %, bronze the top 10 %.
    """
    if teams < 100:
        return {"gold": teams // 10, "silver": teams // 5, "bronze": 2 * teams // 5}
    if teams < 250:
        return {"gold": 10, "silver": teams // 5, "bronze": 2 * teams // 5}
    gold = 10 + teams // 500
    if teams < 1000:
        return {"gold": gold, "silver": 50, "bronze": 100}
    return {"gold": gold, "silver": teams // 20, "bronze": teams // 10}


def find_standing(kaggle: Kaggle, competition: str) -> Standing | None:
    """Where the account stands now; None if it is on no board. Two requests at most.

    Raises `Failure`.
    """
    answer = kaggle.if_there(partial(kaggle.competitions.list_competitions, competition))
    for found in answer.competitions if answer else ():
        ranked = 1 <= found.user_rank <= found.team_count
        if _slug(found) == competition and ranked:
            now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
            standing = Standing(found.user_rank, found.team_count, now)
            return _with_medals(kaggle, competition, standing) if found.awards_points else standing
    return None


def tell_standing(context: KaggleContext, competition: str) -> Standing | None:
    """Tell where the account stands, if it is on a board; only warns if Kaggle does not answer."""
    try:
        standing = find_standing(context.kaggle, competition)
    except Failure as failure:
        context.events(WARNING, f"the leaderboard of {competition} cannot be read: {failure}")
        return None
    if standing:
        text = f"{competition}: {standing}"
        context.events(STANDING, text, rank=standing.rank, teams=standing.teams)
    return standing


def _slug(competition: object) -> str:
    """The competition's slug: Kaggle's `ref` is its address."""
    return str(getattr(competition, "ref", "")).rstrip("/").rpartition("/")[2]


def _with_medals(kaggle: Kaggle, competition: str, standing: Standing) -> Standing:
    """A standing with the medal zone that it lies in, and where the one above begins."""
    last_ranks = zones(standing.teams)
    within = [medal for medal in MEDALS if standing.rank <= last_ranks[medal]]
    above = [medal for medal in MEDALS if standing.rank > last_ranks[medal] > 0]
    medal = within[0] if within else ""
    if not above:
        return replace(standing, medal=medal)
    next_medal = above[-1]
    next_rank = last_ranks[next_medal]
    next_score = ""
    if next_rank <= BOARD_ROWS:
        board = kaggle.if_there(
            partial(kaggle.competitions.get_leaderboard, competition, BOARD_ROWS)
        )
        rows = board.submissions if board else None
        if rows and len(rows) >= next_rank:
            next_score = str(rows[next_rank - 1].score)
    return replace(
        standing, medal=medal, next_medal=next_medal, next_rank=next_rank, next_score=next_score
    )
