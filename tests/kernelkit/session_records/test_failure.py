"""What ended a run: the failing cell and its traceback, from a session's log."""

import json

import pytest

from kernelkit.notebook import scripts
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


def test_a_traceback_within_a_message_is_told_line_by_line():
    message = (
        "GatewayRuntimeError: (<5>, 'Traceback (most recent call last):\\n  in run\\nOSError: a')"
    )
    outer = 'Traceback (most recent call last):\n  File "a.py", line 1'
    failure = RunFailure.of_log(as_log(f"{outer}\n{message}\n"))
    assert failure.traceback.startswith(outer)
    assert failure.traceback.endswith("last):\n  in run\nOSError: a')")


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
    script = f"import bundled\n\n{scripts.BEGINS}\nimport this\nwither()\n"
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
    injected = f"{scripts.STOPS}\n# Parameters\nrate = 2\n{scripts.GOES_ON}"
    script = f"bundled\n{scripts.BEGINS}\nrate = 1\n{injected}\nwither(rate)\n"
    places = [f'  File "/kaggle/src/script.py", line {line}' for line in (3, 6, 8)]
    log = as_log("\n".join(["Traceback (most recent call last):", *places, "ValueError: withered"]))
    assert RunFailure.of_log(log, script).traceback.splitlines()[1:4] == [
        f"{places[0]} (line 1 below the bundled files)",
        places[1],
        f"{places[2]} (line 2 below the bundled files)",
    ]


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
