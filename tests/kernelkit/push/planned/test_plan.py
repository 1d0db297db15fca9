"""A plan's request, and metadata that nobody's program wrote."""

import pytest

from kernelkit import errors
from kernelkit.push.described import metadata
from kernelkit.push.planned.plan import plan_push
from kernelkit.push.planned.request import PushRequest


@pytest.mark.parametrize(("minutes", "seconds"), [(0.001, 1), (0.5, 30), (None, None)])
def test_a_short_timeout_is_no_missing_one(repository, minutes, seconds):
    made = repository.plan(timeout=minutes)
    assert made.save_fields.get("session_timeout_seconds") == seconds


@pytest.mark.parametrize("name", ["notes.txt", "data.csv", "notebook"])
def test_a_file_that_is_no_notebook_is_told_apart(repository, name):
    (repository.root / name).touch()
    with pytest.raises(errors.NotebookError, match=rf"{name} is not a notebook: give a \.py"):
        plan_push(PushRequest.of(repository.root / name))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[" * 5000, "nested too deeply"),
        ("\ud800", "cannot be read as JSON"),
        ('{"id_no": ' + "9" * 5000 + "}", "cannot be read as JSON"),
        ('{"id": "a/b", "title": "b", "id": "a/c"}', "the key 'id' is there twice"),
        ('{"keywords": [{"a": 1, "a": 1}]}', "the key 'a' is there twice"),
        ("[]", "must contain one JSON object"),
    ],
)
def test_metadata_that_is_no_json_object_is_refused_in_a_line(tmp_path, text, words):
    file = tmp_path / "kernel-metadata.json"
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(errors.PreflightError, match=rf"kernel-metadata\.json.*{words}") as raised:
        metadata.load(file)
    assert "\n" not in str(raised.value)


def test_the_metadata_are_read_once_when_a_push_is_requested(repository):
    request = PushRequest.of(metadata=repository.metadata)
    repository.metadata.unlink()
    assert plan_push(request).metadata.slug == "blossom-train"
