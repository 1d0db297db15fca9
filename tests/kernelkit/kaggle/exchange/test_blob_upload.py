"""One file is uploaded whole, through faults, or broken off."""

import io
from functools import partial

import pytest
import requests

from kernelkit import errors
from kernelkit.kaggle.exchange import blob_upload
from kernelkit.kaggle.transport.connection import StoreSession
from local_kaggle.faults.schedule import Fault, FaultKind, FaultSchedule


@pytest.fixture
def file(tmp_path):
    """A file of two million bytes."""
    path = tmp_path / "large.bin"
    path.write_bytes(bytes(range(250)) * 8000)
    return path


@pytest.mark.parametrize(
    ("fault", "asked"),
    [
        (FaultKind.TRUNCATED, ["", "bytes */2000000", "bytes 1000000-1999999/2000000"]),
        (FaultKind.LOST_ANSWER, ["", "bytes */2000000"]),
    ],
)
def test_of_an_upload_that_broke_off_only_the_rest_is_sent(
    kaggle, connect, file, monkeypatch, fault, asked
):
    context = connect()
    kaggle.faults = FaultSchedule([Fault("Upload", 1, fault)])
    ranges = []
    put = StoreSession.put

    def noting(session, url, **options):
        ranges.append(options["headers"].get("Content-Range", ""))
        return put(session, url, **options)

    monkeypatch.setattr(StoreSession, "put", noting)
    start = partial(context.kaggle.blobs.start_blob_upload, "dataset")
    token = blob_upload.upload(context.kaggle, file, start)

    assert ranges == asked
    assert (kaggle.root / "blobs" / token).read_bytes() == file.read_bytes()


@pytest.mark.parametrize("said", ["bytes=0-1999999", "bytes=0-2000000", "bytes=5-9", "none"])
def test_an_upload_is_complete_only_once_the_server_calls_it_complete(
    kaggle, connect, file, monkeypatch, said
):
    context = connect()
    kaggle.faults = FaultSchedule([Fault("Upload", 1, FaultKind.ERROR_503)])
    ranges = []
    put = StoreSession.put

    def claiming(session, url, **options):
        asked = options["headers"].get("Content-Range", "")
        ranges.append(asked)
        if not asked.startswith("bytes */"):
            return put(session, url, **options)
        answer = requests.Response()
        answer.status_code = 308
        answer.headers["Range"] = said
        answer.raw = io.BytesIO()
        return answer

    monkeypatch.setattr(StoreSession, "put", claiming)
    start = partial(context.kaggle.blobs.start_blob_upload, "dataset")
    token = blob_upload.upload(context.kaggle, file, start)

    assert ranges == ["", "bytes */2000000", ""]
    assert (kaggle.root / "blobs" / token).read_bytes() == file.read_bytes()


def test_an_upload_tells_how_many_bytes_it_has_sent(kaggle, connect, file):
    context = connect()
    start = partial(context.kaggle.blobs.start_blob_upload, "dataset")
    sent = []
    blob_upload.upload(context.kaggle, file, start, tell=sent.append)
    assert sent[-1] == file.stat().st_size


def test_a_file_that_is_being_sent_is_broken_off_and_not_sent_again(kaggle, connect, file):
    context = connect()
    start = partial(context.kaggle.blobs.start_blob_upload, "dataset")
    with pytest.raises(errors.RefusedError, match="interrupted"):
        blob_upload.upload(context.kaggle, file, start, lambda: True)
    assert kaggle.faults.calls["Upload"] <= 1
