"""The log is read once, live or not, and the failure is found in it."""

import json
import threading
import time
import tracemalloc

import pytest

from kernelkit.kaggle_api.client import Kaggle
from kernelkit.kaggle_api.connection import open_connection
from kernelkit.pushes import live_log
from kernelkit.run_folders import log as logs
from kernelkit.workspace.ledger import Push
from local_kaggle.faults.schedule import Fault, FaultKind, FaultSchedule
from local_kaggle.server import LocalKaggle

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
    found = logs.failure(log, json.dumps({"cells": cells}))
    assert found.cell == "cell In [2] failed:"
    assert found.source == "wither()"
    assert found.traceback.startswith("ValueError")
    assert found.traceback.endswith("ValueError: withered")


@pytest.mark.parametrize("whole", [True, False])
def test_papermills_own_end_is_left_out_of_the_live_log(whole):
    told = []
    tell = live_log.WithoutReport(told.append)
    caught = ["Traceback (most recent call last):\n", '  File "a.py", line 1\n', "OSError: mine\n"]
    after = ["going on\n"]
    pieces = [REPORT] if whole else REPORT.splitlines(keepends=True)
    for text in [*caught, *after, *pieces]:
        tell(logs.Entry(0.5, "stderr", text))
    tell(logs.Entry(0.5, "stdout", "done\n"))
    tell.flush()
    assert [entry.text for entry in told] == [*caught, *after, "done\n"]


def test_lines_of_a_traceback_that_never_ends_are_told_at_the_end():
    told = []
    tell = live_log.WithoutReport(told.append)
    tell(logs.Entry(0.5, "stderr", "Traceback (most recent call last):\n  File\n"))
    assert not told
    tell.flush()
    assert len(told) == 2


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
    found = logs.failure(as_log("Traceback (most recent call last):\n" + lines))
    assert "\x1b" not in found.traceback
    assert len(found.traceback.splitlines()) == 41


@pytest.mark.parametrize("log", ["", "[]", "null", "words", "{}"])
def test_a_log_without_a_failure_has_none(log):
    assert logs.failure(log) is None


def test_a_log_that_is_no_json_is_read_by_lines():
    assert [e.text for e in logs.decode("one\ntwo")] == ["one\n", "two\n"]


def test_odd_entries_of_a_log_are_read():
    log = '[{"data": null}, {"time": "x", "data": "a"}, 3, {"stream_name": "stderr"}]'
    assert [e.text for e in logs.decode(log)] == ["", "a", ""]


def test_each_entry_is_told_once_though_the_stream_breaks(
    repository, notebook_code, tmp_path, timing, quick_sessions
):
    source = (
        "import time\nfor n in range(12):\n    print('line', n, flush=True)\n    time.sleep(.15)"
    )
    repository.cells(notebook_code(source))
    repository.describe(enable_tpu=False, machine_shape=None)
    faults = FaultSchedule([Fault("LogStream", n, FaultKind.DROPPED_STREAM) for n in (1, 2, 3)])
    with LocalKaggle(tmp_path / "kaggle", faults=faults) as server, server.attach():
        repository.push()
    assert len(faults.fired) >= 2
    told = [line for line in repository.message.splitlines() if "  | line" in line]
    assert [line.split()[-1] for line in told] == [str(n) for n in range(12)]


def test_a_live_log_can_be_left_at_any_time(tmp_path, timing):
    with LocalKaggle(tmp_path / "kaggle") as server, server.attach():
        kaggle = Kaggle(open_connection(timing.timeouts), timing.retries)
        told = []
        push = Push("tester/nothing-there", "", "", "cpu", version=1)
        live = live_log.LiveLog(kaggle, push, told.append)
        live.start()
        time.sleep(0.2)
        live.finish(as_log("late"))
    assert [entry.text for entry in told] == ["late"]
    assert threading.active_count() < 20


def test_notes_of_cpp_libraries_are_left_out_for_readers():
    note = "I0000 00:00:1795233509.512955   21565 port.cc:153] oneDNN custom operations are on.\n"
    error = "E0000 00:00:1795233512.444420   21565 cuda_platform.cc:52] failed call to cuInit\n"
    entries = [
        logs.Entry(0.1, "stderr", note),
        logs.Entry(0.2, "stderr", error),
        logs.Entry(0.3, "stdout", note),
        logs.Entry(0.4, "stdout", "macro F1\n"),
    ]
    assert logs.text(entries) == error + note + "macro F1\n"


class Body:
    """A streamed answer that comes in pieces."""

    def __init__(self, *pieces):
        pieces = iter(pieces)
        self.raw = self
        self.read1 = lambda size, decode_content: next(pieces, b"")


def as_event(text):
    return b"data: " + json.dumps({"data": text}).encode() + b"\n\n"


@pytest.mark.parametrize("size", [1, 7, 1 << 16])
def test_one_long_line_takes_the_time_of_its_length(size):
    body = as_event("x" * 400_000) + as_event("after") + b"data: END_OF_LOG\n\n"
    pieces = [body[n : n + size] for n in range(0, len(body), size)]
    began = time.monotonic()
    first, second, end = live_log._events(Body(*pieces))
    assert time.monotonic() - began < 5  # it was 43 seconds
    assert (len(first.text), second.text, end) == (400_000, "after", None)


def test_a_line_without_an_end_is_not_held(monkeypatch):
    monkeypatch.setattr(live_log, "LONGEST_LINE", 1000)
    pieces = [b"data: {", *[b"x" * 100] * 50, b"}\n", as_event("after")]
    first, second = live_log._events(Body(*pieces))
    assert "too long to be shown live" in first.text
    assert second.text == "after"


def test_a_line_that_is_cut_is_left_for_the_next_connection():
    assert [e.text for e in live_log._events(Body(as_event("one"), b'data: {"data": "tw'))] == [
        "one"
    ]


@pytest.fixture
def live():
    told = []
    live = live_log.LiveLog(None, Push("me/blossom", "", "", "cpu", version=1), told.append)
    live.told = told
    return live


def test_a_long_entry_is_shown_from_both_ends(live):
    live.finish(as_log("a" * 100_000 + "b"))
    (entry,) = live.told
    assert len(entry.text) < 11_000
    assert "90,001 characters are left out here: the log has them" in entry.text


def test_a_log_without_an_end_is_shown_to_a_point_and_that_is_said(live, monkeypatch):
    monkeypatch.setattr(live_log, "LONGEST_TOLD", 20_000)
    live.finish(as_log(*(f"{n:>9}\n" for n in range(3_000))))
    assert len(live.told) < 2_100
    assert "the log goes on; its rest is not shown here" in live.told[-1].text
    live.finish(as_log(*["more"] * 4_000))
    assert "the log goes on" in live.told[-1].text


def test_a_long_log_takes_little_memory():
    entry = json.dumps({"stream_name": "stdout", "time": 1.5, "data": "loss 0.123456789\n"})
    log = "[" + "\n,".join([entry] * 30_000) + "]"
    tracemalloc.start()
    try:
        written = logs.text(logs.decode(log))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(written) == 17 * 30_000
    assert peak < 3 * len(log)


def test_of_a_long_log_people_read_the_ends(monkeypatch):
    monkeypatch.setattr(logs, "LONGEST", 1000)
    written = logs.text(logs.decode(as_log(*(f"line {n}\n" for n in range(5000)))))
    assert written.startswith("line 0\n")
    assert written.endswith("line 4999\n")
    assert "the log as Kaggle keeps it has them" in written
    assert len(written) < 1200


def test_an_array_that_is_cut_is_read_as_far_as_it_goes():
    cut = as_log("one", "two")[:-30]
    assert next(logs.decode(cut)).text == "one"
