"""A plan's request, and metadata that nobody's program wrote."""

import pytest

from kernelkit import errors
from kernelkit.push.bundle import metadata
from kernelkit.push.plan import plan_push
from kernelkit.push.request import PushRequest


@pytest.mark.parametrize(("minutes", "seconds"), [(0.001, 1), (0.5, 30), (None, None)])
def test_a_short_timeout_is_no_missing_one(repository, minutes, seconds):
    made = repository.plan(timeout=minutes)
    assert made.save_fields.get("session_timeout_seconds") == seconds


@pytest.mark.parametrize("name", ["notes.txt", "data.csv", "notebook"])
def test_a_file_that_is_no_notebook_is_told_apart(repository, name):
    (repository.root / name).touch()
    with pytest.raises(errors.NotebookError, match=rf"{name} is not a notebook: give a \.py"):
        plan_push(PushRequest.of(repository.root / name))


@pytest.mark.parametrize("text", ["[" * 5000, "\ud800"])
def test_metadata_that_is_no_json_object_is_refused_in_a_line(tmp_path, text):
    file = tmp_path / "kernel-metadata.json"
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(errors.PreflightError, match=r"kernel-metadata\.json"):
        metadata.load(file)
