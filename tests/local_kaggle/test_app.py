from __future__ import annotations

import requests


def test_errors_look_like_kaggles(context):
    response = context.post("GetKernel", userName="tester", kernelSlug="not-there")
    assert response.status_code == 403
    assert response.json() == {"code": 403, "message": "Permission 'kernels.get' was denied"}


def test_what_is_not_rehearsed_says_so(context):
    url = f"{context.kaggle.url}/api/v1/models.ModelApiService/CreateModel"
    response = requests.post(url, json={}, auth=("tester", context.kaggle.key()), timeout=5)
    assert response.status_code == 501
    assert requests.get(f"{context.kaggle.url}/elsewhere", timeout=5).json()["code"] == 404


def test_a_malformed_request_is_refused(context):
    url = f"{context.kaggle.url}/api/v1/kernels.KernelsApiService/GetKernel"
    auth = ("tester", context.kaggle.key())
    for body in ("{", "[1]", '{"userName": {"a": 1}, "kernelSlug": 3}'):
        assert requests.post(url, data=body, auth=auth, timeout=5).status_code == 400


def test_credentials_are_asked_for(context):
    url = f"{context.kaggle.url}/api/v1/kernels.KernelsApiService/ListKernels"
    assert requests.post(url, json={}, timeout=5).status_code == 401
    assert requests.post(url, json={}, auth=("tester", "wrong"), timeout=5).status_code == 401
    for token, status in (("KGAT_token", 200), ("KGAT_other", 401)):
        headers = {"Authorization": f"Bearer {token}"}
        assert requests.post(url, json={}, headers=headers, timeout=5).status_code == status


def test_a_token_can_be_asked_about_without_credentials(context):
    url = f"{context.kaggle.url}/api/v1/security.OAuthService/IntrospectToken"
    good = requests.post(url, json={"token": "KGAT_token"}, timeout=5).json()
    assert (good["active"], good["username"]) == (True, "tester")
    assert "active" not in requests.post(url, json={"token": "no"}, timeout=5).json()


def test_private_kernels_are_seen_by_their_owner_alone(context):
    context.save("mine-alone", "1")
    context.finish("mine-alone")
    url = f"{context.kaggle.url}/api/v1/kernels.KernelsApiService/GetKernel"
    body = {"userName": "tester", "kernelSlug": "mine-alone"}
    other = ("other", context.kaggle.key("other"))
    assert requests.post(url, json=body, auth=other, timeout=5).status_code == 403
    context.save("mine-alone", "1", isPrivate=False)
    context.finish("mine-alone", 2)
    assert requests.post(url, json=body, auth=other, timeout=5).status_code == 200
