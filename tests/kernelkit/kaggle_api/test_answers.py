"""Every failure of a call is sorted, and says what to do."""

import datetime
import email.utils

import pytest

from kernelkit import errors
from kernelkit.kaggle_api import answers
from kernelkit.kaggle_api.answers import Failure, FailureKind


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (401, "Unauthorized", FailureKind.CREDENTIALS),
        (403, "Permission 'kernels.get' was denied", FailureKind.REFUSED),
        (404, "", FailureKind.NOT_FOUND),
        (400, "Maximum batch TPU session count of 1 reached.", FailureKind.CAPACITY),
        (429, "", FailureKind.THROTTLED),
        (500, "", FailureKind.SERVER),
        (503, "", FailureKind.SERVER),
    ],
)
def test_a_status_has_its_kind(status, message, kind):
    assert answers.of_status("GetKernel", status, message).kind is kind


def test_a_success_is_no_failure():
    assert answers.of_status("GetKernel", 200, "") is None
    assert answers.of_status("GetKernel", 302, "") is None


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('{"code": 400, "message": "no"}', "no"),
        ('{"error": {"code": 5, "message": "never", "status": "X"}}', "never"),
        ('{"error": "plain"}', "plain"),
        ("<html>Too many requests</html>", ""),
        ("[1]", ""),
        ("", ""),
    ],
)
def test_both_forms_of_error_are_read(body, message):
    assert answers.message_in(body) == message


def test_retry_after_is_seconds_or_a_date():
    assert answers.retry_after("7") == 7.0
    assert answers.retry_after("-7") == 0.0
    assert answers.retry_after(None) is None
    assert answers.retry_after("soon") is None
    later = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=90)
    assert 80 < answers.retry_after(email.utils.format_datetime(later, usegmt=True)) <= 90


@pytest.mark.parametrize(
    "header",
    [
        "inf",
        "-inf",
        "nan",
        "1e999",
        "Wed, 99 Oct 2015 07:28:00",
        "Wed, 21 Oct 2015 07:28:00 +99999999999999",
    ],
)
def test_a_retry_after_that_says_nothing_is_none(header):
    assert answers.retry_after(header) is None


def test_a_date_without_zone_is_one_of_utc():
    later = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=90)
    for zone in ("", " -0000"):
        assert 80 < answers.retry_after(later.strftime("%a, %d %b %Y %H:%M:%S") + zone) <= 90


def test_a_throttle_names_the_time_to_wait():
    error = Failure(FailureKind.THROTTLED, "SaveKernel", "too many requests", 86400.0).error()
    assert "asks to wait 24 h 00 min" in str(error)


@pytest.mark.parametrize(
    ("kind", "error", "code"),
    [
        (FailureKind.CREDENTIALS, errors.CredentialsError, 4),
        (FailureKind.NOT_FOUND, errors.RefusedError, 5),
        (FailureKind.REFUSED, errors.RefusedError, 5),
        (FailureKind.CAPACITY, errors.CapacityError, 5),
        (FailureKind.THROTTLED, errors.NetworkError, 8),
        (FailureKind.SERVER, errors.NetworkError, 8),
        (FailureKind.NETWORK, errors.NetworkError, 8),
        (FailureKind.MALFORMED, errors.NetworkError, 8),
    ],
)
def test_each_kind_ends_in_its_code(kind, error, code):
    raised = Failure(kind, "GetKernel", "no").error()
    assert type(raised) is error
    assert raised.exit_code == code
    assert "GetKernel: no" in str(raised)
