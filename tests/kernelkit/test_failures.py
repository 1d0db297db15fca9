"""Every failure of a call is sorted, and says what to do."""

import datetime
import email.utils

import pytest

from kernelkit import errors, failures
from kernelkit.failures import Failure, Sort


@pytest.mark.parametrize(
    ("status", "said", "sort"),
    [
        (401, "Unauthorized", Sort.CREDENTIALS),
        (403, "Permission 'kernels.get' was denied", Sort.REFUSED),
        (404, "", Sort.NOT_FOUND),
        (400, "Maximum batch TPU session count of 1 reached.", Sort.CAPACITY),
        (429, "", Sort.THROTTLED),
        (500, "", Sort.SERVER),
        (503, "", Sort.SERVER),
    ],
)
def test_a_status_has_its_sort(status, said, sort):
    assert failures.of_status("GetKernel", status, said).sort is sort


def test_what_succeeds_is_no_failure():
    assert failures.of_status("GetKernel", 200, "") is None
    assert failures.of_status("GetKernel", 302, "") is None


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('{"code": 400, "message": "no"}', "no"),
        ('{"error": {"code": 5, "message": "never", "status": "X"}}', "never"),
        ('{"error": "plain"}', "plain"),
        ("<html>Too many requests</html>", ""),
        ("[1]", ""),
        ("", ""),
    ],
)
def test_both_forms_of_error_are_read(body, said):
    assert failures.said_in(body) == said


def test_retry_after_is_seconds_or_a_date():
    assert failures.retry_after("7") == 7.0
    assert failures.retry_after("-7") == 0.0
    assert failures.retry_after(None) is None
    assert failures.retry_after("soon") is None
    later = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=90)
    assert 80 < failures.retry_after(email.utils.format_datetime(later, usegmt=True)) <= 90


@pytest.mark.parametrize(
    ("sort", "kind", "code"),
    [
        (Sort.CREDENTIALS, errors.CredentialsError, 4),
        (Sort.NOT_FOUND, errors.RefusedError, 5),
        (Sort.REFUSED, errors.RefusedError, 5),
        (Sort.CAPACITY, errors.CapacityError, 5),
        (Sort.THROTTLED, errors.NetworkError, 8),
        (Sort.SERVER, errors.NetworkError, 8),
        (Sort.NETWORK, errors.NetworkError, 8),
        (Sort.MALFORMED, errors.NetworkError, 8),
    ],
)
def test_each_sort_ends_in_its_code(sort, kind, code):
    error = Failure(sort, "GetKernel", "no").error()
    assert type(error) is kind
    assert error.exit_code == code
    assert "GetKernel: no" in str(error)
