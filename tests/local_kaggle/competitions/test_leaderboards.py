"""A competition's leaderboard, as the genuine client shows and downloads it."""

import csv
import io
import re
import zipfile

import pytest

from ..conftest import signed_in


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
    file = context.folder / "mine.csv"
    for user, error in (("tester", 3), ("other", 2), ("tester", 1), ("tester", 4)):
        file.write_text(f"plot,tonnes\na,{1 + error}\nb,{2 + error}\n")
        with signed_in(context.kaggle, user) as api:
            api.competition_submit(str(file), "try", "harvest", quiet=True)
    context.call("GetLeaderboard", competitionName="harvest")  # scored by the metric of now
    return context


def test_it_has_each_users_best_score_the_best_first(harvest, api, tmp_path):
    shown = api.competition_leaderboard_view("harvest")
    assert [(row.team_name, row.score) for row in shown] == [
        ("tester", "1.00000"),
        ("other", "2.00000"),
    ]
    api.competition_leaderboard_download("harvest", str(tmp_path))
    with zipfile.ZipFile(tmp_path / "harvest.zip") as archive:
        (name,) = archive.namelist()
        text = archive.read(name).decode()
    assert re.fullmatch(r"harvest-publicleaderboard-\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.csv", name)
    assert text.startswith("\ufeffRank,")
    rows = list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"))))
    columns = ("Rank", "TeamName", "Score", "SubmissionCount")
    assert [tuple(row[column] for column in columns) for row in rows] == [
        ("1", "tester", "1.00000", "3"),
        ("2", "other", "2.00000", "1"),
    ]
    assert [int(row["TeamId"]) for row in rows] == [row.team_id for row in shown]
    for row in rows:
        assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", row["LastSubmissionDate"])


def test_without_an_entry_it_is_empty_and_without_a_competition_404(harvest):
    assert harvest.call("GetLeaderboard", competitionName="fallow") == {"submissions": []}
    for method in ("GetLeaderboard", "DownloadLeaderboard"):
        assert harvest.post(method, competitionName="../harvest").status_code == 404


def test_where_more_is_better_the_highest_leads(harvest):
    harvest.put({"solutions/harvest.toml": 'metric = "roc_auc"'})
    first = harvest.call("GetLeaderboard", competitionName="harvest")["submissions"][0]
    assert (first["teamName"], first["score"]) == ("tester", "4.00000")
