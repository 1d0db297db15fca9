from __future__ import annotations

import pytest
import requests


@pytest.fixture(scope="module", autouse=True)
def _flowers(desk):
    folder = desk.kaggle.catalogue / "competitions" / "flowers"
    folder.mkdir(parents=True)
    for name in "abcde":
        (folder / f"{name}.csv").write_text(name)


def submit(desk, text: str) -> dict:
    start = desk.call("StartSubmissionUpload", competitionName="flowers", fileName="mine.csv",
                      contentLength=len(text), lastModifiedEpochSeconds=1)  # fmt: skip
    assert requests.put(start["createUrl"], data=text, timeout=5).status_code == 200
    entered = desk.call("CreateSubmission", competitionName="flowers",
                        blobFileTokens=start["token"])  # fmt: skip
    return desk.call("GetSubmission", ref=entered["ref"])


def test_files_come_in_pages(desk):
    first = desk.call("ListDataFiles", competitionName="flowers")
    second = desk.call("ListDataFiles", competitionName="flowers", pageToken=first["nextPageToken"])
    names = [file["name"] for file in first["files"] + second["files"]]
    assert names == ["a.csv", "b.csv", "c.csv", "d.csv", "e.csv"]
    assert "nextPageToken" not in second
    assert desk.post("ListDataFiles", competitionName="weeds").status_code == 404


def test_without_answers_a_submission_ends_in_an_error_that_says_so(desk):
    scored = submit(desk, "id,label\na,0\n")
    assert scored["status"] == "ERROR"
    assert "solutions/flowers.csv" in scored["errorDescription"]


def test_a_days_allowance(desk):
    solutions = desk.kaggle.catalogue / "solutions"
    solutions.mkdir()
    (solutions / "flowers.csv").write_text("id,label\na,0\n")
    limits = desk.call("GetSubmissionLimits", competitionName="flowers")
    for _ in range(limits["numAllowedNow"]):
        assert submit(desk, "id,label\na,0\n")["publicScore"] == "1.00000"
    with pytest.raises(AssertionError, match="daily submission allowance"):
        submit(desk, "id,label\na,0\n")
    listed = desk.call("ListSubmissions", competitionName="flowers", pageSize=2)
    assert [entry["status"] for entry in listed["submissions"]] == ["COMPLETE", "COMPLETE"]


def test_an_unfinished_upload_is_not_entered(desk):
    start = desk.call("StartSubmissionUpload", competitionName="flowers", fileName="mine.csv",
                      contentLength=100, lastModifiedEpochSeconds=1)  # fmt: skip
    response = desk.post("CreateSubmission", competitionName="flowers",
                         blobFileTokens=start["token"])  # fmt: skip
    assert response.status_code == 400


def test_a_kernels_output_must_exist_to_be_entered(desk):
    desk.save("no-output", "print(1)")
    desk.finish("no-output")
    response = desk.post("CreateCodeSubmission", competitionName="flowers", kernelOwner="tester",
                         kernelSlug="no-output", kernelVersion=1, fileName="x.csv")  # fmt: skip
    assert response.status_code == 400
