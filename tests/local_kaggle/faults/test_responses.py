"""What a client sees of each fault."""

from __future__ import annotations

import time

import pytest
import requests

from local_kaggle.faults.schedule import Fault, FaultKind, FaultSchedule
from local_kaggle.limits import ServerLimits

BYTES = bytes(range(256)) * 1000
STATUS = {"userName": "tester", "kernelSlug": "left-files"}


@pytest.fixture(scope="module")
def limits() -> ServerLimits:
    return ServerLimits(lag_seconds=0, page_size=2)


@pytest.fixture(autouse=True)
def _left_files(context):
    context.kaggle.faults = FaultSchedule()
    if context.post("GetKernel", **STATUS).status_code == 403:
        context.save(
            "left-files", "for n in 'abcde': open(n, 'wb').write(bytes(range(256)) * 1000)"
        )
        assert context.finish("left-files") == "COMPLETE"


def disturb(context, method: str, kind: FaultKind, seconds: float = 0.2) -> FaultSchedule:
    context.kaggle.faults = FaultSchedule([Fault(method, 1, kind, seconds)])
    return context.kaggle.faults


def link(context) -> str:
    return context.output("left-files")["files"][0]["url"]


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
def test_wrong_answers(context, kind, status, retry_after, is_json):
    disturb(context, "GetKernelSessionStatus", kind)
    response = context.post("GetKernelSessionStatus", **STATUS)
    assert response.status_code == status
    assert response.headers.get("Retry-After") == retry_after
    assert ("json" in response.headers["Content-Type"]) == is_json
    assert context.status("left-files") == "COMPLETE"


@pytest.mark.parametrize("kind", [FaultKind.RESET, FaultKind.HANG])
def test_no_answer(context, kind):
    disturb(context, "GetKernelSessionStatus", kind, seconds=0.3)
    start = time.monotonic()
    with pytest.raises(requests.ConnectionError):
        context.post("GetKernelSessionStatus", **STATUS)
    assert (time.monotonic() - start > 0.3) == (kind is FaultKind.HANG)


def test_a_lost_answer_of_save_kernel_is_a_push_that_happened(context):
    disturb(context, "SaveKernel", FaultKind.LOST_ANSWER)
    with pytest.raises(requests.ConnectionError):
        context.save("lost-answer", "print(1)")
    kernel = context.call("GetKernel", userName="tester", kernelSlug="lost-answer")
    assert kernel["metadata"]["currentVersionNumber"] == 1
    assert kernel["blob"]["source"] == "print(1)"
    context.finish("lost-answer")


def test_a_status_of_a_while_ago(context):
    disturb(context, "GetKernelSessionStatus", FaultKind.STALE_STATUS)
    assert context.status("left-files", 1) == "RUNNING"
    assert context.status("left-files", 1) == "COMPLETE"


def test_a_page_that_repeats(context):
    names, token = [], ""
    context.kaggle.faults = FaultSchedule(
        [Fault("ListKernelSessionOutput", 2, FaultKind.REPEATED_PAGE)]
    )
    for _ in range(4):
        answer = context.output("left-files", pageToken=token)
        names.append("".join(file["fileName"] for file in answer["files"]))
        token = answer.get("nextPageToken", "")
    assert names == ["ab", "ab", "cd", "e"]
    assert token == ""


def test_a_truncated_download(context):
    url = link(context)
    disturb(context, "Download", FaultKind.TRUNCATED)
    with requests.get(url, stream=True, timeout=5) as response:
        assert int(response.headers["Content-Length"]) == len(BYTES)
        with pytest.raises((requests.ConnectionError, requests.exceptions.ChunkedEncodingError)):
            _ = response.content
    assert requests.get(url, timeout=5).content == BYTES


def test_a_stalled_download(context):
    url = link(context)
    disturb(context, "Download", FaultKind.STALLED, seconds=5)
    with (
        requests.get(url, stream=True, timeout=0.5) as response,
        pytest.raises((requests.ConnectionError, requests.Timeout)),
    ):
        _ = response.content


def test_a_wrong_length_that_only_the_file_list_gives_away(context):
    url = link(context)
    disturb(context, "Download", FaultKind.WRONG_LENGTH)
    response = requests.get(url, timeout=5)
    assert len(response.content) == int(response.headers["Content-Length"]) == len(BYTES) - 7
    files = context.call("ListKernelFiles", **STATUS)["files"]
    assert files[0]["size"] == len(BYTES)


def test_a_link_that_expired(context):
    url = link(context)
    disturb(context, "Download", FaultKind.EXPIRED_LINK)
    response = requests.get(url, timeout=5)
    assert response.status_code == 400
    assert "ExpiredToken" in response.text


def test_a_log_stream_that_is_cut_and_tells_everything_again(context):
    text = "import time\nfor n in range(8): print(n, flush=True); time.sleep(.2)"
    context.save("long-log", text)
    context.wait_for(lambda: context.status("long-log", 1) == "RUNNING")
    disturb(context, "LogStream", FaultKind.DROPPED_STREAM)
    url = f"{context.kaggle.url}/api/v1/kernels/logs/stream/tester/long-log?versionLabel=v1"
    auth = context.auth()
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
    context.finish("long-log")
    assert [event["data"] for event in requests.get(url, auth=auth, timeout=5).json()] == [
        f"{n}\n" for n in range(8)
    ]
