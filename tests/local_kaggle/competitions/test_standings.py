"""Where a user stands among made-up teams, before the deadline and after it."""

import pytest

from local_kaggle.competitions import leaderboard
from local_kaggle.errors import LocalKaggleError

BOARD = "TeamName,Score,PrivateScore\nOaks,1.5,9\nElms,2.5,0.2\nAshes,3.5,7\n"
ANSWERS = "plot,tonnes,Usage\na,0,Public\nb,0,Private\n"
PAGE = "deadline = {deadline}\ncategory = 'Featured'\n"
OPEN = "2999-01-01T00:00:00Z"


def submit(context, competition, public, private):
    data = f"plot,tonnes\na,{public}\nb,{private}\n".encode()
    fields = {"competitionName": competition, "fileName": "mine.csv"}
    token = context.upload(data, "StartSubmissionUpload", **fields)
    ref = context.call("CreateSubmission", competitionName=competition, blobFileTokens=token)["ref"]
    return context.call("GetSubmission", ref=ref), data


@pytest.fixture
def orchard(context):
    """A competition with a board of made-up teams, and without a submission."""
    context.put(
        {
            "competitions/orchard/a.csv": "",
            "competitions/orchard.toml": PAGE.format(deadline=OPEN),
            "competitions/orchard.pages/rules.md": "One account each.",
            "competitions/orchard.pages/overview.md": "Apples.",
            "boards/orchard.csv": BOARD,
            "solutions/orchard.csv": ANSWERS,
            "solutions/orchard.toml": 'metric = "mae"',
        }
    )
    context.kaggle.store.change("DELETE FROM submissions")
    return context


def names(context, **fields):
    rows = context.call("GetLeaderboard", competitionName="orchard", pageSize=20, **fields)
    return [(row["teamName"], row["score"]) for row in rows["submissions"]]


def test_a_user_is_ranked_among_the_made_up_teams_and_the_client_shows_it(orchard, api, capsys):
    before = orchard.call("ListCompetitions", search="orchard")["competitions"][0]
    assert (before["teamCount"], before.get("userRank")) == (3, None)
    submission, data = submit(orchard, "orchard", 2, 5)
    assert (submission["publicScore"], submission.get("privateScore")) == ("2.00000", None)
    assert names(orchard) == [
        ("Oaks", "1.5"),
        ("tester", "2.00000"),
        ("Elms", "2.5"),
        ("Ashes", "3.5"),
    ]
    api.competitions_list_cli(search="orchard", csv_display=True)
    header, row = capsys.readouterr().out.splitlines()[-2:]
    shown = dict(zip(header.split(","), row.split(","), strict=True))
    assert (shown["teamCount"], shown["userRank"]) == ("4", "2")
    api.competition_leaderboard_cli("orchard", view=True, csv_display=True)
    assert ",tester," in capsys.readouterr().out
    stands = orchard.kaggle.standing("orchard")
    assert (stands.rank, stands.teams, stands.medal, stands.final) == (2, 4, "", False)
    team = orchard.call("GetLeaderboard", competitionName="orchard")["submissions"][1]["teamId"]
    (public,) = orchard.call("ListTeamPublicSubmissions", teamId=team)["submissions"]
    assert (public["id"], public["publicScore"]) == (submission["ref"], "2.00000")
    made_up = orchard.call("ListTeamPublicSubmissions", teamId=1_000_001)["submissions"]
    assert made_up[0]["publicScore"] == "1.5"
    assert orchard.post("ListTeamPublicSubmissions", teamId=77).status_code == 404
    response = orchard.post("DownloadSubmission", submissionId=submission["ref"])
    assert response.content == data
    assert response.url.endswith("/mine.csv")
    assert orchard.post("DownloadSubmission", submissionId=10**6).status_code == 404


def test_after_the_deadline_private_scores_decide_and_a_late_submission_is_scored_alone(orchard):
    submit(orchard, "orchard", 2, 5)
    submit(orchard, "orchard", 2.2, 0.1)
    submit(orchard, "orchard", 3, 0.0)  # the third best in public does not count
    orchard.put({"competitions/orchard.toml": PAGE.format(deadline="2026-01-01T00:00:00Z")})
    assert names(orchard) == [("Elms", "0.2"), ("Ashes", "7"), ("Oaks", "9")]
    assert orchard.kaggle.standing("orchard") is None  # all of them were late
    late, _ = submit(orchard, "orchard", 0.5, 0.3)
    assert (late["publicScore"], late["privateScore"]) == ("0.50000", "0.30000")
    orchard.kaggle.store.change("UPDATE submissions SET created = 1 WHERE id != ?", late["ref"])
    rows = names(orchard)
    assert rows[0] == ("tester", "0.10000")
    assert names(orchard, overridePublic=True)[1] == ("tester", "2.00000")
    stands = orchard.kaggle.standing("orchard")
    assert (stands.rank, stands.teams, stands.score, stands.final) == (1, 4, "0.10000", True)


def test_a_board_that_is_none_is_named_with_what_to_write(orchard):
    orchard.put({"boards/orchard.csv": "TeamName,Score\nOaks,much\n"})
    answer = orchard.post("GetLeaderboard", competitionName="orchard")
    assert answer.status_code == 400
    assert "boards/orchard.csv is not a leaderboard" in answer.json()["message"]
    with pytest.raises(LocalKaggleError, match="columns TeamName and Score"):
        orchard.kaggle.standing("orchard")
    orchard.put({"boards/orchard.csv": BOARD})
    orchard.put({"competitions/orchard.toml": 'deadline = "soon"'})
    answer = orchard.post("GetLeaderboard", competitionName="orchard")
    assert "is not a date" in answer.json()["message"]


def test_pages_and_settings_are_those_of_the_catalogue(orchard):
    pages = orchard.call("ListCompetitionPages", competitionName="orchard")["pages"]
    assert [page["name"] for page in pages] == ["overview", "rules"]
    rules = orchard.call("ListCompetitionPages", competitionName="orchard", pageName="rules")
    assert rules["pages"][0]["content"] == "One account each."
    orchard.put({"competitions/orchard.toml": "hostName = 'tester'\nenableTeamFiles = true\n"})
    settings = orchard.call("GetCompetitionSettings", competitionName="orchard")
    assert (settings["competitionName"], settings["enableTeamFiles"]) == ("orchard", True)
    orchard.put({"competitions/hosted/a.csv": "a"})
    answer = orchard.post("GetCompetitionSettings", competitionName="hosted")
    assert answer.status_code == 403
    tree = orchard.call("ListDataTreeFiles", competitionName="orchard")
    assert [file["name"] for file in tree["files"]] == ["a.csv"]


# https://www.kaggle.com/progression: the last rank of gold, silver and bronze.
@pytest.mark.parametrize(
    ("teams", "last"),
    [
        (50, (5, 10, 20)),
        (99, (9, 19, 39)),
        (100, (10, 20, 40)),
        (249, (10, 49, 99)),
        (250, (10, 50, 100)),
        (500, (11, 50, 100)),
        (999, (11, 50, 100)),
        (1000, (12, 50, 100)),
        (3000, (16, 150, 300)),
        (5000, (20, 250, 500)),
    ],
)
def test_medals_are_those_of_the_published_table(teams, last):
    assert tuple(leaderboard.zones(teams).values()) == last
    for medal, rank in zip(("gold", "silver", "bronze"), last, strict=True):
        assert leaderboard.medal_of(rank, teams) == medal
        assert leaderboard.medal_of(rank + 1, teams) != medal


def test_a_competition_that_awards_no_medals_gives_none(context):
    board = "TeamName,Score\n" + "".join(f"Team {n},{n}.5\n" for n in range(200))
    texts = {
        "competitions/learning/a.csv": "",
        "boards/learning.csv": board,
        "solutions/learning.csv": "plot,tonnes\na,0\nb,0\n",
        "solutions/learning.toml": 'metric = "mae"',
    }
    context.put(texts)
    submit(context, "learning", 4, 4)
    stands = context.kaggle.standing("learning")
    assert (stands.rank, stands.teams, stands.medal) == (5, 201, "gold")
    context.put({"competitions/learning.toml": "awardsPoints = false\n"})
    assert context.kaggle.standing("learning").medal == ""
