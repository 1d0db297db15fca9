"""A log is shown as it grows: every entry once, whatever breaks."""

import json
import threading
import time
from unittest.mock import Mock

import pytest

from kernelkit.push.awaited import live_log
from kernelkit.push.known.ledger import Push
from kernelkit.session_records import log as logs
from local_kaggle.faults.schedule import Fault, FaultKind, FaultSchedule

from ...session_records.test_failure import REPORT, as_log


@pytest.mark.parametrize("whole", [True, False])
def test_papermills_own_end_is_left_out_of_the_live_log(whole):
    shown = []
    tell = live_log.WithoutReport(shown.append)
    caught = ["Traceback (most recent call last):\n", '  File "a.py", line 1\n', "OSError: mine\n"]
    after = ["going on\n"]
    pieces = [REPORT] if whole else REPORT.splitlines(keepends=True)
    for text in [*caught, *after, *pieces]:
        tell(logs.Entry(0.5, "stderr", text))
    tell(logs.Entry(0.5, "stdout", "done\n"))
    tell.flush()
    assert [entry.text for entry in shown] == [*caught, *after, "done\n"]

    cut = live_log.WithoutReport(shown.append)
    cut(logs.Entry(0.5, "stderr", "".join(caught[:2])))
    assert shown[-1].text == "done\n"
    cut.flush()
    assert [entry.text for entry in shown[-2:]] == caught[:2]


def test_each_entry_is_told_once_though_the_stream_breaks(repository, serve, quick_sessions):
    repository.sources(
        "import time\nfor n in range(12):\n    print('line', n, flush=True)\n    time.sleep(.1)"
    )
    repository.on_cpu()
    faults = FaultSchedule([Fault("LogStream", n, FaultKind.DROPPED_STREAM) for n in (1, 2, 3)])
    serve().faults = faults
    repository.push()
    assert faults.fired  # more often, unless the run had ended by then
    shown = [line for line in repository.message.splitlines() if "  | line" in line]
    assert [line.split()[-1] for line in shown] == [str(n) for n in range(12)]


def test_a_live_log_can_be_left_at_any_time_and_shows_both_ends_of_a_long_entry(
    busy_kaggle, connect
):
    shown = []
    push = Push("tester/nothing-there", "", "", "cpu", version=1)
    live = live_log.LiveLog(connect().kaggle, push, push.number, shown.append)
    live.start()
    time.sleep(0.2)
    live.finish(as_log("late", "a" * 100_000 + "b"))
    late, long = shown
    assert late.text == "late"
    assert len(long.text) < 11_000
    assert "90,001 characters omitted: the log has them" in long.text
    assert threading.active_count() < 20


class Body:
    """A streamed answer that comes in pieces."""

    def __init__(self, *pieces):
        pieces = iter(pieces)
        self.raw = self
        self.read1 = lambda size, decode_content: next(pieces, b"")


def as_event(text):
    return b"data: " + json.dumps({"data": text}).encode() + b"\n\n"


def test_one_long_line_takes_the_time_of_its_length():
    body = as_event("x" * 400_000) + as_event("after") + b"data: END_OF_LOG\n\n"
    pieces = [body[n : n + 1] for n in range(len(body))]
    began = time.thread_time()
    first, second, end = live_log._events(Body(*pieces))
    assert time.thread_time() - began < 5  # of the processor; it was 43 seconds
    assert (len(first.text), second.text, end) == (400_000, "after", None)


def test_a_line_that_is_cut_or_has_no_end_is_left_for_the_next_connection(monkeypatch):
    cut = [as_event("before"), b'data: {"data": "tw']
    assert [entry.text for entry in live_log._events(Body(*cut))] == ["before"]
    monkeypatch.setattr(live_log, "LONGEST_LINE", 1000)
    endless = [as_event("before"), b"data: {", *[b"x" * 100] * 50, b"}\n", as_event("after")]
    assert [entry.text for entry in live_log._events(Body(*endless))] == ["before"]


def test_a_signal_while_it_starts_leaves_a_log_that_can_be_finished(monkeypatch):
    monkeypatch.setattr(threading.Thread, "start", Mock(side_effect=KeyboardInterrupt))
    shown = []
    live = live_log.LiveLog(Mock(), Push("me/blossom", "", "", ""), "", shown.append)
    with pytest.raises(KeyboardInterrupt):
        live.start()
    live.finish('[{"data": "done\\n"}]')
    assert [entry.text for entry in shown] == ["done\n"]
