"""What goes on is one line: it moves in a terminal, and comes once a minute elsewhere."""

import io

import pytest

from kernelkit.terminal import live_line
from kernelkit.terminal.live_line import LiveLine, NotebookOutput, fitted, is_step, note_level


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    class Clock:
        now = 0.0

    monkeypatch.setattr(live_line.time, "monotonic", lambda: Clock.now)
    return Clock


@pytest.mark.parametrize(
    ("line", "step"),
    [
        ("  drawing 193 of 3,324  36 a second  1:26 left", True),
        ("  drawing 3,324 of 3,324  41 a second  0:00 left", False),
        ("  tune 1/2: step 2 of 9", True),
        ("  tune 2/2: step 2 of 9  64 images/s  0:07 left", True),
        ("  tune 1/2  loss 4.812  4 images/s  0:23 left", True),
        ("  tune 2/2  loss 4.045  9 images/s  0:00 left", False),
        (" 45%|####5     | 9/20 [00:01<00:01]", True),
        ("100%|##########| 20/20 [00:02<00:00]", False),
        ("26,728 of 30,000", False),
        ("  3 of the 9 were left out", False),
        ("F1 0.9 after 3 of 4 parts, 0:10 left over", False),
    ],
)
def test_a_step_is_known_by_how_far_it_is(line, step):
    assert is_step(line) is step


def test_notes_of_c_libraries_are_known_by_their_head():
    head = "0000 00:00:1795307956.163175    7820 cuda_platform.cc:52] failed call to cuInit"
    assert all(note_level(level + head) == level for level in "IWE")
    assert not note_level(f"F{head}")  # what ends a process
    assert note_level("WARNING: All log messages before absl::InitializeLog() is called") == "I"
    assert not note_level("WARNING: the photos are damaged")


def test_elsewhere_steps_are_at_least_a_minute_apart(clock):
    stream = io.StringIO()
    line = LiveLine(stream)
    for second in range(200):
        clock.now = float(second)
        line.move(f"at {second} s")
    assert stream.getvalue() == "at 60 s\nat 120 s\nat 180 s\n"


def test_in_a_terminal_what_stays_replaces_what_moves():
    stream = Terminal()
    line = LiveLine(stream)
    line.move("1 of 3")
    line.move("2 of 3")
    line.stay("done")
    line.erase()
    assert stream.getvalue() == "1 of 3\r\x1b[K2 of 3\r\x1b[Kdone\n"


def test_a_line_that_is_too_long_keeps_its_time_left():
    line = "running for 45 s: tune 3/20  loss 0.680  val loss 0.448  841 images/s  0:41 left"
    short = fitted(line, 60)
    assert short == "running for 45 s: tune 3/20  841 images/s  0:41 left"
    assert fitted(line, 100) == line
    parts = "loss 4.692  val loss 4.610  macro F1 0.0071  18 images/s  1:59 left"
    at_100 = fitted(f"[rehearsal]           running for 3 min: fine-tune 1/3  {parts}", 99)
    told = "macro F1 0.0071  18 images/s  1:59 left"  # no number has lost its name
    assert at_100 == f"[rehearsal]           running for 3 min: fine-tune 1/3  {told}"
    assert all(len(fitted(line, width)) <= width for width in range(60))


def test_what_a_notebook_prints_comes_in_whole_lines_and_its_steps_in_one(clock):
    stream = Terminal()
    shown = NotebookOutput(stream)
    for text in (
        "a be",
        "gin\n  reading 1 ",
        "of 3\n  reading 2 of 3\n",
        "read\x1b[2J all\nen",
        "d",
    ):
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
