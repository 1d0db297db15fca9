"""What a client sees of each fault."""

import time

import pytest
import requests

from local_kaggle.faults.schedule import Fault, FaultKind, FaultSchedule

BYTES = b"0123456789" * 25_000
CUT = requests.ConnectionError, requests.exceptions.ChunkedEncodingError
STATUS = {"userName": "tester", "kernelSlug": "left-files"}


@pytest.fixture(autouse=True)
def _left_files(context):
    context.kaggle.faults = FaultSchedule()
    context.put({f"kernels/tester/left-files/{name}": BYTES.decode() for name in "abcde"})


def disturb(context, method, kind, seconds=0.2):
    context.kaggle.faults = FaultSchedule([Fault(method, 1, kind, seconds)])


def download(context, kind):
    """The start of a download that shows a fault, after what led to its link."""
    url = context.output("left-files")["files"][0]["url"]
    disturb(context, "Download", kind)
    return requests.get(url, stream=True, timeout=60)


@pytest.mark.parametrize(
    ("kind", "status", "retry_after", "is_json"),
    [
        (FaultKind.THROTTLED, 429, None, False),
        (FaultKind.THROTTLED_RETRY_AFTER, 429, "1", True),
        (FaultKind.HTML, 200, None, False),
        (FaultKind.ERROR_500, 500, None, True),
        (FaultKind.ERROR_502, 502, None, False),
        (FaultKind.EXPIRED_LINK, 400, None, False),
    ],
)
def test_wrong_answers(context, kind, status, retry_after, is_json):
    disturb(context, "GetKernelSessionStatus", kind)
    response = context.post("GetKernelSessionStatus", **STATUS)
    assert response.status_code == status
    assert response.headers.get("Retry-After") == retry_after
    assert ("json" in response.headers["Content-Type"]) == is_json
    assert context.status("left-files") == "COMPLETE"


def test_a_connection_that_is_reset_at_once(context):
    disturb(context, "GetKernelSessionStatus", FaultKind.RESET, seconds=3600)
    with pytest.raises(requests.ConnectionError):
        context.post("GetKernelSessionStatus", **STATUS)


def test_a_connection_that_hangs_before_it_is_closed(context):
    disturb(context, "GetKernelSessionStatus", FaultKind.HANG, seconds=0.3)
    start = time.monotonic()
    with pytest.raises(requests.ConnectionError):
        context.post("GetKernelSessionStatus", **STATUS)
    assert time.monotonic() - start > 0.3


def test_a_status_of_a_while_ago(context):
    disturb(context, "GetKernelSessionStatus", FaultKind.STALE_STATUS)
    assert context.status("left-files", 1) == "RUNNING"
    assert context.status("left-files", 1) == "COMPLETE"
    assert context.kaggle.faults.fired == list(context.kaggle.faults.faults)


def test_a_fault_that_a_call_cannot_show_has_not_occurred(context):
    disturb(context, "GetKernel", FaultKind.STALE_STATUS)
    context.call("GetKernel", userName="tester", kernelSlug="left-files")
    assert context.kaggle.faults.fired == []


@pytest.mark.parametrize("kind", [FaultKind.TRUNCATED, FaultKind.STALLED])
def test_a_download_that_ends_half_way(context, kind):
    with download(context, kind) as response:
        assert int(response.headers["Content-Length"]) == len(BYTES)
        with pytest.raises(CUT):
            _ = response.content
    assert requests.get(response.url, timeout=60).content == BYTES


def test_a_wrong_length_that_only_the_file_list_gives_away(context):
    response = download(context, FaultKind.WRONG_LENGTH)
    assert len(response.content) == int(response.headers["Content-Length"]) == len(BYTES) - 7
    files = context.call("ListKernelFiles", **STATUS)["files"]
    assert files[0]["size"] == len(BYTES)


def test_a_log_stream_that_is_cut_and_tells_everything_again(context):
    text = "import time\nfor n in range(8): print(n, flush=True); time.sleep(.2)"
    context.save("long-log", text)
    context.wait_for(lambda: context.status("long-log", 1) == "RUNNING")
    disturb(context, "LogStream", FaultKind.DROPPED_STREAM)
    url = f"{context.kaggle.url}/api/v1/kernels/logs/stream/tester/long-log?versionLabel=v1"

    def lines():
        with requests.get(url, auth=context.auth(), stream=True, timeout=60) as response:
            assert response.headers["Content-Type"].startswith("text/event-stream")
            yield from filter(None, response.iter_lines(chunk_size=1))

    cut = lines()
    assert b'"data": "0' in next(cut)
    assert len([next(cut), next(cut)]) == 2
    with pytest.raises(CUT):
        next(cut)
    whole = list(lines())
    assert b'"data": "0' in whole[0]
    assert whole[8:] == [b"data: END_OF_LOG"]
    context.finish("long-log")
