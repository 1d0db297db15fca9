"""What a client sees of each fault."""

from __future__ import annotations

import time

import pytest
import requests

from kernelkit.local_kaggle import Fault, FaultKind, FaultSchedule, Limits

BYTES = bytes(range(256)) * 1000
STATUS = {"userName": "tester", "kernelSlug": "left-files"}


@pytest.fixture(scope="module")
def limits() -> Limits:
    return Limits(lag_seconds=0, page_size=2)


@pytest.fixture(autouse=True)
def _left_files(desk):
    desk.kaggle.faults = FaultSchedule()
    if desk.post("GetKernel", **STATUS).status_code == 403:
        desk.save("left-files", "for n in 'abcde': open(n, 'wb').write(bytes(range(256)) * 1000)")
        assert desk.finish("left-files") == "COMPLETE"


def disturb(desk, method: str, kind: FaultKind, seconds: float = 0.2) -> FaultSchedule:
    desk.kaggle.faults = FaultSchedule([Fault(method, 1, kind, seconds)])
    return desk.kaggle.faults


def link(desk) -> str:
    return desk.output("left-files")["files"][0]["url"]


@pytest.mark.parametrize(
    ("kind", "status", "retry_after", "is_json"),
    [
        (FaultKind.THROTTLED, 429, None, False),
        (FaultKind.THROTTLED_RETRY_AFTER, 429, "1", True),
        (FaultKind.HTML, 200, None, False),
        (FaultKind.ERROR_500, 500, None, True),
        (FaultKind.ERROR_502, 502, None, False),
        (FaultKind.ERROR_503, 503, None, True),
    ],
)
def test_wrong_answers(desk, kind, status, retry_after, is_json):
    disturb(desk, "GetKernelSessionStatus", kind)
    response = desk.post("GetKernelSessionStatus", **STATUS)
    assert response.status_code == status
    assert response.headers.get("Retry-After") == retry_after
    assert ("json" in response.headers["Content-Type"]) == is_json
    assert desk.status("left-files") == "COMPLETE"


@pytest.mark.parametrize("kind", [FaultKind.RESET, FaultKind.HANG])
def test_no_answer(desk, kind):
    disturb(desk, "GetKernelSessionStatus", kind, seconds=0.3)
    start = time.monotonic()
    with pytest.raises(requests.ConnectionError):
        desk.post("GetKernelSessionStatus", **STATUS)
    assert (time.monotonic() - start > 0.3) == (kind is FaultKind.HANG)


def test_a_lost_answer_of_save_kernel_is_a_push_that_happened(desk):
    disturb(desk, "SaveKernel", FaultKind.LOST_ANSWER)
    with pytest.raises(requests.ConnectionError):
        desk.save("lost-answer", "print(1)")
    kernel = desk.call("GetKernel", userName="tester", kernelSlug="lost-answer")
    assert kernel["metadata"]["currentVersionNumber"] == 1
    assert kernel["blob"]["source"] == "print(1)"
    desk.finish("lost-answer")


def test_a_status_of_a_while_ago(desk):
    disturb(desk, "GetKernelSessionStatus", FaultKind.STALE_STATUS)
    assert desk.status("left-files", 1) == "RUNNING"
    assert desk.status("left-files", 1) == "COMPLETE"


def test_a_page_that_repeats(desk):
    names, token = [], ""
    desk.kaggle.faults = FaultSchedule(
        [Fault("ListKernelSessionOutput", 2, FaultKind.REPEATED_PAGE)]
    )
    for _ in range(4):
        answer = desk.output("left-files", pageToken=token)
        names.append("".join(file["fileName"] for file in answer["files"]))
        token = answer.get("nextPageToken", "")
    assert names == ["ab", "ab", "cd", "e"]
    assert token == ""


def test_a_truncated_download(desk):
    url = link(desk)
    disturb(desk, "Download", FaultKind.TRUNCATED)
    with requests.get(url, stream=True, timeout=5) as response:
        assert int(response.headers["Content-Length"]) == len(BYTES)
        with pytest.raises((requests.ConnectionError, requests.exceptions.ChunkedEncodingError)):
            _ = response.content
    assert requests.get(url, timeout=5).content == BYTES


def test_a_stalled_download(desk):
    url = link(desk)
    disturb(desk, "Download", FaultKind.STALLED, seconds=5)
    with (
        requests.get(url, stream=True, timeout=0.5) as response,
        pytest.raises((requests.ConnectionError, requests.Timeout)),
    ):
        _ = response.content


def test_a_wrong_length_that_only_the_file_list_gives_away(desk):
    url = link(desk)
    disturb(desk, "Download", FaultKind.WRONG_LENGTH)
    response = requests.get(url, timeout=5)
    assert len(response.content) == int(response.headers["Content-Length"]) == len(BYTES) - 7
    files = desk.call("ListKernelFiles", **STATUS)["files"]
    assert files[0]["size"] == len(BYTES)


def test_a_link_that_expired(desk):
    url = link(desk)
    disturb(desk, "Download", FaultKind.EXPIRED_LINK)
    response = requests.get(url, timeout=5)
    assert response.status_code == 400
    assert "ExpiredToken" in response.text


def test_a_log_stream_that_is_cut_and_tells_everything_again(desk):
    text = "import time\nfor n in range(8): print(n, flush=True); time.sleep(.2)"
    desk.save("long-log", text)
    desk.wait_for(lambda: desk.status("long-log", 1) == "RUNNING")
    disturb(desk, "LogStream", FaultKind.DROPPED_STREAM)
    url = f"{desk.kaggle.url}/api/v1/kernels/logs/stream/tester/long-log?versionLabel=v1"
    auth = ("tester", desk.kaggle.key())
    seen = []
    cut = pytest.raises((requests.ConnectionError, requests.exceptions.ChunkedEncodingError))
    with requests.get(url, auth=auth, stream=True, timeout=5) as response, cut:
        for line in response.iter_lines(chunk_size=1):
            seen.append(line)
    assert b'"data": "0' in seen[0]
    assert len([line for line in seen if line]) == 3
    with requests.get(url, auth=auth, stream=True, timeout=5) as response:
        assert response.headers["Content-Type"].startswith("text/event-stream")
        lines = [line for line in response.iter_lines() if line.startswith(b"data:")]
    assert b'"data": "0' in lines[0]
    assert lines[-1] == b"data: END_OF_LOG"
    assert len(lines) == 9
    desk.finish("long-log")
    assert [event["data"] for event in requests.get(url, auth=auth, timeout=5).json()] == [
        f"{n}\n" for n in range(8)
    ]
