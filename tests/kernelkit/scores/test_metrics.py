"""What a run wrote about itself is read as it is, and it had the machine that it should have."""

import json
from pathlib import Path

import pytest

from kernelkit import errors, project
from kernelkit.runs import run_folder
from kernelkit.scores.metrics import Metrics


def on(kind, **device):
    return Metrics.of({"macro_f1": 0.5, "device": {"kind": kind, **device}})


def test_only_the_machine_asked_for_passes_and_a_stand_in_in_a_rehearsal_alone():
    stand_in = on("tpu", rehearsal=True)
    on("tpu").check_accelerator("tpu", rehearsal=False)
    stand_in.check_accelerator("tpu", rehearsal=True)
    for values in (on("cpu"), stand_in):
        with pytest.raises(errors.AcceleratorMismatchError, match="should have had a TPU"):
            values.check_accelerator("tpu", rehearsal=False)


@pytest.mark.parametrize("device", [None, {"name": "Xeon"}, {"kind": None}])
def test_a_run_that_names_no_kind_is_not_judged(device):
    Metrics.of({"device": device}).check_accelerator("tpu", rehearsal=False)


@pytest.mark.parametrize("text", ["[1]", "{", "[" * 100_000])
def test_metrics_that_cannot_be_read_are_damaged(tmp_path, text):
    assert Metrics.of_run(tmp_path) == Metrics()
    (tmp_path / "metrics.json").write_text(text)
    assert Metrics.of_run(tmp_path) == Metrics(is_damaged=True)


def test_the_summary_names_measures_and_device():
    device = {"kind": "tpu", "name": "TPU v5e", "replicas": 8, "rehearsal": True}
    written = Metrics.of({"macro_f1": 0.5, "device": device, "seconds": 61.2})
    message = written.summary(project.shown(Path()))
    assert message == "macro F1 0.5000, 61 s, on TPU v5e × 8 (rehearsal)"
    assert Metrics().summary(project.shown(Path())) == ""


def test_numbers_that_are_none_are_not_shown(tmp_path):
    huge = f'"rate": 1e400, "digits": {"9" * 5000}'
    (tmp_path / run_folder.METRICS).write_text(
        f'{{"f1": NaN, "loss": -Infinity, {huge}, "epochs": 3, "ok": 0.5}}'
    )
    written = Metrics.of_run(tmp_path)
    assert written.numbers == {"epochs": 3, "ok": 0.5}
    assert "epochs 3" in written.summary(project.Shown())


def test_a_name_that_no_page_shows_has_its_escapes(tmp_path):
    odd = {"a\x00b": 1, "c\x1b[31md": 2, "e\u2028f\u202e": {"g\ud800": 3}}
    (tmp_path / "metrics.json").write_text(json.dumps(odd))
    assert Metrics.of_run(tmp_path).values == {
        r"a\x00b": 1,
        r"c\x1b[31md": 2,
        r"e\u2028f\u202e": {r"g\ud800": 3},
    }


def test_what_has_another_type_is_missing_and_spoils_nothing_else():
    written = Metrics.of(
        {
            "device": {"kind": "gpu", "replicas": "two", "peak_bytes": [1]},
            "data": "photos",
            "git": {"sha": 7, "dirty": True},
            "warnings": "none",
            "stopped": 3,
            "ended": "yesterday",
            "intervals": {"f1": [0.9, 0.1]},
            "values": 5,
            "f1": True,
            "loss": 0.5,
        }
    )
    assert str(written.device) == "gpu"
    assert (str(written.data), written.git.sha, written.git.dirty) == ("", "", True)
    assert (written.warnings, written.stopped, written.end(7.0)) == ((), "", 7.0)
    assert written.interval("f1") is None
    assert written.numbers == {"stopped": 3, "values": 5, "loss": 0.5}
