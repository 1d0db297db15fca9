"""Requests whose JSON has another type than the method takes: told in a line, never a failure."""

import json

import pytest
import requests
from starlette.exceptions import HTTPException

from local_kaggle.wire import METHODS, decode

WRONG = [[[1]], "\ud800", "a\0b", 10**30, 1.5, {"a": 1}]
NAMES = {
    "ownerSlug": "tester",
    "userName": "tester",
    "datasetSlug": "a-garden",
    "kernelSlug": "work",
    "competitionName": "garden",
}


@pytest.fixture(scope="module")
def session(context):
    for name in ("datasets/tester/a-garden", "competitions/garden", "kernels/tester/work"):
        (context.kaggle.catalogue / name).mkdir(parents=True)
    with requests.Session() as session:
        session.auth = context.auth()
        yield session


@pytest.mark.parametrize("body", ["[]", "[1]", '"text"', "1", "true", "{"])
def test_a_body_that_is_no_object_is_refused_in_a_line(context, session, body):
    answer = session.post(context.url("GetKernel"), data=body, timeout=60)
    assert answer.status_code == 400
    assert "Malformed request" in answer.json()["message"]
    assert "\n" not in answer.json()["message"]


@pytest.mark.parametrize("name", METHODS)
def test_no_value_of_a_field_makes_it_fail(context, session, name):
    fields = METHODS[name].request._fields
    usual = {f.json_name: NAMES[f.json_name] for f in fields if f.json_name in NAMES}
    for field in fields:
        for value in WRONG:
            body = json.dumps(usual | {field.json_name: value})
            try:
                decode(METHODS[name].request, body.encode())
            except HTTPException as error:
                assert error.status_code == 400
                continue
            is_list = field.default_value == []
            assert isinstance(value, list) == is_list or type(value) is field.field_type
            url = f"{context.kaggle.url}/api/v1/{name}"
            answer = session.post(url, data=body, allow_redirects=False, timeout=60)
            assert answer.status_code < 500, (field.json_name, value)


@pytest.mark.parametrize("token", ["abcd", "-1", "1.5", "9" * 30, "9" * 5000])
@pytest.mark.parametrize("method", ["ListDatasetFiles", "ListKernels", "ListTreeDatasetFiles"])
def test_a_token_that_is_no_offset_is_refused_in_a_line(context, session, method, token):
    (context.kaggle.catalogue / "datasets/tester/a-garden/soil.csv").touch()
    body = NAMES | {"pageToken": token}
    answer = session.post(context.url(method), json=body, timeout=60)
    assert answer.status_code == 400
    assert len(answer.json()["message"]) < 200
    assert "Invalid page token" in answer.json()["message"]
