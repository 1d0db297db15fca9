"""Where a user stands among made-up teams, before the deadline and after it."""

import pytest

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
            "boards/orchard.csv": BOARD,
            "solutions/orchard.csv": ANSWERS,
            "solutions/orchard.toml": 'metric = "mae"',
        }
    )
    context.kaggle.store.change("DELETE FROM submissions")
    return context


def rank(context):
    found = context.call("ListCompetitions", search="orchard")["competitions"][0]
    return found.get("userRank")


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
    assert rank(orchard) is None  # all of them were late
    late, _ = submit(orchard, "orchard", 0.5, 0.3)
    assert (late["publicScore"], late["privateScore"]) == ("0.50000", "0.30000")
    orchard.kaggle.store.change("UPDATE submissions SET created = 1 WHERE id != ?", late["ref"])
    rows = names(orchard)
    assert rows[0] == ("tester", "0.10000")
    assert names(orchard, overridePublic=True)[1] == ("tester", "2.00000")
    assert rank(orchard) == 1


def test_a_board_that_is_none_is_named_with_what_to_write(orchard):
    orchard.put({"boards/orchard.csv": "TeamName,Score\nOaks,much\n"})
    answer = orchard.post("GetLeaderboard", competitionName="orchard")
    assert answer.status_code == 400
    assert "boards/orchard.csv is not a leaderboard" in answer.json()["message"]
    assert "columns TeamName and Score" in answer.json()["message"]
    orchard.put({"boards/orchard.csv": BOARD})
    orchard.put({"competitions/orchard.toml": 'deadline = "soon"'})
    answer = orchard.post("GetLeaderboard", competitionName="orchard")
    assert "is not a date" in answer.json()["message"]


# https://www.kaggle.com/progression: the last rank of gold, silver and bronze.
