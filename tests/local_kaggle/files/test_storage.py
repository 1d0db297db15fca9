from __future__ import annotations

import time
from urllib.parse import urlsplit

import pytest
import requests

from local_kaggle.faults.schedule import Fault, FaultKind, FaultSchedule
from local_kaggle.limits import ServerLimits

BYTES = bytes(range(256)) * 64


@pytest.fixture(scope="module")
def limits() -> ServerLimits:
    return ServerLimits(lag_seconds=0, link_seconds=1.0)


@pytest.fixture
def url(context) -> str:
    if context.post("GetKernel", userName="tester", kernelSlug="one-file").status_code == 403:
        context.save("one-file", "open('ä file.bin', 'wb').write(bytes(range(256)) * 64)")
        context.finish("one-file")
    return context.output("one-file")["files"][0]["url"]


def start_upload(context, size: int) -> str:
    answer = context.call("StartBlobUpload", type="DATASET", name="blob.bin", contentLength=size)
    return answer["createUrl"]


def test_a_download_says_what_a_client_needs_to_resume_it(url):
    response = requests.get(url, timeout=5)
    assert response.content == BYTES
    assert response.headers["Content-Length"] == str(len(BYTES))
    assert response.headers["Accept-Ranges"] == "bytes"
    time.strptime(response.headers["Last-Modified"], "%a, %d %b %Y %H:%M:%S %Z")
    rest = requests.get(
        url, headers={"Range": "bytes=100-", "If-Range": response.headers["ETag"]}, timeout=5
    )
    assert rest.status_code == 206
    assert rest.content == BYTES[100:]
    whole = requests.get(url, headers={"Range": "bytes=100-", "If-Range": '"other"'}, timeout=5)
    assert (whole.status_code, whole.content) == (200, BYTES)


def test_a_link_expires(url):
    time.sleep(1.1)
    response = requests.get(url, timeout=5)
    assert response.status_code == 400
    assert "ExpiredToken" in response.text


def test_a_link_opens_nothing_else(url):
    assert requests.get(url.replace("/storage/", "/storage/0"), timeout=5).status_code == 403
    assert requests.get(f"{url}/../../kaggle.sqlite", timeout=5).status_code in (403, 404)


def test_a_request_as_to_a_proxy_is_understood(context, url):
    proxies = {"http": context.kaggle.url}
    path = urlsplit(url)
    response = requests.get(f"http://localhost{path.path}", proxies=proxies, timeout=5)
    assert response.content == BYTES


def test_an_upload_is_resumed_where_its_connection_broke(context):
    url = start_upload(context, len(BYTES))
    context.kaggle.faults = FaultSchedule([Fault("Upload", 1, FaultKind.TRUNCATED)])
    with pytest.raises(requests.ConnectionError):
        requests.put(url, data=BYTES, timeout=5)
    size = len(BYTES)
    asked = requests.put(url, headers={"Content-Range": f"bytes */{size}"}, timeout=5)
    assert asked.status_code == 308
    arrived = int(asked.headers["Range"].split("-")[1]) + 1
    assert 0 < arrived < size
    rest = {"Content-Range": f"bytes {arrived}-{size - 1}/{size}"}
    assert requests.put(url, data=BYTES[arrived:], headers=rest, timeout=5).status_code == 200


def test_an_upload_that_meets_a_503_can_be_asked_about(context):
    url = start_upload(context, 3)
    context.kaggle.faults = FaultSchedule([Fault("Upload", 1, FaultKind.ERROR_503)])
    assert requests.put(url, data=b"abc", timeout=5).status_code == 503
    assert requests.put(url, headers={"Content-Range": "bytes */3"}, timeout=5).status_code == 200


def test_an_upload_needs_its_token_and_a_range_that_fits(context):
    url = start_upload(context, 10)
    assert requests.put(url.replace("/upload/", "/upload/0"), timeout=5).status_code == 404
    wrong = requests.put(url, data=b"x", headers={"Content-Range": "bytes 9-9/10"}, timeout=5)
    assert wrong.status_code == 400
