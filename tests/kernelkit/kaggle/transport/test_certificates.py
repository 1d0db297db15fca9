"""What a real TLS server's certificate makes of a request: one line, and no second request."""

import contextlib
import shutil
import socket
import ssl
import subprocess
import threading

import pytest
import requests

from kernelkit.kaggle.retries import Clock, Retries
from kernelkit.kaggle.transport.classify import of_exception
from kernelkit.kaggle.transport.failures import Failure, FailureKind

pytestmark = pytest.mark.skipif(not shutil.which("openssl"), reason="makes certificates")

SETTINGS = """\
[ca]
default_ca = authority
[authority]
database = {folder}/index
serial = {folder}/serial
new_certs_dir = {folder}
default_md = sha256
policy = policy
[policy]
commonName = supplied
[server]
subjectAltName = DNS:{host}
authorityKeyIdentifier = keyid
"""
NEW = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]


def openssl(folder, *arguments):
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    """A folder with the certificate and the key of an authority, which this machine trusts."""
    folder = tmp_path_factory.mktemp("authority")
    own = ["-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=Authority"]
    openssl(folder, "req", "-x509", *NEW, *own, "-addext", "keyUsage=critical,keyCertSign")
    return folder


@pytest.fixture
def serving(authority, monkeypatch, tmp_path):
    """`serving(…)`: the URL of a server with a certificate of this host and these dates."""
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(authority / "ca.pem"))
    monkeypatch.setenv("no_proxy", "*")
    listener = socket.create_server(("127.0.0.1", 0))
    accepted = []

    def serve(context):
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:  # it is closed
                return
            accepted.append(connection)
            try:
                context.wrap_socket(connection, server_side=True).close()
            except OSError:
                connection.close()

    def serving(host="localhost", begin="20250101000000Z", end="20990101000000Z", signed=True):
        (tmp_path / "index").touch()
        (tmp_path / "serial").write_text("01")
        (tmp_path / "settings").write_text(SETTINGS.format(folder=tmp_path, host=host))
        openssl(tmp_path, "req", *NEW, "-keyout", "key", "-out", "request", "-subj", f"/CN={host}")
        signer = ["-cert", f"{authority}/ca.pem", "-keyfile", f"{authority}/ca.key"]
        if not signed:
            signer = ["-selfsign", "-keyfile", "key"]
        dates = ["-startdate", begin, "-enddate", end]
        made = ["-in", "request", "-out", "certificate", "-extensions", "server", *signer]
        openssl(tmp_path, "ca", "-batch", "-config", "settings", *dates, *made)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(tmp_path / "certificate", tmp_path / "key")
        threading.Thread(target=serve, args=[context], daemon=True).start()
        return f"https://localhost:{listener.getsockname()[1]}"

    serving.accepted = accepted
    yield serving
    with contextlib.suppress(OSError):  # where only a connection can be shut down
        listener.shutdown(socket.SHUT_RDWR)
    listener.close()


def ask(url):
    try:
        requests.get(url, timeout=10).close()
    except OSError as error:
        raise of_exception("GetKernel", error) from None


@pytest.mark.parametrize(
    ("certificate", "told"),
    [
        ({"end": "20250201000000Z"}, "is not accepted: certificate has expired"),
        ({"begin": "20980101000000Z"}, "is not accepted: certificate is not yet valid"),
        ({"host": "example.com"}, "is not accepted: Hostname mismatch"),
        ({"signed": False}, "is not accepted: self-signed certificate"),
    ],
)
def test_a_certificate_that_is_not_accepted_ends_a_call_at_once(serving, certificate, told):
    url = serving(**certificate)
    with pytest.raises(Failure, match=told) as caught:
        Retries(clock=Clock(speed=1000)).call(lambda: ask(url))
    assert caught.value.kind is FailureKind.SETUP
    assert "clock" in str(caught.value)
    assert len(serving.accepted) == 1


def test_a_server_that_hangs_up_is_asked_again(serving):
    url = serving()
    with pytest.raises(Failure, match="the connection broke") as caught:
        Retries(attempts=3, clock=Clock(speed=1000)).call(lambda: ask(url))
    assert caught.value.kind is FailureKind.NETWORK
    assert len(serving.accepted) == 3
