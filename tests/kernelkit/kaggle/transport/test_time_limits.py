"""An answer ends in time, however slowly its bytes come."""

import contextlib
import io
import itertools
import socket
import threading
import time
from functools import partial

import pytest
import requests

from kernelkit.errors import OutputsError
from kernelkit.kaggle.answers import Outputs
from kernelkit.kaggle.client import Kaggle
from kernelkit.kaggle.context.timing import Timing
from kernelkit.kaggle.exchange import blob_upload, transfers
from kernelkit.kaggle.kernel import Kernel
from kernelkit.kaggle.retries import Retries
from kernelkit.kaggle.transport import time_limits
from kernelkit.kaggle.transport.authentication import open_connection
from kernelkit.kaggle.transport.failures import Failure, FailureKind
from kernelkit.kaggle.transport.time_limits import Timeouts
from kernelkit.push.known.ledger import Push
from kernelkit.push.known.push_context import PushContext
from kernelkit.push.outputs.fetch import fetch
from kernelkit.terminal.events import Events

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n"
TIMING = Timeouts(connect=1.0, read=1.0, whole=0.6, slow=0.6)
ONCE = Retries(attempts=1)


@pytest.fixture
def dripping():
    """The address of a server that answers every request with a byte each tenth of a second."""
    listener = socket.create_server(("127.0.0.1", 0))
    over = threading.Event()

    def answer(client, text):
        with client, contextlib.suppress(OSError):
            client.recv(1 << 16)
            client.sendall(text[0])
            while not over.is_set():
                client.sendall(text[1])
                time.sleep(0.1)

    def serve():
        with contextlib.suppress(OSError):
            while True:
                client = listener.accept()[0]
                threading.Thread(target=answer, args=(client, server.text), daemon=True).start()

    class server:  # noqa: N801
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        text = (HEAD + b"\r\n", b" ")

    threading.Thread(target=serve, daemon=True).start()
    yield server
    over.set()
    listener.close()


@pytest.fixture
def connect(dripping, monkeypatch):
    """`connect(timeouts)`: the account's Kaggle, at the server that drips."""
    from kagglesdk import kaggle_env

    monkeypatch.setitem(kaggle_env._env_to_endpoint, kaggle_env.KaggleEnv.LOCAL, dripping.url)
    monkeypatch.setenv("KAGGLE_API_ENVIRONMENT", "LOCALHOST")
    monkeypatch.setenv("KAGGLE_USERNAME", "tester")
    monkeypatch.setenv("KAGGLE_KEY", "0" * 32)
    from kaggle.api.kaggle_api_extended import KaggleApi

    monkeypatch.setattr(KaggleApi, "args", ["--local"])  # which the client reads once, at import
    return lambda timeouts: Kaggle(open_connection(timeouts), ONCE)


@pytest.fixture
def kaggle(connect):
    return connect(TIMING)


@pytest.mark.parametrize("text", [(HEAD + b"\r\n", b" "), (HEAD, b"x")], ids=["body", "headers"])
def test_a_call_whose_answer_drips_is_given_up(dripping, kaggle, text):
    dripping.text = text
    with pytest.raises(Failure, match="no answer in time") as caught:
        kaggle.status(Kernel("me", "blossom"), 1)
    assert caught.value.kind is FailureKind.NETWORK


def test_a_call_whose_answer_has_no_end_is_given_up(dripping, connect, monkeypatch):
    kaggle = connect(Timeouts(connect=60.0, read=60.0, whole=60.0))  # it is no question of time
    monkeypatch.setattr(time_limits, "LONGEST", 50_000)
    dripping.text = (HEAD.replace(b"Content-Length: 100000\r\n", b"\r\n"), b" " * 2_000_000)
    with pytest.raises(Failure, match="the connection broke") as caught:
        kaggle.status(Kernel("me", "blossom"), 1)
    assert "more than 50,000 bytes" in str(caught.value.__cause__)


def test_a_download_that_drips_is_given_up(dripping, kaggle, tmp_path):
    dripping.text = (HEAD + b"\r\n", b" ")
    listed = Outputs({"weights.bin": dripping.url}, "")
    context = PushContext(tmp_path, Events(io.StringIO()), Timing())
    context.kaggle = kaggle
    push = Push("me/blossom", "", "", "cpu", version=1)
    with pytest.raises(OutputsError, match=r"weights\.bin: no answer in time"):
        fetch(context, push, tmp_path / "home", listed)


def test_a_download_ends_at_its_deadline(dripping):
    dripping.text = (HEAD + b"\r\n", b"x" * 1000)  # not slow, only endless
    late = itertools.chain([False, False, True], itertools.repeat(None))
    with requests.get(dripping.url, stream=True, timeout=30) as response:
        body = transfers.chunks(response, 30, lambda: next(late))
        with pytest.raises(requests.exceptions.ReadTimeout):
            list(body)
    assert next(late) is None  # it ended where it was late


def test_an_upload_whose_answer_drips_is_given_up(dripping, kaggle, tmp_path):
    dripping.text = (HEAD, b"x")
    (tmp_path / "data.bin").write_bytes(b"1")
    with pytest.raises(Failure, match="no answer in time"):
        blob_upload.send(kaggle, dripping.url, tmp_path / "data.bin", 0, bool, print)


def test_an_answer_that_comes_after_its_time_is_closed():
    listener = socket.create_server(("127.0.0.1", 0))
    with listener, requests.Session() as session:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(requests.ReadTimeout) as late:  # its traceback holds what call returns
            time_limits.within(0.05, partial(session.get, url, stream=True, timeout=10))
        client, _ = listener.accept()
        with client:
            client.recv(1 << 16)
            client.sendall(HEAD + b"\r\n")
            client.settimeout(5)
            assert client.recv(1) == b""
    assert "no complete answer" in str(late.value)
