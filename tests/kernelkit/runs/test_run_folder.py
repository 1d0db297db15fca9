"""What a run left is read as it is, and it had the machine that it should have."""

import json
from pathlib import Path

import pytest

from kernelkit import errors, project
from kernelkit.runs import kit_folder, run_folder


def metrics(kind, **device):
    return {"macro_f1": 0.5, "device": {"kind": kind, **device}}


def test_only_the_machine_asked_for_passes_and_a_stand_in_in_a_rehearsal_alone():
    stand_in = metrics("tpu", rehearsal=True)
    run_folder.check_accelerator(metrics("tpu"), "tpu", rehearsal=False)
    run_folder.check_accelerator(stand_in, "tpu", rehearsal=True)
    for values in (metrics("cpu"), stand_in):
        with pytest.raises(errors.AcceleratorMismatchError, match="should have had a TPU"):
            run_folder.check_accelerator(values, "tpu", rehearsal=False)


@pytest.mark.parametrize("device", [None, {"name": "Xeon"}, {"kind": None}])
def test_a_run_that_names_no_kind_is_not_judged(device):
    assert not run_folder.names_device({"device": device})
    run_folder.check_accelerator({"device": device}, "tpu", rehearsal=False)


@pytest.mark.parametrize("text", ["[1]", "{", "[" * 100_000])
def test_metrics_that_cannot_be_read_are_none(tmp_path, text):
    assert run_folder.metrics(tmp_path) is None
    (tmp_path / "metrics.json").write_text(text)
    assert run_folder.metrics(tmp_path) is None


def test_the_summary_names_measures_and_device():
    values = metrics("tpu", name="TPU v5e", replicas=8, rehearsal=True) | {"seconds": 61.2}
    message = run_folder.summary(values, project.shown(Path()))
    assert message == "macro F1 0.5000, 61 s, on TPU v5e × 8 (rehearsal)"
    assert run_folder.summary({}, project.shown(Path())) == ""


def test_the_log_is_kept_without_control_sequences(tmp_path):
    log = json.dumps([{"data": "\x1b]0;title\x07\x1b[31mred\x1b[0m\x9b5n\n"}], ensure_ascii=False)
    run_folder.keep(tmp_path, log, "")
    assert kit_folder.path(tmp_path, kit_folder.LOG_TEXT).read_text() == "red\n"
    kept = kit_folder.path(tmp_path, kit_folder.LOG).read_text()
    assert all(c == "\n" or " " <= c < "\x7f" for c in kept)
    assert json.loads(kept) == json.loads(log)


def test_numbers_that_are_none_are_not_shown(tmp_path):
    huge = f'"rate": 1e400, "digits": {"9" * 5000}'
    (tmp_path / run_folder.METRICS).write_text(
        f'{{"f1": NaN, "loss": -Infinity, {huge}, "epochs": 3, "ok": 0.5}}'
    )
    values = run_folder.metrics(tmp_path)
    assert run_folder.numbers(values) == {"epochs": 3, "ok": 0.5}
    assert "epochs 3" in run_folder.summary(values, project.Shown())


def test_a_name_that_no_page_shows_has_its_escapes(tmp_path):
    odd = {"a\x00b": 1, "c\x1b[31md": 2, "e\u2028f\u202e": {"g\ud800": 3}}
    (tmp_path / "metrics.json").write_text(json.dumps(odd))
    assert run_folder.metrics(tmp_path) == {
        r"a\x00b": 1,
        r"c\x1b[31md": 2,
        r"e\u2028f\u202e": {r"g\ud800": 3},
    }
