"""Every failure of a call is sorted and says what to do."""

import datetime
import json
import socket

import pytest
import requests

from kernelkit import errors
from kernelkit.kaggle.transport import classify, local_settings
from kernelkit.kaggle.transport.failures import Failure, FailureKind


def answer(status, message="", body=None, method="GetKernel", **headers):
    response = requests.Response()
    response.status_code = status
    response.headers.update(headers)
    response._content = (body or json.dumps({"message": message})).encode()
    return classify.of_answer(method, response)


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (401, "Unauthorized", FailureKind.CREDENTIALS),
        (403, "Permission 'kernels.get' was denied", FailureKind.REFUSED),
        (404, "", FailureKind.NOT_FOUND),
        (429, "", FailureKind.THROTTLED),
        (503, "", FailureKind.SERVER),
    ],
)
def test_a_status_has_its_kind(status, message, kind):
    assert answer(status, message).kind is kind


@pytest.mark.parametrize(
    ("method", "message", "kind"),
    [
        ("SaveKernel", "Maximum batch TPU session count of 1 reached.", FailureKind.CAPACITY),
        ("SaveKernel", "Maximum weekly TPU quota reached.", FailureKind.CAPACITY),
        ("CreateDataset", "Your storage quota is used up.", FailureKind.REFUSED),
    ],
)
def test_only_a_push_lacks_a_session_or_hours(method, message, kind):
    assert answer(400, message, method=method).kind is kind


@pytest.mark.parametrize("body", ["[" * 100_000, '{"error":' * 100_000, "[]", "null", "1e999"])
def test_an_errors_body_may_be_anything(body):
    assert answer(500, body=body).message == "HTTP 500"


def test_a_success_is_no_failure():
    assert answer(200) is answer(302) is None


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('{"code": 400, "message": "no"}', "no"),
        ('{"error": {"code": 5, "message": "never", "status": "X"}}', "never"),
        ('{"error": "plain"}', "plain"),
        ('{"code": 400}', "HTTP 400"),
    ],
)
def test_both_forms_of_error_are_read(body, message):
    assert answer(400, body=body).message == message


@pytest.mark.parametrize("status", [400, 403, 404, 408])
@pytest.mark.parametrize("body", ["<html>This page is blocked</html>", "[1]", "404 page not found"])
def test_a_refusal_that_is_not_kaggles_json_is_a_proxys(status, body):
    failure = answer(status, body=body)
    assert failure.kind is FailureKind.MALFORMED
    assert failure.message == f"HTTP {status} without Kaggle's JSON"


def test_a_failure_may_be_told_in_an_answer_with_the_status_of_a_success():
    assert answer(200, body='{"code": 503, "message": "no"}').kind is FailureKind.SERVER
    assert answer(200, body='{"code": 403, "message": "no"}').kind is FailureKind.REFUSED


@pytest.mark.parametrize(
    "proxy", ["http://me@[::1", "127.0.0.1:port", "http://127.0.0.1:99999", "ftp://a:3", "a..b:3"]
)
def test_a_malformed_proxy_is_no_fault_of_kaggles(monkeypatch, proxy):
    monkeypatch.setenv("https_proxy", proxy)
    monkeypatch.setenv("no_proxy", "")
    with pytest.raises((OSError, ValueError)) as raised:
        requests.get("https://127.0.0.1:1/", timeout=1)
    failure = classify.of_exception("GetKernel", raised.value)
    assert (failure.kind, failure.sent) == (FailureKind.SETUP, False)
    assert failure.message == local_settings.MALFORMED_PROXY


@pytest.mark.parametrize("address", ["http://a..b/", f"http://{'a' * 64}/", "http://[::1", "x:/"])
def test_an_invalid_address_of_kaggles_is_a_malformed_answer(monkeypatch, address):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("no_proxy", "*")
    with pytest.raises((OSError, ValueError)) as raised:
        requests.get(address, timeout=1)
    failure = classify.of_exception("download", raised.value)
    assert failure.kind is FailureKind.MALFORMED


def test_a_token_that_no_header_can_have_is_a_fault_of_the_credentials():
    with pytest.raises(UnicodeEncodeError) as raised:
        requests.get("http://127.0.0.1:1/", auth=("me", "key\u20ac"), timeout=1)
    failure = classify.of_exception("GetKernel", raised.value)
    assert (failure.kind, failure.message) == (FailureKind.CREDENTIALS, classify.INVALID_CHARACTER)


@pytest.mark.parametrize("zone", [" GMT", ""])
def test_retry_after_may_be_a_date_of_utc(zone):
    later = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=90)
    assert 80 < classify.retry_after(later.strftime("%a, %d %b %Y %H:%M:%S") + zone) <= 90


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7.0),
        (None, None),
        ("soon", None),
        ("-7", None),
        ("Wed, 21 Oct 999999 07:28:00", None),
        ("9" * 400, classify.YEAR),
        ("Wed, 21 Oct 2015 07:28:00 -99999999999999", classify.YEAR),
    ],
)
def test_retry_after_is_seconds_within_all_measure_or_nothing(header, seconds):
    assert classify.retry_after(header) == seconds


def test_a_date_to_come_back_is_read_by_the_servers_clock_and_not_by_this_machines():
    dates = {
        "Date": "Mon, 03 Jan 2000 10:00:00 GMT",
        "Retry-After": "Mon, 03 Jan 2000 10:00:45 GMT",
    }
    assert answer(429, **dates).retry_after == 45.0


def test_a_throttle_names_the_time_to_wait():
    assert "asks to wait 24 h 00 min" in str(answer(429, **{"Retry-After": "86400"}))


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        (FailureKind.CREDENTIALS, errors.CredentialsError),
        (FailureKind.REFUSED, errors.RefusedError),
        (FailureKind.CAPACITY, errors.CapacityError),
        (FailureKind.SERVER, errors.NetworkError),
    ],
)
def test_each_kind_is_an_error_of_its_own(kind, error):
    failure = Failure(kind, "GetKernel", "no")
    assert isinstance(failure, error)
    assert str(failure).startswith("GetKernel: no")
    assert failure.is_transient == (error is errors.NetworkError)


VERIFY = "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: {} (_ssl.c:1006)"


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (requests.exceptions.SSLError(VERIFY.format("certificate has expired")), "has expired"),
        (requests.exceptions.SSLError(VERIFY.format("certificate is not yet valid")), "not yet"),
        (requests.exceptions.SSLError(VERIFY.format("self-signed certificate")), "self-signed"),
        (
            requests.exceptions.SSLError(
                VERIFY.format("Hostname mismatch, certificate is not valid for 'api.kaggle.com'.")
            ),
            "Hostname mismatch",
        ),
        (
            requests.exceptions.ProxyError(
                "Unable to connect to proxy",
                OSError("Tunnel connection failed: 407 Proxy Authentication Required"),
            ),
            "the proxy requires a user name",
        ),
        (
            requests.exceptions.ProxyError(OSError("Tunnel connection failed: 403 Forbidden")),
            "the proxy refuses the connection: 403 Forbidden",
        ),
        (
            requests.exceptions.SSLError("[SSL: TLSV1_ALERT_PROTOCOL_VERSION] tlsv1 alert"),
            "accepts no TLS connection of this machine: TLSV1_ALERT_PROTOCOL_VERSION",
        ),
        (
            requests.exceptions.SSLError("[X509: NO_CERTIFICATE_OR_CRL_FOUND] no certificate"),
            "the file of certificates cannot be read",
        ),
        (
            OSError("Could not find a suitable TLS CA certificate bundle, invalid path: /x"),
            "no file of certificates at /x",
        ),
        (requests.exceptions.InvalidProxyURL("Please check proxy URL."), "proxy's address"),
        (requests.exceptions.InvalidSchema("Missing dependencies for SOCKS support."), "pysocks"),
        (
            requests.exceptions.ProxyError("[SSL: WRONG_VERSION_NUMBER] wrong version number"),
            "speaks no HTTPS",
        ),
        (
            requests.exceptions.ConnectionError(
                f"Failed to resolve 'api.kaggel.com' ([Errno {socket.EAI_NONAME}] not known)"
            ),
            "no host is called api.kaggel.com",
        ),
    ],
)
def test_what_this_machines_settings_cause_is_told_at_once(error, told):
    failure = classify.of_exception("GetKernel", error)
    assert (failure.kind, failure.is_transient, failure.sent) == (FailureKind.SETUP, False, False)
    assert told in str(failure)
    assert "HTTPS_PROXY" in str(failure)
    assert failure.exit_code == errors.NetworkError.exit_code


def test_a_handshake_that_breaks_off_is_asked_again():
    error = requests.exceptions.SSLError("[SSL: UNEXPECTED_EOF_WHILE_READING] EOF occurred")
    assert classify.of_exception("GetKernel", error).is_transient


@pytest.mark.parametrize(
    "said",
    [
        f"Failed to resolve 'api.kaggle.com' ([Errno {socket.EAI_AGAIN}] Temporary failure)",
        "Tunnel connection failed: 502 Bad Gateway",
    ],
)
def test_what_may_pass_is_asked_again(said):
    failure = classify.of_exception("GetKernel", requests.exceptions.ConnectionError(said))
    assert (failure.kind, failure.is_transient) == (FailureKind.NETWORK, True)


def test_a_proxys_own_answer_is_no_answer_of_kaggles():
    response = requests.Response()
    response.status_code = 407
    failure = classify.of_response("GetKernel", response)
    assert (failure.kind, failure.is_transient) == (FailureKind.SETUP, False)
