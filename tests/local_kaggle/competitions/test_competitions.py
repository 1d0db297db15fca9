from dataclasses import replace

import pytest


@pytest.fixture(scope="module", autouse=True)
def _flowers(context):
    context.put({f"competitions/flowers/{name}.csv": name for name in "abcde"})


UPLOAD = {"competitionName": "flowers", "fileName": "mine.csv", "lastModifiedEpochSeconds": 1}


def submit(context, text):
    token = context.upload(text.encode(), "StartSubmissionUpload", **UPLOAD)
    entered = context.call("CreateSubmission", competitionName="flowers", blobFileTokens=token)
    return context.call("GetSubmission", ref=entered["ref"])


def test_files_come_in_pages(context):
    first = context.call("ListDataFiles", competitionName="flowers")
    second = context.call(
        "ListDataFiles", competitionName="flowers", pageToken=first["nextPageToken"]
    )
    names = [file["name"] for file in first["files"] + second["files"]]
    assert names == ["a.csv", "b.csv", "c.csv", "d.csv", "e.csv"]
    assert "nextPageToken" not in second
    for token in "x²":
        wrong = context.post("ListDataFiles", competitionName="flowers", pageToken=token)
        assert wrong.status_code == 400
    assert context.post("ListDataFiles", competitionName="weeds").status_code == 404


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
