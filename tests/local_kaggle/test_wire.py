"""Requests whose JSON has another type than the method takes: told in a line, never a failure."""

from __future__ import annotations

import pytest
import requests
from starlette.exceptions import HTTPException

from local_kaggle import LocalKaggle
from local_kaggle.wire import METHODS, decode

WRONG = [[[1]], "\ud800", "a\0b", 10**30, 1.5, {"a": 1}]


@pytest.fixture(scope="module")
def ask(tmp_path_factory):
    with LocalKaggle(tmp_path_factory.mktemp("kaggle")) as kaggle:
        for name in ("datasets/tester/a-garden", "competitions/garden", "kernels/tester/work"):
            (kaggle.catalogue / name).mkdir(parents=True)
        session = requests.Session()
        session.auth = ("tester", kaggle.key())

        def ask(method, body):
            url = f"{kaggle.url}/api/v1/{method}"
            return session.post(url, json=body, allow_redirects=False, timeout=20)

        yield ask


def test_a_body_that_is_no_json_is_refused():
    with pytest.raises(HTTPException) as caught:
        decode(METHODS["kernels.kernelsapiservice/getkernel"].request, b"{")
    assert caught.value.status_code == 400


@pytest.mark.parametrize("body", [[], [1], "text", 1, True])
def test_a_body_that_is_no_object_is_refused_in_a_line(ask, body):
    for method in METHODS:
        answer = ask(method, body)
        assert answer.status_code == 400, method
        assert "must be an object" in answer.json()["message"]
        assert "\n" not in answer.json()["message"]


@pytest.mark.parametrize("name", METHODS)
def test_no_value_of_a_field_makes_it_fail(ask, name):
    names = {"ownerSlug": "tester", "userName": "tester", "datasetSlug": "a-garden"}
    names |= {"kernelSlug": "work", "competitionName": "garden"}
    names = {f.json_name: names.get(f.json_name) for f in METHODS[name].request._fields}
    known = {field: value for field, value in names.items() if value}
    for field in METHODS[name].request._fields:
        for value in WRONG:
            answer = ask(name, known | {field.json_name: value})
            assert answer.status_code < 500 or answer.status_code == 501, (field.json_name, value)
            if isinstance(value, list) != (field.default_value == []) and value != []:
                assert answer.status_code == 400 or type(value) is field.field_type
