"""A finished session's log: its entries, its text, and the failure in it."""

import json
import tracemalloc

import pytest

from kernelkit.run_folders import log as logs

REPORT = """\
Traceback (most recent call last):
  File "<frozen runpy>", line 198, in _run_module_as_main
papermill.exceptions.PapermillExecutionError:
---------------------------------------------------------------------------
Exception encountered at "In [2]":
---------------------------------------------------------------------------
ValueError                                Traceback (most recent call last)
Cell In[2], line 1
----> 1 wither()

ValueError: withered
"""


def as_log(*texts):
    return json.dumps([{"stream_name": "stderr", "time": 0.5, "data": text} for text in texts])


def test_the_failing_cell_and_its_traceback_are_found():
    cells = [
        {"cell_type": "markdown", "source": "# Words"},
        {"cell_type": "code", "source": "import this"},
        {"cell_type": "code", "source": "wither()\n"},
    ]
    log = as_log("working\n", *REPORT.splitlines(keepends=True))
    failure = logs.failure(log, json.dumps({"cells": cells}))
    assert failure.cell == "code cell 2 failed:"
    assert failure.source == "wither()"
    assert failure.traceback.startswith("ValueError")
    assert failure.traceback.endswith("ValueError: withered")


def test_lines_after_papermills_report_are_left_out():
    tail = "[NbConvertApp] Converting notebook\nTraceback (most recent call last):\n  more\n"
    assert "NbConvert" not in logs.failure(as_log(REPORT, tail)).traceback


def test_a_failure_outside_any_cell_is_its_last_traceback():
    log = as_log(
        "Traceback (most recent call last):\n  a\nOSError: first\n",
        "\nTraceback (most ",
        "recent call last):\n  b\nMemoryError: last\n",
    )
    assert logs.failure(log).traceback.endswith("MemoryError: last")


def test_colours_are_taken_out_and_long_tracebacks_cut():
    lines = "".join(f"\x1b[0;31mline {n}\x1b[0m\n" for n in range(500))
    failure = logs.failure(as_log("Traceback (most recent call last):\n" + lines))
    assert "\x1b" not in failure.traceback
    assert len(failure.traceback.splitlines()) == 41


@pytest.mark.parametrize("log", ["", "[]", "null", "words", "{}"])
def test_a_log_without_a_failure_has_none(log):
    assert logs.failure(log) is None


@pytest.mark.parametrize("first", ["one", "12 files", "2026-11-24 09:30 begun", "null"])
def test_a_log_that_is_no_json_is_read_by_lines(first):
    assert [e.text for e in logs.decode(f"{first}\ntwo")] == [f"{first}\n", "two\n"]


def test_odd_entries_of_a_log_are_read():
    log = '[{"data": null}, {"time": "x", "data": "a"}, 3, {"stream_name": "stderr"}]'
    assert [e.text for e in logs.decode(log)] == ["", "a", ""]


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
    log = "[" + "\n,".join([entry] * 30_000) + "]"
    tracemalloc.start()
    try:
        text = logs.text(logs.decode(log))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(text) == 17 * 30_000
    assert peak < 3 * len(log)


def test_of_a_long_log_people_read_the_ends(monkeypatch):
    monkeypatch.setattr(logs, "LONGEST", 1000)
    text = logs.text(logs.decode(as_log(*(f"line {n}\n" for n in range(5000)))))
    assert text.startswith("line 0\n")
    assert text.endswith("line 4999\n")
    assert "see Kaggle's original log" in text
    assert len(text) < 1200


def test_an_array_that_is_cut_is_read_as_far_as_it_goes():
    cut = as_log("one", "two")[:-30]
    assert next(logs.decode(cut)).text == "one"


def test_the_cells_that_a_push_added_do_not_count():
    cells = [
        {"cell_type": "code", "id": "bundle-000", "source": "import that"},
        {"cell_type": "code", "id": "cell-000", "source": "wither()\n"},
    ]
    log = as_log("working\n", *REPORT.splitlines(keepends=True))
    assert logs.failure(log, json.dumps({"cells": cells})).cell == "code cell 1 failed:"
