"""A competition's leaderboard, as the genuine client shows and downloads it."""

import csv
import io
import zipfile

import pytest


@pytest.fixture(scope="module")
def harvest(context):
    """A competition in which the lowest error wins, and one that nobody has entered."""
    texts = {
        "competitions/harvest/a.csv": "",
        "competitions/fallow/a.csv": "",
        "solutions/harvest.csv": "plot,tonnes\na,1\nb,2\n",
        "solutions/harvest.toml": 'metric = "mae"\n',
    }
    context.put(texts)

    def submit(user, error):
        (context.folder / "mine.csv").write_text(f"plot,tonnes\na,{1 + error}\nb,{2 + error}\n")
        done = context.cli(
            "competitions", "submit", "harvest", "-f", "mine.csv", "-m", "try", user=user
        )
        assert done.returncode == 0, done.stdout + done.stderr

    for user, error in (("tester", 3), ("other", 2), ("tester", 1), ("tester", 4)):
        submit(user, error)
    return context


def test_it_shows_each_users_best_score_the_best_first(harvest):
    done = harvest.cli("competitions", "leaderboard", "harvest", "--show", "--csv")
    assert done.returncode == 0, done.stdout + done.stderr
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [(row["teamName"], row["score"]) for row in rows] == [
        ("tester", "1.00000"),
        ("other", "2.00000"),
    ]
    assert len({row["teamId"] for row in rows}) == 2


def test_it_is_downloaded_as_an_archive(harvest, tmp_path):
    done = harvest.cli("competitions", "leaderboard", "harvest", "--download", "-p", str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    with zipfile.ZipFile(tmp_path / "harvest.zip") as archive:
        (name,) = archive.namelist()
        rows = list(csv.DictReader(io.StringIO(archive.read(name).decode())))
    assert name.startswith("harvest-publicleaderboard-")
    columns = ("Rank", "TeamName", "Score", "SubmissionCount")
    assert [tuple(row[column] for column in columns) for row in rows] == [
        ("1", "tester", "1.00000", "3"),
        ("2", "other", "2.00000", "1"),
    ]


def test_it_comes_in_pages_and_is_404_where_there_is_no_competition(harvest):
    first = harvest.call("GetLeaderboard", competitionName="harvest", pageSize=1)
    rest = harvest.call(
        "GetLeaderboard", competitionName="harvest", pageSize=9, pageToken=first["nextPageToken"]
    )
    assert [entry["teamName"] for entry in first["submissions"] + rest["submissions"]] == [
        "tester",
        "other",
    ]
    assert harvest.call("GetLeaderboard", competitionName="fallow") == {"submissions": []}
    for method in ("GetLeaderboard", "DownloadLeaderboard"):
        assert harvest.post(method, competitionName="../harvest").status_code == 404


def test_where_more_is_better_the_highest_leads(context, harvest):
    context.put({"solutions/harvest.toml": 'metric = "roc_auc"'})
    first = context.call("GetLeaderboard", competitionName="harvest")["submissions"][0]
    assert (first["teamName"], first["score"]) == ("tester", "4.00000")
