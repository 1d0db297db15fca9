"""The genuine client, found credentials or not, with every request bounded in time."""

import base64
import json
import signal
import socket
import threading
import time
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from click.testing import CliRunner

from kernelkit import errors
from kernelkit.cli.console import main
from kernelkit.exits.signals import EndedBySignal, unwinding
from kernelkit.kaggle.client import Kaggle
from kernelkit.kaggle.exchange import blob_upload, transfers
from kernelkit.kaggle.exchange.transfers import Expected
from kernelkit.kaggle.kernel import Kernel
from kernelkit.kaggle.retries import Retries
from kernelkit.kaggle.transport import authentication, connection, time_limits
from kernelkit.kaggle.transport.authentication import open_connection
from kernelkit.kaggle.transport.failures import Failure, FailureKind
from kernelkit.kaggle.transport.time_limits import Timeouts
from local_kaggle.faults.schedule import Fault, FaultKind, FaultSchedule

ONCE = Retries(attempts=1)
KERNEL = Kernel("tester", "blossom-train")


@pytest.fixture
def server(serve):
    return serve(tokens={"KGAT_token": "tokener"})


@pytest.fixture
def token(server, monkeypatch):
    monkeypatch.setenv("KAGGLE_API_TOKEN", "KGAT_token")


@pytest.mark.parametrize("command", ["status", "init garden --from a/rose"])
def test_without_credentials_a_command_says_where_to_get_them_and_what_needs_none(
    tmp_path, monkeypatch, command
):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, command.split())
    assert done.exit_code == 4, done.output
    assert "settings/api" in done.output
    assert "`kernelkit rehearse` needs no account" in done.output
    assert done.output.count("\n") == 1


def test_a_legacy_key_serves(server):
    found = open_connection()
    assert found.username == "tester"
    assert found.rehearses
    header = base64.b64encode(f"tester:{server.key()}".encode()).decode()
    assert found.secrets == [server.key(), header]


def test_a_token_file_serves(server, monkeypatch, tmp_path):
    monkeypatch.delenv("KAGGLE_KEY")
    monkeypatch.delenv("KAGGLE_USERNAME")
    folder = tmp_path / "home" / ".kaggle"
    folder.mkdir(parents=True)
    (folder / "access_token").write_text("KGAT_token")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    found = open_connection()
    assert found.username == "tokener"
    assert Kaggle(found, ONCE).status(KERNEL, None) is None


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("kaggle.json", b"[]"),
        ("access_token", "KGAT_token".encode("utf-16")),  # as PowerShell writes it
        ("credentials.json", b"[]"),
        ("credentials.json", b'{"refresh_token": "R", "access_token_expiration": "soon"}'),
        (
            "credentials.json",
            b'{"refresh_token": 5, "access_token": 5,'
            b' "access_token_expiration": "2999-01-01T00:00:00+00:00"}',
        ),
    ],
)
def test_damaged_credentials_are_said_to_be_that_at_once(
    server, monkeypatch, tmp_path, name, content
):
    monkeypatch.delenv("KAGGLE_KEY")
    monkeypatch.delenv("KAGGLE_USERNAME")
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".kaggle").mkdir()
    (tmp_path / ".kaggle" / name).write_bytes(content)
    with pytest.raises(errors.CredentialsError, match="since a file is damaged"):
        open_connection()


@pytest.fixture
def echoing(server):
    """A Kaggle that refuses every request with all that it was sent; its URL."""

    class Echo(BaseHTTPRequestHandler):
        status = 400

        def do_POST(self):
            sent = self.rfile.read(int(self.headers["Content-Length"])).decode()
            message = f"cannot read {sent} {self.headers}"
            body = json.dumps({"code": self.status, "message": message}).encode()
            self.send_response(self.status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    from kagglesdk import kaggle_env

    with ThreadingHTTPServer(("127.0.0.1", 0), Echo) as echo:
        threading.Thread(target=echo.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{echo.server_port}"
        kaggle_env._env_to_endpoint[kaggle_env.KaggleEnv.LOCAL] = url
        yield Echo
        echo.shutdown()


@pytest.mark.parametrize("command", ["status --quota", "upload weights"])
def test_no_error_repeats_a_credential_that_the_server_sends_back(
    echoing, server, repository, command
):
    folder = repository.root / "weights"
    folder.mkdir()
    (folder / "head.bin").write_bytes(b"1")
    done = CliRunner().invoke(main, command.split())
    header = base64.b64encode(f"tester:{server.key()}".encode()).decode()
    assert done.exit_code == 5, done.output
    assert "cannot read" in done.output
    assert "[secret]" in done.output
    assert header not in done.output


def test_no_failure_repeats_a_credential_that_the_server_sends_back(echoing):
    with pytest.raises(Failure, match=r"Authorization: Basic \[secret\]") as caught:
        Kaggle(open_connection(), ONCE).quota("tpu")
    assert "Basic [secret]" in caught.value.message


def test_no_error_repeats_a_token_that_the_server_sends_back_while_it_is_checked(echoing, token):
    echoing.status = 500
    with pytest.raises(Failure) as caught:
        open_connection()
    assert str(caught.value).startswith("checking the credentials: HTTP 500")
    assert "KGAT_token" not in str(caught.value)


def test_a_server_that_never_answers_about_a_token_is_given_up(token):
    from kagglesdk import kaggle_env

    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        # Detaching puts it back; monkeypatch would do so later, and leave the server's.
        kaggle_env._env_to_endpoint[kaggle_env.KaggleEnv.LOCAL] = url
        with pytest.raises(errors.NetworkError, match="checking the credentials: no answer"):
            open_connection(Timeouts(authenticate=0.5))


@pytest.mark.parametrize("kind", [FaultKind.THROTTLED, FaultKind.HTML, FaultKind.RESET])
def test_asking_about_a_token_is_repeated(server, token, timing, kind):
    server.faults = FaultSchedule([Fault("IntrospectToken", 1, kind)])
    assert Kaggle.sign_in(timing.timeouts, timing.retries).username == "tokener"


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (FaultKind.THROTTLED_RETRY_AFTER, FailureKind.THROTTLED),
        (FaultKind.HTML, FailureKind.MALFORMED),
        (FaultKind.ERROR_503, FailureKind.SERVER),
        (FaultKind.RESET, FailureKind.NETWORK),
        (FaultKind.HANG, FailureKind.NETWORK),
        (None, FailureKind.NETWORK),  # it is not there, and was never sent to
    ],
)
def test_every_misbehaviour_of_the_server_is_sorted(server, fault, kind):
    kaggle = Kaggle(open_connection(Timeouts(read=1.0)), ONCE)
    if fault:
        server.faults = FaultSchedule([Fault("GetKernelSessionStatus", 1, fault, 2.0)])
    else:
        server.stop()
    with pytest.raises(Failure) as caught:
        kaggle.status(KERNEL, 1)
    assert (caught.value.kind, caught.value.sent) == (kind, bool(fault))
    assert bool(caught.value.retry_after) == (fault is FaultKind.THROTTLED_RETRY_AFTER)


def test_production_is_what_the_client_calls_production():
    from kagglesdk.kaggle_client import KaggleClient
    from kagglesdk.kaggle_env import KaggleEnv

    services = KaggleClient(env=KaggleEnv.PROD, username="me", password="0" * 32)
    found = connection.Connection(services, "me", Timeouts())
    assert found.base_url == connection.PRODUCTION
    assert not found.rehearses


@pytest.mark.parametrize("hours", ["99999999999999999s", f"{'9' * 400}s", "1e999s", 1e999, ["1s"]])
def test_a_duration_that_is_none_is_a_malformed_answer(server, hours):
    from kagglesdk.kernels.types import kernels_api_service as types

    answer = {"tpuQuota": {"timeUsed": hours}}
    unpack = types.ApiGetAcceleratorQuotaStatisticsResponse.from_dict
    with pytest.raises(Failure) as caught:
        open_connection().ask(unpack, answer)
    assert caught.value.kind is FailureKind.MALFORMED


@pytest.fixture
def answering(server, monkeypatch):
    """`answering(body)`: connect to a Kaggle whose every answer has this body."""
    send = time_limits.TimedAdapter.send

    def answering(body):
        def changed(adapter, *arguments, **options):
            response = send(adapter, *arguments, **options)
            response._content = body.encode()
            return response

        kaggle = Kaggle(open_connection(), ONCE)
        monkeypatch.setattr(time_limits.TimedAdapter, "send", changed)
        return kaggle

    return answering


@pytest.mark.parametrize(
    "body", ['"text"', '""', "[]", "5", "true", "null", '{"tpuQuota": "text"}', '{"tpuQuota": []}']
)
def test_what_is_no_object_where_one_is_due_is_a_malformed_answer(answering, body):
    with pytest.raises(Failure, match="not Kaggle's JSON") as caught:
        answering(body).quota("tpu")
    assert caught.value.kind is FailureKind.MALFORMED


@pytest.mark.parametrize("kernels", ['"text"', '{"a": 1}', '["text"]', "[[]]", "[5]"])
def test_what_is_no_list_of_objects_where_one_is_due_is_a_malformed_answer(answering, kernels):
    with pytest.raises(Failure, match="not Kaggle's JSON") as caught:
        answering(f'{{"kernels": {kernels}}}').recent()
    assert caught.value.kind is FailureKind.MALFORMED


@pytest.mark.parametrize("kernel", ['{"ref": null}', '{"machineShape": null, "enableTpu": null}'])
def test_a_null_is_a_fields_default(answering, kernel):
    assert answering(f'{{"kernels": [{kernel}]}}').recent() == []


def test_an_object_without_fields_is_an_answer(answering):
    assert answering("{}").quota("tpu") is None


NOWHERE = "http://a..b"  # urllib3's own error, which requests lets through


def test_an_address_with_an_empty_label_is_a_malformed_answer(server, monkeypatch, tmp_path):
    kaggle = Kaggle(open_connection(), ONCE)
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(kaggle.connection, "base_url", NOWHERE)
    file = tmp_path / "file"
    file.write_bytes(b"petals")
    session = connection.StoreSession()
    receive = partial(transfers.receive, kaggle, session, NOWHERE, file, Expected(), bool)
    stream = partial(kaggle.connection.stream, "logs", "stream", 1.0)
    for call in (partial(blob_upload.send, kaggle, NOWHERE, file, 0, bool, print), receive, stream):
        with pytest.raises(Failure, match="invalid address") as caught:
            call()
        assert caught.value.kind is FailureKind.MALFORMED


def test_a_redirect_to_an_address_that_is_none_is_a_malformed_answer(server, tmp_path):
    class Astray(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(302)
            self.send_header("Location", "http://[::1")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    kaggle = Kaggle(open_connection(), ONCE)
    with ThreadingHTTPServer(("127.0.0.1", 0), Astray) as astray:
        threading.Thread(target=astray.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{astray.server_port}/file"
        part = tmp_path / "file"
        with pytest.raises(Failure, match="invalid address") as caught:
            transfers.receive(kaggle, connection.StoreSession(), url, part, Expected(), bool)
        astray.shutdown()
    assert caught.value.kind is FailureKind.MALFORMED


def test_the_messages_have_the_fields_that_are_used():
    """Of 2.2.4 and 2.2.5 alike: a field that goes missing fails here and not on Kaggle."""
    from kagglesdk.kernels.types import kernels_api_service as types

    for name in ("GetKernelSessionStatus", "ListKernelSessionOutput", "ListKernelFiles"):
        request = getattr(types, f"Api{name}Request")()
        request.version_label = "v3"
        assert json.loads(request.to_json())["versionLabel"] == "v3"


@pytest.mark.parametrize("token", ["KGAT_token\n", "\ufeffKGAT_token"])
def test_a_token_that_no_header_takes_is_said_to_be_the_cause(server, monkeypatch, token):
    monkeypatch.setenv("KAGGLE_API_TOKEN", token)
    with pytest.raises(errors.CredentialsError, match="byte order mark"):
        open_connection()


def test_a_signal_that_arrives_while_the_client_checks_the_token_is_no_lack_of_one(monkeypatch):
    monkeypatch.setattr(authentication, "_authenticate", lambda: time.sleep(30))
    threading.Timer(0.3, signal.pthread_kill, (threading.get_ident(), signal.SIGTERM)).start()
    with pytest.raises(EndedBySignal) as ended, unwinding():
        open_connection()
    assert ended.value.code == 128 + signal.SIGTERM
