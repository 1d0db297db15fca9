"""Events read well on a terminal, in a CI log, and by a program; secrets in none of them."""

import io
import itertools
import json
import os
import subprocess
import sys
import threading

import pytest

from kernelkit.terminal.events import (
    LOG,
    METRICS,
    NEXT,
    PROGRESS,
    REPORT,
    WARNING,
    Event,
    Events,
    with_step,
)
from kernelkit.terminal.live_line import LiveLine, fitted, working
from kernelkit.terminal.notebook_output import NotebookOutput

STATE = Event("state")
FAILURE = Event("failure", quiet=True)
SCORE = Event("score", quiet=True, boxed=True)


@pytest.fixture(autouse=True)
def no_colours(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")


class Terminal(io.StringIO):
    def isatty(self):
        return True


def written(*told, stream=None, secrets=(), **options):
    """What a command writes that tells these events, each a name and a text, and then ends."""
    stream = stream or io.StringIO()
    events = Events(stream, **options)
    events.keep_secret(secrets)
    for event in told:
        events(*event)
    events.end()
    return stream.getvalue()


STEPS = [f"  tune {n}/20  loss 0.{n:03}  841 images/s  0:{20 - n:02} left" for n in range(1, 21)]
NOTE = "E0000 00:00:1795307956.163175    7820 cuda_platform.cc:52] failed call to cuInit"


def test_a_ci_log_gets_lines_and_moving_ones_half_a_minute_apart(monkeypatch):
    now = 0.0
    monkeypatch.setattr("kernelkit.terminal.live_line.time.monotonic", lambda: now)
    stream = io.StringIO()
    events = Events(stream)
    for second in range(130):
        now = float(second)
        events(PROGRESS, f"running for {second} s")
        events(LOG, STEPS[min(second // 6, 18)])
    events(LOG, STEPS[19])
    events(LOG, NOTE)
    events(LOG, "the end")
    events(STATE, "complete", state="complete")
    assert stream.getvalue().splitlines() == [
        f"          running for 30 s: {STEPS[4].strip()}",
        f"          running for 60 s: {STEPS[9].strip()}",
        f"          running for 90 s: {STEPS[14].strip()}",
        f"          running for 120 s: {STEPS[18].strip()}",
        f"  | {STEPS[-1]}",
        "  | the end",
        "state     complete",
    ]


def test_a_terminal_shows_the_time_and_the_step_in_the_line_that_moves():
    times = [(PROGRESS, f"running for {second} s") for second in (1, 2)]
    text = written(times[0], (LOG, STEPS[0]), times[1], stream=Terminal())
    *_, first, second, rest = text.split("\r\x1b[K")
    assert (first, rest) == (f"          running for 1 s: {STEPS[0].strip()}"[: len(first)], "")
    assert second.startswith("          running for 2 s: tune 1/20")
    assert second.endswith("841 images/s  0:19 left")


def test_json_is_one_object_a_line_with_steps_and_notes_too():
    logged = [(LOG, line) for line in (*STEPS, NOTE)]
    text = written((STATE, "run\nning"), *logged, as_json=True, rehearsal=True)
    first, *others = map(json.loads, text.splitlines())
    assert first == {"event": "state", "rehearsal": True, "text": "run\nning"}
    assert [event["text"] for event in others] == [*STEPS, NOTE]


@pytest.mark.parametrize("as_json", [True, False])
def test_secrets_are_replaced_wherever_they_stand(monkeypatch, as_json):
    stream = io.StringIO()
    monkeypatch.setenv("KAGGLE_API_TOKEN", "sentinel-0123")
    events = Events(stream, as_json=as_json)
    events.keep_secret(["another-secret", "short"])
    events(LOG, "the key is sentinel-0123, short", deep={"list": ["another-secret"]})
    assert "sentinel" not in stream.getvalue()
    assert "another-secret" not in stream.getvalue()
    assert "short" in stream.getvalue()


ESCAPES = "\x1b]0;title\x07\x1b[2J\x9b5n\x1bcwords\x1b[31m in red\nand more\u202e"


@pytest.mark.parametrize("as_json", [True, False])
@pytest.mark.parametrize("event", [LOG, FAILURE, PROGRESS])
def test_no_control_sequence_reaches_the_terminal(as_json, event):
    stream = Terminal()
    Events(stream, as_json=as_json)(event, ESCAPES, files={ESCAPES: 1})
    written = stream.getvalue()
    assert "words" in written
    assert all(c >= " " or c == "\n" for c in written)
    assert not set(written) & {chr(n) for n in range(0x7F, 0xA0)}
    if as_json:
        assert json.loads(written)["text"] == ESCAPES


def test_a_secret_that_is_coloured_in_two_halves_is_found():
    text = written((LOG, "sentinel\x1b[0m-0123"), secrets=["sentinel-0123"])
    assert "sentinel" not in text


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
@pytest.mark.parametrize("as_json", [True, False])
def test_what_a_stream_cannot_write_is_escaped(encoding, as_json):
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    events = Events(stream, as_json=as_json)
    events(LOG, "Blüte 🌸 and half a one: \ud83c", facts="🌸 \ud83c")
    events(PROGRESS, "花 \ud83c")
    assert b"and half a one: \\ud83c" in stream.buffer.getvalue()


@pytest.mark.parametrize("as_json", [True, False])
def test_a_quiet_report_tells_what_came_of_it_and_what_is_wrong(as_json):
    events = [(e, f"of {e}") for e in (Event("bundle"), STATE, LOG, PROGRESS, WARNING, SCORE)]
    first, second = written(*events, as_json=as_json, quiet=True).splitlines()
    assert "of warning" in first
    assert "of score" in second


def test_a_terminal_boxes_the_result_with_the_next_commands_and_says_that_it_is_a_rehearsal():
    told = [
        (STATE, "complete"),
        (METRICS, "macro F1 0.9"),
        (REPORT, f"runs/a-secret-of-mine/{'x' * 100}.html"),
        (NEXT, "kernelkit push\nkernelkit report runs --index"),
        (WARNING, "out of\n\ntime"),
        (SCORE, "0.9"),
    ]
    options = {"rehearsal": True, "secrets": ["a-secret-of-mine"]}
    assert written(*told, stream=Terminal(), **options) == (
        "[rehearsal] state     complete\n"
        "╭── rehearsal\n"
        "│ metrics   macro F1 0.9\n"
        f"│ report    runs/[secret]/{'x' * 100}.html\n"
        "│ next      kernelkit push\n"
        "│           kernelkit report runs --index\n"
        "╰──\n"
        "[rehearsal] warning   out of\n[rehearsal]\n[rehearsal]           time\n"
        "╭── rehearsal\n"
        "│ score     0.9\n"
        "╰──\n"
    )


def test_only_a_terminal_gets_colours(monkeypatch):
    warning = (WARNING, "out of time")
    assert written(warning, stream=Terminal()) == "warning   out of time\n"
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert written(warning, stream=Terminal()).startswith("\x1b[33mwarning")
    assert written(warning) == "warning   out of time\n"


@pytest.mark.parametrize(
    "write", ["Events()(WARNING, text)", "NotebookOutput(sys.stdout).write(text)"]
)
def test_a_command_goes_on_when_nobody_reads_it_any_more(tmp_path, write):
    code = (
        "import pathlib, sys, time\n"
        "from kernelkit.terminal.events import WARNING, Events\n"
        "from kernelkit.terminal.notebook_output import NotebookOutput\n"
        "text = 'x' * 100_000 + '\\n'\n"
        "for number in range(3):\n"
        f"    {write}\n"
        "    time.sleep(0.2)\n"
        f"pathlib.Path({str(tmp_path / 'end')!r}).touch()"
    )
    reading, writing = os.pipe()
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=writing, stderr=subprocess.PIPE
    ) as process:
        os.close(writing)
        os.read(reading, 10)
        os.close(reading)
        assert process.stderr.read() == b""
    assert process.returncode == 0
    assert (tmp_path / "end").exists()


def test_a_line_that_is_too_long_keeps_its_time_left():
    line = "running for 45 s: tune 3/20  loss 0.680  val loss 0.448  841 images/s  0:41 left"
    assert fitted(line, 61) == "running for 45 s: tune 3/20  l…0.448  841 images/s  0:41 left"
    assert fitted(line, 100) == line
    assert all(len(fitted(line, width)) <= width for width in range(1, 60))


def test_a_narrow_terminal_keeps_the_epoch_and_the_time_left(monkeypatch):
    state = "running for 80 s, 11 h 59 min until its time limit"
    step = "  tune 3/20  loss 0.680  val loss 0.448  macro F1 0.9427  841 images/s  0:41 left"
    shown = {}
    for columns in (150, 120, 80, 60):
        monkeypatch.setenv("COLUMNS", str(columns))
        text = written((PROGRESS, state), (LOG, step), stream=Terminal(), rehearsal=True)
        shown[columns] = text.split("\r\x1b[K")[1]
    assert shown == {
        150: f"[rehearsal] {state}: {step.strip()}",
        120: f"[rehearsal] running for 80 s: {step.strip()}",
        80: "[rehearsal] tune 3/20  loss 0.680  val …acro F1 0.9427  841 images/s  0:41 left",
        60: "[rehearsal] tune 3/20  loss 0…9427  841 images/s  0:41 left",
    }
    assert with_step("running", step) == (f"running: {step.strip()}",) * 2 + (step.strip(),)


def test_one_terminal_has_one_live_line(monkeypatch):
    """A line on stderr, and one of another thread, do not follow what stands there."""
    terminal = Terminal()
    monkeypatch.setattr("sys.stdout", terminal)
    monkeypatch.setattr("sys.stderr", terminal)
    shown = NotebookOutput(terminal)
    warned = NotebookOutput(terminal, steps_on=shown)
    shown.write("  reading 1 of 3\n")
    warned.write("a complaint\n")
    warned.write("  7%|#   | 1/14\n")
    LiveLine(terminal).stay("from a child")
    shown.close()
    warned.close()
    assert terminal.getvalue() == (
        "  reading 1 of 3\r\x1b[Ka complaint\n  7%|#   | 1/14\r\x1b[Kfrom a child\n"
    )


def test_what_takes_long_is_told_at_once_and_leaves_a_piped_output_alone(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr("sys.stdout", terminal)
    with working("loading TensorFlow"):
        assert terminal.getvalue().startswith("loading TensorFlow")
    assert terminal.getvalue().endswith("\r\x1b[K")
    piped = io.StringIO()
    monkeypatch.setattr("sys.stdout", piped)
    monkeypatch.setattr("sys.stderr", Terminal())
    with working("loading TensorFlow"):
        assert sys.stderr.getvalue().startswith("loading TensorFlow")
    assert piped.getvalue() == ""


def test_a_notebooks_live_line_shows_its_time_and_its_step(monkeypatch):
    monkeypatch.setattr("kernelkit.terminal.live_line.TICK_SECONDS", 0.001)
    stream = Terminal()
    shown = NotebookOutput(stream)
    ticks = itertools.count(1)
    ticked = threading.Event()

    def state():
        if next(ticks) == 5:
            ticked.set()
        return "running for 3 s"

    with shown.timed(state):
        shown.write("  reading 1 of 3\n")
        assert ticked.wait(60)
    shown.close()
    assert "\r\x1b[Krunning for 3 s: reading 1 of 3\r\x1b[K" in stream.getvalue()
    assert stream.getvalue().endswith("\r\x1b[K")


def test_what_a_notebook_prints_comes_in_whole_lines_and_its_steps_in_one():
    stream = Terminal()
    shown = NotebookOutput(stream)
    for text in [
        "a be",
        "gin\n  reading 1 ",
        "of 3\n  reading 2 of 3\n",
        "read\x1b[2J all\nen",
        "d",
    ]:
        shown.write(text)
    shown.close()
    assert stream.getvalue() == (
        "a begin\n  reading 1 of 3\r\x1b[K  reading 2 of 3\r\x1b[Kread all\nend\n"
    )


def test_no_color_leaves_out_a_notebooks_colours(monkeypatch):
    for value, shown in (("", "\x1b[31mred\x1b[0m\n"), ("1", "red\n")):
        monkeypatch.setenv("NO_COLOR", value)
        stream = io.StringIO()
        output = NotebookOutput(stream)
        output.write("\x1b[31mred\x1b[0m\n")
        output.close()
        assert stream.getvalue() == shown
