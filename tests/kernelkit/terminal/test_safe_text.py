"""Nothing that a terminal obeys is left in a text; steps and notes are recognised."""

import pytest

from kernelkit.terminal import safe_text

ATTACKS = [
    "\x1b]0;owned\x07",
    "\x1b]8;;https://evil.example\x1b\\link\x1b]8;;\x1b\\",
    "\x1b]52;c;b3duZWQ=\x07",
    "\x1bc",
    "\x1b[?1049h\x1b[?25l",
    "\x1b[2J\x1b[H\x1b[5n\x1b[6n",
    "\x1b[31mred\x1b[8mhidden",
    "\x1bPq$qm\x1b\\",
    "\x1b_apc\x1b\\\x1b^pm\x1b\\\x1bXsos\x1b\\",
    "\x1b(0\x1b#8\x1b=",
    "\x9b31m\x9d0;owned\x9c\x90\x98\x9e\x9f\x85",
    "\x1b]0;never ended",
    "\x1b\x1b[\x1b]\x1b",
    "\x00\x07\x08\x0b\x0c\x0e\x7f",
    "abc\u202etxt.exe\u2066",
    "one\u2028two\u2029three",
    "\u061c\u200e\u200f\u200b\u2060\u2064\ufeff\ufff9\U000e0041",
]
UNSEEN = "\u061c\u200b\u200e\u200f\u2028\u2029\u202e\u2060\u2064\u2066\ufeff\ufff9\U000e0041"


@pytest.mark.parametrize("text", ATTACKS)
def test_no_sequence_is_left(text):
    for message in (safe_text.plain(text), safe_text.one_line(text)):
        shown = message.replace("\n", "")
        assert not [c for c in shown if c < " " or "\x7f" <= c <= "\x9f" or c in UNSEEN]
    assert "owned" not in safe_text.plain(text)


def test_what_people_read_is_left():
    text = "Blüte 🌸\tone\ntwo 花\n\n[0m 100 % ]0;"
    assert safe_text.plain(text) == text
    assert safe_text.plain("\x1b[1;31mred\x1b[0m line\r\n") == "red line\n"


def test_the_line_ends_of_unicode_become_the_usual_one():
    assert safe_text.plain("one\u2028two\u2029three") == "one\ntwo\nthree"
    joined = "👩\u200d💻 and \u0645\u06cc\u200c"
    assert safe_text.plain(joined) == joined


def test_of_a_line_that_is_written_over_the_end_is_left():
    assert safe_text.plain("\r 1%\r 50%\r100%\ndone\r\r\n\rlast\r") == "100%\ndone\nlast"


def test_a_name_stays_on_its_line():
    assert safe_text.one_line("a\nreport  /etc\x1b[m\u2028b\udc80") == (
        r"a\nreport  /etc\x1b[m\u2028b\udc80"
    )


@pytest.mark.parametrize("text", ["\x1b]", "\x9d", "\x1b[", "\r", "\x1b[0", "x\r", "\r\n"])
@pytest.mark.parametrize("end", ["", "x", "\n\r\n"])
def test_long_texts_take_their_length(text, end):
    safe_text.plain(text * 200_000 + end)


def test_colours_stay_where_they_may():
    text = "\x1b[1;31mred\x1b[0m \x1b[38:2::1:2:3m\x1b[2Jcleared\x1b]0;title\x07\x1b[?25l"
    assert safe_text.plain(text, colours=True) == "\x1b[1;31mred\x1b[0m \x1b[38:2::1:2:3mcleared"


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
    assert safe_text.is_step(line) is step


def test_notes_of_c_libraries_are_known_by_their_head():
    head = "0000 00:00:1795307956.163175    7820 cuda_platform.cc:52] failed call to cuInit"
    assert all(safe_text.note_level(level + head) == level for level in "IWE")
    assert not safe_text.note_level(f"F{head}")  # what ends a process
    assert (
        safe_text.note_level("WARNING: All log messages before absl::InitializeLog() is called")
        == "I"
    )
    assert not safe_text.note_level("WARNING: the photos are damaged")


def test_a_long_text_names_what_is_left_out():
    message = safe_text.excerpt("a" * 50 + "x" * 900 + "b" * 50, 100, "the log has them")
    middle = "\n… 900 characters omitted: the log has them …\n"
    assert message == "a" * 50 + middle + "b" * 50
    assert safe_text.excerpt("petals", 6, "there") == "petals"
