"""A run folder belongs to one push, and the run in it had the machine asked for."""

import json
from pathlib import Path

import pytest

from kernelkit import errors, project
from kernelkit.runs import run_folder

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c63f8"
    "cfc0000003010100c9fe92ef0000000049454e44ae426082"
)


def metrics(kind, **device):
    return {"macro_f1": 0.5, "device": {"kind": kind, **device}}


def test_the_machine_asked_for_passes():
    run_folder.check_accelerator(metrics("tpu"), "tpu", rehearsal=False)
    run_folder.check_accelerator(metrics("tpu", rehearsal=True), "tpu", rehearsal=True)


@pytest.mark.parametrize(
    "found",
    [
        metrics("cpu"),
        metrics("gpu"),
        {},
        {"device": "TPU"},
        metrics("tpu", rehearsal=True),
    ],
)
def test_another_machine_does_not(found):
    with pytest.raises(errors.AcceleratorMismatchError, match="was to have a TPU"):
        run_folder.check_accelerator(found, "tpu", rehearsal=False)


def test_a_folder_belongs_to_one_version(tmp_path):
    run_folder.claim(tmp_path / "run", "me/blossom", 3)
    (tmp_path / "run" / "metrics.json").write_text("{}")
    run_folder.claim(tmp_path / "run", "me/blossom", 3)
    with pytest.raises(errors.ParameterError, match="--output"):
        run_folder.claim(tmp_path / "run", "me/blossom", 4)


def test_a_folder_with_other_things_is_not_taken(tmp_path):
    (tmp_path / "thesis.txt").write_text("precious")
    for take in (run_folder.check_free, lambda folder: run_folder.claim(folder, "a/b", 1)):
        with pytest.raises(errors.ParameterError):
            take(tmp_path)
    run_folder.check_free(tmp_path / "new")


@pytest.mark.parametrize("text", ["", "[1]", "{"])
def test_metrics_that_cannot_be_read_are_none(tmp_path, text):
    assert run_folder.metrics(tmp_path) is None
    (tmp_path / "metrics.json").write_text(text)
    assert run_folder.metrics(tmp_path) is None


def test_the_summary_names_measures_and_device():
    found = metrics("tpu", name="TPU v5e", replicas=8, rehearsal=True) | {"seconds": 61.2}
    message = run_folder.summary(found, project.shown(Path()))
    assert message == "macro F1 0.500, 61 s, on TPU v5e (8 replicas, a rehearsal)"
    assert run_folder.summary({}, project.shown(Path())) == ""


def test_the_report_is_put_together_from_what_came_home(tmp_path):
    import nbformat

    (tmp_path / "metrics.json").write_text(json.dumps(metrics("cpu")))
    (tmp_path / "curves.png").write_bytes(PIXEL)
    run_folder.keep_log(tmp_path, '[{"data": "epoch 1\\n"}]')
    pushed = json.dumps({"cells": [
        {"cell_type": "code", "metadata": {"tags": ["bundle"]}, "source": "carried",
         "outputs": [], "execution_count": None},
        {"cell_type": "markdown", "metadata": {}, "source": "# Words"},
    ]})  # fmt: skip
    assembled = run_folder._assembled(tmp_path, "me/blossom version 1", pushed)
    notebook = nbformat.from_dict(assembled)
    nbformat.validate(notebook)
    text = json.dumps(assembled)
    for part in ("me/blossom version 1", "image/png", "epoch 1", "# Words"):
        assert part in text
    assert "carried" not in text
    assert "macro F1" in run_folder.report(tmp_path, "a run", pushed).read_text()


def test_a_broken_report_does_not_cost_the_run(tmp_path):
    (tmp_path / "run.ipynb").write_text('{"cells": 3}')
    path, why = run_folder.report_or_why(tmp_path, "title")
    assert path is None
    assert why
