"""Kaggle's own modules, which no index has, are stood in for, and say what they do."""

import json

import pytest

from local_kaggle.execution import kaggles_modules
from local_kaggle.execution.sandbox import Sandbox

ASK = "from kaggle_secrets import UserSecretsClient; print(UserSecretsClient().get_secret('token'))"


def test_a_secret_comes_from_the_session_and_a_line_says_so(output_of):
    said = output_of(ASK, **{kaggles_modules.SECRETS: json.dumps({"token": "rose"})})
    assert "rose\n" in said
    assert "rehearsal: kaggle_secrets is a stand-in for Kaggle's: secrets come from" in said


def test_a_secret_that_is_not_there_says_where_to_put_it(output_of):
    said = output_of(ASK)
    assert "BackendError: rehearsal: no secret 'token': set KAGGLE_SECRET_token" in said


def test_a_name_that_a_stand_in_lacks_is_told(output_of):
    assert "kaggle_gcp.BigQuery works on Kaggle only" in output_of(
        "from kaggle_gcp import BigQuery"
    )
    words = "import kaggle_datasets as k; print(k.KaggleDatasets().get_gcs_path('roses'))"
    assert "/in/roses\n" in output_of(words, KERNELKIT_INPUT_ROOT="/in")


def test_only_secrets_that_are_meant_for_it_reach_a_session(python, tmp_path, monkeypatch):
    monkeypatch.setenv("KAGGLE_SECRET_ONE", "1")
    monkeypatch.setenv("ANOTHER_TOKEN", "2")
    file = python.parent.parent.parent / kaggles_modules.FILE
    file.write_text('{"TWO": "2", "ONE": "0"}')
    box = Sandbox(tmp_path, python.parent.parent)
    variables = box.environment()
    box.discard()
    file.unlink()
    assert json.loads(variables[kaggles_modules.SECRETS]) == {"TWO": "2", "ONE": "1"}
    assert "ANOTHER_TOKEN" not in variables


@pytest.mark.parametrize("text", ["[1]", '{"a": 1}', "no"])
def test_a_file_of_secrets_that_is_none_is_refused(tmp_path, text):
    (tmp_path / kaggles_modules.FILE).write_text(text)
    with pytest.raises(ValueError):
        kaggles_modules.secrets_outside(tmp_path)
