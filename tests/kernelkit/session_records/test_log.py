"""A finished session's log: its entries, its text, and the failure in it."""

import json
import tracemalloc

import pytest

from kernelkit.notebook.document import SCRIPT_BEGINS, SCRIPT_GOES_ON, SCRIPT_STOPS
from kernelkit.runs import kit_folder
from kernelkit.session_records import log as logs
from kernelkit.session_records.failure import RunFailure

REPORT = """\
Traceback (most recent call last):
  File "<frozen runpy>", line 198, in _run_module_as_main
papermill.exceptions.PapermillExecutionError:
---------------------------------------------------------------------------
Exception encountered at "In [3]":
---------------------------------------------------------------------------
ValueError                                Traceback (most recent call last)
Cell In[3], line 1
----> 1 wither()

ValueError: withered
"""


def as_log(*texts):
    return json.dumps([{"stream_name": "stderr", "time": 0.5, "data": text} for text in texts])


def test_the_reason_of_an_unknown_magic_is_what_stands_before_the_report():
    log = as_log(
        "UsageError: Line magic function `%frobnicate` not found.\n",
        *REPORT.partition("----")[0].splitlines(keepends=True),
        "-" * 75 + "\n",
        'Exception encountered at "In [3]":\n',
    )
    failure = RunFailure.of_log(log)
    assert failure.traceback == "UsageError: Line magic function `%frobnicate` not found."


def test_the_failing_cell_and_its_traceback_are_found():
    cells = [
        {"cell_type": "markdown", "source": "# Words"},
        {"cell_type": "code", "id": "bundle-000", "source": "import that"},  # added by the push
        {"cell_type": "code", "source": "import this"},
        {"cell_type": "code", "source": "wither()\n"},
    ]
    after = "[NbConvertApp] Converting notebook\nTraceback (most recent call last):\n  more\n"
    log = as_log("working\n", *REPORT.splitlines(keepends=True), after)
    failure = RunFailure.of_log(log, json.dumps({"cells": cells}))
    assert (failure.what, failure.source) == ("code cell 2 failed:", "wither()")
    assert failure.traceback.startswith("ValueError")
    assert failure.traceback.endswith("ValueError: withered")
    assert RunFailure.of_log(log).what == "cell In [3] failed:"


def test_a_failure_outside_any_cell_is_its_last_traceback():
    log = as_log(
        "Traceback (most recent call last):\n  a\nOSError: first\n",
        "\nTraceback (most ",
        "recent call last):\n  b\nMemoryError: last\n",
    )
    assert RunFailure.of_log(log).traceback.endswith("MemoryError: last")


def test_what_was_printed_before_it_and_read_late_is_no_part_of_a_failure():
    entries = [
        ("stderr", "Traceback (most recent call last):\n"),
        ("stdout", "epoch 1\n"),
        ("stderr", "  b\nMemoryError: last\n"),
        ("stdout", "epoch 2\n"),
    ]
    log = json.dumps([{"stream_name": name, "data": text} for name, text in entries])
    traceback = "Traceback (most recent call last):\n  b\nMemoryError: last"
    assert RunFailure.of_log(log).traceback == traceback


OF_PROCESS = "subprocess.CalledProcessError: Command '['pip']' returned non-zero exit status 1.\n"


@pytest.mark.parametrize(
    "failing",
    [
        REPORT.replace("ValueError: withered", OF_PROCESS.removeprefix("subprocess.")),
        f"Traceback (most recent call last):\n  a\n{OF_PROCESS}",
    ],
)
def test_of_a_process_that_failed_the_last_line_is_told(failing):
    failure = RunFailure.of_log(as_log("ERROR: no roses\n", "\n", failing))
    assert failure.last_error == "ERROR: no roses"
    assert str(failure).endswith("The last line of stderr before it: ERROR: no roses")
    assert RunFailure.of_log(as_log(failing)).last_error == ""


def test_of_another_exception_no_line_before_it_is_told():
    assert RunFailure.of_log(as_log("a warning\n", REPORT)).last_error == ""
    handled = f"{OF_PROCESS}ValueError: withered\n"
    log = as_log("words\n", f"Traceback (most recent call last):\n{handled}")
    assert RunFailure.of_log(log).last_error == ""


def test_a_line_of_a_script_is_also_told_as_its_author_counts():
    script = f"import bundled\n\n{SCRIPT_BEGINS}\nimport this\nwither()\n"
    places = [f'  File "/kaggle/src/script.py", line {line}, in <module>' for line in (1, 5)]
    places.append('  File "/kaggle/lib/that.py", line 5, in wither')
    log = as_log("\n".join(["Traceback (most recent call last):", *places, "ValueError: withered"]))
    lines = RunFailure.of_log(log, script).traceback.splitlines()
    assert lines[1:4] == [
        places[0],
        '  File "/kaggle/src/script.py", line 5 (line 2 below the bundled files), in <module>',
        places[2],
    ]
    assert RunFailure.of_log(log, "print()").traceback.splitlines()[2] == places[1]


def test_parameters_within_a_script_do_not_count_as_lines_of_it():
    injected = f"{SCRIPT_STOPS}\n# Parameters\nrate = 2\n{SCRIPT_GOES_ON}"
    script = f"bundled\n{SCRIPT_BEGINS}\nrate = 1\n{injected}\nwither(rate)\n"
    places = [f'  File "/kaggle/src/script.py", line {line}' for line in (3, 6, 8)]
    log = as_log("\n".join(["Traceback (most recent call last):", *places, "ValueError: withered"]))
    assert RunFailure.of_log(log, script).traceback.splitlines()[1:4] == [
        f"{places[0]} (line 1 below the bundled files)",
        places[1],
        f"{places[2]} (line 2 below the bundled files)",
    ]


def test_that_a_kernel_was_stopped_after_its_last_cell_is_no_trouble():
    stopped = "[IPKernelApp] ERROR | KeyboardInterrupt caught in kernel.\n"
    log = as_log(stopped, "[IPKernelApp] ERROR | Exception in message handler:\n")
    assert [entry.chatter for entry in logs.decode(log)] == [True, False]
    assert "Keyboard" not in logs.text(logs.decode(log))


def test_a_failure_that_was_written_to_stdout_is_found():
    report = json.dumps([{"stream_name": "stdout", "data": REPORT}])
    assert RunFailure.of_log(report).what == "cell In [3] failed:"


def test_colours_are_taken_out_and_long_tracebacks_cut():
    lines = "".join(f"\x1b[0;31mline {n}\x1b[0m\n" for n in range(500))
    failure = RunFailure.of_log(as_log("Traceback (most recent call last):\n" + lines))
    assert "\x1b" not in failure.traceback
    assert len(failure.traceback.splitlines()) == 41


@pytest.mark.parametrize("log", ["", "words"])
def test_a_log_without_a_failure_has_none(log):
    assert RunFailure.of_log(log) is None


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
