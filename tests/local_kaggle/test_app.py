import contextlib
import re
import socket

import pytest
import requests
from checkouts import ROOT

from local_kaggle import serving
from local_kaggle.wire import METHODS


def test_what_is_not_rehearsed_says_so(context):
    url = f"{context.kaggle.url}/api/v1/models.ModelApiService/ReviewModelGatingUserConsent"
    assert requests.post(url, json={}, auth=context.auth(), timeout=60).status_code == 400
    assert requests.get(f"{context.kaggle.url}/elsewhere", timeout=60).json()["code"] == 404


def test_it_has_every_method_that_the_clients_own_tests_call():
    page = ROOT / "docs" / "reference" / "conformance.md"
    listed = re.findall(r"^`(\w+)`$", page.read_text(), re.MULTILINE)
    methods = {name.rpartition("/")[2] for name in METHODS}
    assert len(listed) > 50
    assert [name for name in listed if name.lower() not in methods] == []


def test_credentials_are_asked_for(context):
    def status(**proof):
        return requests.post(context.url("ListKernels"), json={}, timeout=60, **proof).status_code

    assert status() == status(auth=("tester", "wrong")) == 401
    assert status(headers={"Authorization": "Bearer KGAT_other"}) == 401
    assert status(headers={"Authorization": "Bearer KGAT_token"}) == 200


def test_a_token_can_be_asked_about_without_credentials(context):
    url = context.url("IntrospectToken")
    for token, answer in (("KGAT_token", {"active": True, "username": "tester"}), ("no", {})):
        assert requests.post(url, json={"token": token}, timeout=60).json() == answer


def test_private_kernels_are_seen_by_their_owner_alone(context):
    url, other = context.url("GetKernel"), context.auth("other")
    body = {"userName": "tester", "kernelSlug": "mine-alone"}
    for private, status in ((True, 403), (False, 200)):
        context.save("mine-alone", "1", isPrivate=private, kernelExecutionType="QUICK_SAVE")
        assert requests.post(url, json=body, auth=other, timeout=60).status_code == status


@pytest.mark.parametrize("method", ["ListKernels", "GetKernelSessionLogsStream"])
def test_a_body_without_credentials_is_not_read(context, method):
    url = f"{context.kaggle.url}/api/v1/kernels.KernelsApiService/{method}"
    sent = 0

    def endless():
        nonlocal sent
        for _ in range(400):
            sent += 1_000_000
            yield b"x" * 1_000_000

    with contextlib.suppress(requests.ConnectionError):
        assert requests.post(url, data=endless(), timeout=60).status_code == 401
    assert sent < 100_000_000


@pytest.mark.parametrize(
    "headers", [{"Host": "evil.example"}, {"Origin": "http://evil.example"}, {"Origin": "null"}]
)
def test_a_page_in_a_browser_is_not_answered(context, headers):
    url, auth = context.url("ListKernels"), context.auth()
    assert requests.post(url, json={}, auth=auth, headers=headers, timeout=60).status_code == 403


def test_a_connection_without_a_request_is_closed(context, monkeypatch):
    monkeypatch.setattr(serving, "HEAD_SECONDS", 0.3)
    with socket.create_connection(("127.0.0.1", context.kaggle.port), timeout=60) as silent:
        silent.sendall(b"POST /api/v1/kern")
        with contextlib.suppress(ConnectionResetError):
            assert silent.recv(1) == b""


def test_the_file_with_the_keys_is_its_owners_alone(context):
    for path in context.kaggle.root.glob("kaggle.sqlite*"):
        assert path.stat().st_mode & 0o077 == 0


def test_an_output_that_leads_out_of_the_session_is_not_served(context, tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("of the desk")
    context.save(
        "leads-out", f"import os; os.symlink({str(secret)!r}, 'out.txt'); open('in.txt', 'w')"
    )
    context.finish("leads-out")
    assert [file["fileName"] for file in context.output("leads-out")["files"]] == ["in.txt"]
