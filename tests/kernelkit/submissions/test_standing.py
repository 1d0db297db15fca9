"""Where an account stands on a competition's board, and what the ledger says of it."""

import json
from types import SimpleNamespace

import pytest

from kernelkit import files, project
from kernelkit.kaggle.transport.failures import Failure, FailureKind
from kernelkit.push.known.ledger import Ledger, Push
from kernelkit.runs import kit_folder
from kernelkit.submissions import standing
from kernelkit.submissions.standing import find_standing, zones
from kernelkit.watching import status


@pytest.mark.parametrize(
    ("teams", "gold", "silver", "bronze"),
    [
        (50, 5, 10, 20),
        (99, 9, 19, 39),
        (100, 10, 20, 40),
        (249, 10, 49, 99),
        (250, 10, 50, 100),
        (999, 11, 50, 100),
        (1000, 12, 50, 100),
        (3000, 16, 150, 300),
    ],
)
def test_medal_zones_are_those_of_the_published_table(teams, gold, silver, bronze):
    assert zones(teams) == {"gold": gold, "silver": silver, "bronze": bronze}


class Board:
    """A Kaggle with one competition, whose board has a score for each rank."""

    def __init__(self, rank, teams, awards=True, fails=False):
        found = SimpleNamespace(
            ref="https://www.kaggle.com/competitions/garden",
            user_rank=rank,
            team_count=teams,
            awards_points=awards,
        )
        other = SimpleNamespace(
            ref="https://www.kaggle.com/competitions/garden-2", user_rank=1, team_count=9
        )
        rows = [SimpleNamespace(score=f"{1 - n / 1e4:.4f}") for n in range(min(teams, 200))]
        self.requests = []
        self.fails = fails
        self.competitions = SimpleNamespace(
            list_competitions=lambda search: SimpleNamespace(competitions=[other, found]),
            get_leaderboard=lambda name, size: SimpleNamespace(submissions=rows),
        )

    def if_there(self, call):
        self.requests.append(call)
        if self.fails:
            raise Failure(FailureKind.NETWORK, "ListCompetitions", "no answer")
        return call()


@pytest.mark.parametrize(
    ("rank", "teams", "words"),
    [
        (5, 1000, "rank 5 of 1,000 teams (top 0.5 %), gold zone, as of"),
        (60, 1000, "(top 6 %), bronze zone; silver begins at rank 50, score 0.9951, as of"),
        (500, 1000, "(top 50 %); bronze begins at rank 100, score 0.9901, as of"),
        (900, 3000, "(top 30 %); bronze begins at rank 300, as of"),  # beyond one page
    ],
)
def test_a_rank_comes_with_its_zone_and_the_next(rank, teams, words):
    board = Board(rank, teams)
    assert words in str(find_standing(board, "garden"))
    assert len(board.requests) <= 2


def test_a_competition_without_medals_has_a_rank_and_no_zone():
    board = Board(60, 1000, awards=False)
    assert str(find_standing(board, "garden")).startswith("rank 60 of 1,000 teams (top 6 %), as of")
    assert len(board.requests) == 1


@pytest.mark.parametrize(("rank", "teams"), [(-1, 50), (51, 50), (1, 0)])
def test_a_rank_that_no_board_has_is_none(rank, teams):
    assert find_standing(Board(rank, teams), "garden") is None


def test_who_is_on_no_board_stands_nowhere():
    assert find_standing(Board(0, 1000), "garden") is None
    assert find_standing(Board(3, 1000), "meadow") is None


def test_a_board_that_does_not_answer_is_a_warning():
    told = []
    context = SimpleNamespace(
        kaggle=Board(1, 10, fails=True), events=lambda event, text, **_: told.append(text)
    )
    assert standing.tell_standing(context, "garden") is None
    assert told[0].startswith("the leaderboard of garden cannot be read")


@pytest.fixture
def listed(tmp_path, monkeypatch):
    """The lines of the list of pushes with these (validation, public) scores."""
    monkeypatch.delenv(project.SHOWN)
    (tmp_path / "pyproject.toml").write_text('[tool.kernelkit.shown]\nscore = "f1"\n')

    def listed(*pairs, unverified=()):
        ledger = Ledger(tmp_path)
        for number, (validation, public) in enumerate(pairs):
            folder = tmp_path / f"run-{number}"
            folder.mkdir()
            (folder / "metrics.json").write_text(json.dumps({"f1": validation}))
            if number in unverified:
                marker = kit_folder.path(folder, kit_folder.MARKER)
                files.write_text(marker, '{"kernel": "me/a"}')
            push = Push(
                "me/a", "", "", "cpu", folder=str(folder), score=public, competition="garden"
            )
            ledger.begin(push)
        return status.list_pushes(tmp_path).splitlines()

    return listed


def test_public_scores_that_follow_the_validation_are_said_to(listed):
    pairs = [(0.1, "0.2"), (0.2, "0.3"), (0.3, "0.4"), (0.4, "0.45"), (0.5, "0.5")]
    last = listed(*pairs)[-1]
    assert last == "garden: rank correlation of validation and public score 1.00 over 5 pushes"


def test_public_scores_that_contradict_the_validation_are_said_to(listed):
    pairs = [(0.1, "0.5"), (0.2, "0.4"), (0.3, "0.3"), (0.4, "0.2"), (0.5, "0.1")]
    sentence = listed(*pairs)[-2]
    assert "-1.00 over 5 pushes, so that public scores contradict the validation" in sentence


def test_a_validation_score_that_is_not_verified_is_marked_and_not_compared(listed):
    lines = listed(*[(n / 10, f"0.{n}") for n in range(1, 6)], unverified=[2])
    assert [line for line in lines if "0.3000 (not verified)" in line] == [lines[3]]
    assert len(lines) == 6  # the heads and the pushes


def test_a_validation_score_that_a_push_printed_is_not_verified(listed, tmp_path):
    listed((0.3, "0.3"), unverified=[0])
    folder = tmp_path / "run-0"
    (folder / "metrics.json").unlink()
    log = '[{"stream_name": "stdout", "time": 1, "data": "f1: 0.99"}]'
    files.write_text(kit_folder.path(folder, kit_folder.LOG), log)
    assert "0.9900 (not verified)" in status.list_pushes(tmp_path)


@pytest.mark.parametrize(
    "pairs",
    [
        [(0.1, "0.2")] * 4,  # too few
        [(0.1, "0.2"), (0.2, "0.2"), (0.3, "0.2"), (0.4, "0.2"), (0.5, "0.2")],  # all equal
        [(0.1, "x"), (0.2, None), (0.3, "0.2"), (0.4, "0.3"), (0.5, "0.2")],  # no numbers
    ],
)
def test_too_little_to_compare_says_nothing(listed, pairs):
    assert len(listed(*pairs)) == 1 + len(pairs)


def test_pushes_whose_public_score_contradicts_the_validation_are_marked(listed):
    pairs = [(0.1, "0.1"), (0.2, "0.2"), (0.3, "0.3"), (0.4, "0.4"), (0.5, "0.05")]
    lines = listed(*pairs)
    assert ["0.05 *" in line for line in lines if "0.5000" in line] == [True]
    assert sum(" *" in line for line in lines) == 1
    assert lines[-1].startswith("* the public score contradicts the validation")
