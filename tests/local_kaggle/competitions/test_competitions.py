import threading
from dataclasses import replace

import pytest

from local_kaggle.competitions import competitions
from local_kaggle.competitions.scoring import Scores


@pytest.fixture(scope="module", autouse=True)
def _flowers(context):
    context.put({f"competitions/flowers/{name}.csv": name for name in "abcde"})


UPLOAD = {"competitionName": "flowers", "fileName": "mine.csv", "lastModifiedEpochSeconds": 1}


def submit(context, text):
    token = context.upload(text.encode(), "StartSubmissionUpload", **UPLOAD)
    entered = context.call("CreateSubmission", competitionName="flowers", blobFileTokens=token)
    return context.call("GetSubmission", ref=entered["ref"])


@pytest.mark.parametrize(
    ("name", "token", "status"),
    [("flowers", "4", 200), ("flowers", "x", 400), ("flowers", "²", 400), ("weeds", "", 404)],
)
def test_a_page_needs_a_token_of_the_servers_and_a_competition(context, name, token, status):
    answer = context.post("ListDataFiles", competitionName=name, pageToken=token)
    assert answer.status_code == status
    assert [file["name"] for file in answer.json().get("files", ())] == ["e.csv"] * (status == 200)


def test_a_competition_that_is_not_there_is_told_where_its_files_belong(context):
    message = context.post("GetSubmissionLimits", competitionName="weeds").json()["message"]
    assert message.endswith(f"put its files into {context.kaggle.catalogue}/competitions/weeds")


def test_a_days_allowance(context, monkeypatch):
    rules = {"solutions/flowers.toml": 'metric = "accuracy"'}
    context.put(rules | {"solutions/flowers.csv": "id,label\na,0\n"})
    few = replace(context.kaggle.limits, submissions_a_day=3)
    monkeypatch.setattr(context.kaggle, "limits", few)
    allowed = context.call("GetSubmissionLimits", competitionName="flowers")["numAllowedNow"]
    for _ in range(allowed):
        assert submit(context, "id,label\na,0\n")["publicScore"] == "1.00000"
    with pytest.raises(AssertionError, match="daily submission allowance"):
        submit(context, "id,label\na,0\n")
    listed = context.call("ListSubmissions", competitionName="flowers", pageSize=2)
    assert [entry["status"] for entry in listed["submissions"]] == ["COMPLETE", "COMPLETE"]


def test_a_kernels_output_must_exist_to_be_entered(context):
    context.save("no-output", "print(1)")
    context.finish("no-output")
    version = {"kernelOwner": "tester", "kernelSlug": "no-output", "kernelVersion": 1}
    response = context.post("CreateCodeSubmission", competitionName="flowers", **version)
    assert response.status_code == 400


def test_a_metric_that_takes_long_leaves_the_submission_pending(context, monkeypatch):
    context.put({"solutions/flowers.toml": 'metric = "accuracy"'})
    context.put({"solutions/flowers.csv": "id,label\na,0\n"})
    finish = threading.Event()

    def slow(*arguments, **options):
        finish.wait(30)
        return Scores(0.5, None)

    many = replace(context.kaggle.limits, submissions_a_day=100)
    monkeypatch.setattr(context.kaggle, "limits", many)
    monkeypatch.setattr(competitions, "scores", slow)
    monkeypatch.setattr(competitions, "SCORING_SECONDS", 0.05)
    entry = submit(context, "id,label\na,0\n")
    assert (entry["status"], entry.get("publicScore")) == ("PENDING", None)
    finish.set()
    monkeypatch.setattr(competitions, "SCORING_SECONDS", 50)
    assert context.call("GetSubmission", ref=entry["ref"])["publicScore"] == "0.50000"
