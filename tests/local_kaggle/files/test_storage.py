import contextlib
import errno
import os
import sqlite3
import time

import pytest
import requests

from local_kaggle.faults.schedule import Fault, FaultKind, FaultSchedule
from local_kaggle.files import storage
from local_kaggle.files.storage import UPLOAD_SECONDS
from local_kaggle.limits import ServerLimits
from local_kaggle.store import Store

BYTES = bytes(range(256)) * 64
SIZE = len(BYTES)


LIMITS = ServerLimits(lag_seconds=0)


@pytest.fixture
def url(context):
    """A link to a file of the catalogue."""
    file = context.kaggle.catalogue / "datasets/meadow/soil/ä file.bin"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(BYTES)
    named = {"ownerSlug": "meadow", "datasetSlug": "soil", "fileName": file.name}
    return context.post("DownloadDataset", **named).url


def get(url, **headers):
    return requests.get(url, headers=headers, timeout=60)


def put(url, data=b"", at=""):
    headers = {"Content-Range": f"bytes {at}"} if at else {}
    return requests.put(url, data=data, headers=headers, timeout=60)


def start_upload(context, size):
    answer = context.call("StartBlobUpload", type="DATASET", name="blob.bin", contentLength=size)
    return answer["createUrl"]


def test_a_download_says_what_a_client_needs_to_resume_it(url):
    response = get(url)
    assert response.content == BYTES
    assert response.headers["Content-Length"] == str(SIZE)
    assert response.headers["Accept-Ranges"] == "bytes"
    time.strptime(response.headers["Last-Modified"], "%a, %d %b %Y %H:%M:%S %Z")
    rest = get(url, **{"Range": "bytes=100-", "If-Range": response.headers["ETag"]})
    assert (rest.status_code, rest.content) == (206, BYTES[100:])
    whole = get(url, **{"Range": "bytes=100-", "If-Range": '"other"'})
    assert (whole.status_code, whole.content) == (200, BYTES)


def test_a_link_expires(url, monkeypatch):
    later = time.time() + LIMITS.link_seconds + 1
    monkeypatch.setattr(storage.time, "time", lambda: later)
    response = get(url)
    assert response.status_code == 400
    assert "ExpiredToken" in response.text


def test_a_link_opens_nothing_else(url):
    assert get(url.replace("/storage/", "/storage/0")).status_code == 403
    assert get(f"{url}/../../kaggle.sqlite").status_code in (403, 404)


def test_an_upload_is_resumed_where_its_connection_broke(context):
    url = start_upload(context, SIZE)
    context.kaggle.faults = FaultSchedule([Fault("Upload", 1, FaultKind.TRUNCATED)])
    with pytest.raises(requests.ConnectionError):
        put(url, BYTES)
    progress = put(url, at=f"*/{SIZE}")
    assert progress.status_code == 308
    arrived = int(progress.headers["Range"].split("-")[1]) + 1
    assert 0 < arrived < SIZE
    rest = put(url, BYTES[arrived:], f"{arrived}-{SIZE - 1}/{SIZE}")
    assert rest.status_code == 200


@pytest.mark.parametrize("kind", [FaultKind.ERROR_503, FaultKind.LOST_ANSWER])
def test_an_upload_without_an_answer_can_be_asked_about(context, kind):
    url = start_upload(context, 3)
    context.kaggle.faults = FaultSchedule([Fault("Upload", 1, kind)])
    with contextlib.suppress(requests.ConnectionError):
        assert put(url, b"abc").status_code == 503
    assert put(url, at="*/3").status_code == 200


def test_an_upload_needs_its_token_a_range_that_fits_and_the_announced_size(context):
    url = start_upload(context, 3)
    assert put(url.replace("/upload/", "/upload/0")).status_code == 404
    assert put(url, b"x", "2-2/3").status_code == 400
    assert put(url, b"x", f"{'9' * 5000}-2/3").status_code == 400
    assert put(url, b"four").status_code == 413
    assert put(url, b"abc").status_code == 200


def test_an_upload_that_was_left_alone_for_a_week_is_dropped(context):
    old, recent = start_upload(context, 3), start_upload(context, 3)
    now = time.time()
    for url, age in ((old, UPLOAD_SECONDS + 60), (recent, UPLOAD_SECONDS - 60)):
        blob = context.kaggle.root / "blobs" / url.rpartition("/")[2]
        os.utime(blob, (now, now - age))
    start_upload(context, 3)
    assert put(old, b"abc").status_code == 404
    assert put(recent, b"abc").status_code == 200


@pytest.mark.parametrize("name", ["a\0b", "ä" * 128, "folder/a\0"])
def test_a_name_that_no_file_can_have_is_refused(context, name):
    answer = context.post("StartBlobUpload", name=name, type="DATASET", contentLength=3)
    assert answer.status_code == 400
    assert "is not" in answer.json()["message"]


def full():
    error = sqlite3.OperationalError("database or disk is full")
    error.sqlite_errorname = "SQLITE_FULL"
    return error


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), full()])
def test_a_full_disk_is_told_in_a_line(context, monkeypatch, caplog, error):
    def change(*_):
        raise error

    monkeypatch.setattr(Store, "change", change)
    answer = context.post("StartBlobUpload", type="DATASET", name="a", contentLength=3)
    assert answer.status_code == 400
    assert "rehearsal: cannot write" in answer.json()["message"]
    assert "free some space" in answer.json()["message"]
    assert "Traceback" not in caplog.text


def test_a_disk_that_is_full_during_an_upload_is_told_in_a_line(context, monkeypatch, caplog):
    url = start_upload(context, SIZE)

    async def receive(*_):
        raise OSError(errno.ENOSPC, "No space left on device", "blob")

    monkeypatch.setattr("local_kaggle.files.storage._receive", receive)
    answer = put(url, BYTES)
    assert answer.status_code == 400
    assert "free some space" in answer.json()["message"]
    assert "Traceback" not in caplog.text
    monkeypatch.undo()
    assert put(url, BYTES).status_code == 200


def test_an_error_that_is_no_matter_of_the_disk_is_the_local_kaggles(context, monkeypatch, caplog):
    def change(*_):
        raise OSError(errno.ENOENT, "No such file")

    monkeypatch.setattr(Store, "change", change)
    answer = context.post("StartBlobUpload", type="DATASET", name="a", contentLength=3)
    assert answer.status_code == 500
    assert "Traceback" in caplog.text
