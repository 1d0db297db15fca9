"""A finished session's log: its entries and its text."""

import json
import tracemalloc

import pytest

from kernelkit.runs import kit_folder
from kernelkit.session_records import log as logs

from .test_failure import as_log


def test_that_a_kernel_was_stopped_after_its_last_cell_is_no_trouble():
    stopped = "[IPKernelApp] ERROR | KeyboardInterrupt caught in kernel.\n"
    log = as_log(stopped, "[IPKernelApp] ERROR | Exception in message handler:\n")
    assert [entry.chatter for entry in logs.decode(log)] == [True, False]
    assert "Keyboard" not in logs.text(logs.decode(log))


ODD = '[{"data": null}, {"time": "x", "data": "a"}, 3, {"stream_name": "stderr"}]'


@pytest.mark.parametrize(
    ("log", "texts"),
    [
        ("one\ntwo", ["one\n", "two\n"]),
        ("12 files\ntwo", ["12 files\n", "two\n"]),
        ("null\ntwo", ["null\n", "two\n"]),
        (ODD, ["", "a", ""]),
        ('[{"data": "one"}, {"da', ["one", ', {"da\n']),
    ],
)
def test_a_log_is_read_as_far_as_it_is_json_and_then_by_lines(log, texts):
    assert [entry.text for entry in logs.decode(log)] == texts


def test_notes_of_cpp_libraries_are_left_out_for_readers():
    note = "I0000 00:00:1795233509.512955   21565 port.cc:153] oneDNN custom operations are on.\n"
    error = "E0000 00:00:1795233512.444420   21565 cuda_platform.cc:52] failed call to cuInit\n"
    entries = [
        logs.Entry(0.1, "stderr", note),
        logs.Entry(0.1, "stderr", "To enable the following instructions: AVX2 FMA, rebuild.\n"),
        logs.Entry(0.2, "stderr", error),
        logs.Entry(0.3, "stdout", note),
        logs.Entry(0.4, "stdout", "macro F1\n"),
    ]
    assert logs.text(entries) == error + note + "macro F1\n"


def test_a_long_log_takes_little_memory():
    entry = json.dumps({"stream_name": "stdout", "time": 1.5, "data": "loss 0.123456789\n"})
    log = "[" + "\n,".join([entry] * 10_000) + "]"
    tracemalloc.start()
    try:
        text = logs.text(logs.decode(log))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(text) == 17 * 10_000
    assert peak < 3 * len(log)


def test_of_a_long_log_people_read_the_ends(monkeypatch):
    monkeypatch.setattr(logs, "LONGEST", 1000)
    text = logs.text(logs.decode(as_log(*(f"line {n}\n" for n in range(5000)))))
    assert "see Kaggle's original log" in text
    assert len(text) < 1200


def test_the_log_is_kept_without_control_sequences(tmp_path):
    log = json.dumps([{"data": "\x1b]0;title\x07\x1b[31mred\x1b[0m\x9b5n\n"}], ensure_ascii=False)
    logs.keep(tmp_path, log, "")
    assert kit_folder.path(tmp_path, kit_folder.LOG_TEXT).read_text() == "red\n"
    kept = kit_folder.path(tmp_path, kit_folder.LOG).read_text()
    assert all(c == "\n" or " " <= c < "\x7f" for c in kept)
    assert json.loads(kept) == json.loads(log)
