"""Rates and times left on a clock that the tests move."""

import io

import pytest

from petals.progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def follow(clock, stream, *passes, every=5.0):
    """Each pass: (images, images a step, seconds a step, seconds before the first step)."""
    progress = Progress(every, stream)
    for images, step, seconds, before in passes:
        clock[0] += before
        for done in range(step, images + 1, step):
            clock[0] += seconds
            progress("features", done, images)
    return stream.getvalue().splitlines() if stream else []


@pytest.mark.parametrize("sizes", [(1000, 1000), (100, 100), (200, 1000), (1000, 200)])
def test_a_second_split_is_known_by_its_beginning_whatever_its_size(clock, sizes):
    first, second = sizes
    stream = Terminal()
    follow(clock, stream, (first, 100, 10.0, 0), (second, 100, 20.0, 900))
    lines = stream.getvalue().split("\n", 1)[1].strip().split("\r")
    rates = [line.strip().split("  ")[1:2] for line in lines if line]
    assert rates == ([["5 a second"]] * (second // 100 - 1) or [[]])


def test_work_before_the_clock_began_does_not_count(clock):
    # The first batch holds the compiling of the program: its time is not that of the others.
    lines = follow(clock, io.StringIO(), (400, 100, 10.0, 60))
    assert lines[0] == "  features 200 of 400  10 a second  0:20 left"
    assert lines[-1] == "  features 400 of 400  10 a second  0:00 left"


def test_work_that_ends_before_a_line_is_due_prints_nothing(clock):
    assert follow(clock, io.StringIO(), (100, 50, 1.0, 0), (100, 50, 1.0, 0)) == []


def test_an_open_notebook_gets_one_line_that_covers_the_one_before(clock, monkeypatch, capsys):
    monkeypatch.setenv("JPY_SESSION_NAME", "notebooks/02_train.ipynb")
    progress = Progress()
    for done in (1, 2, 3, 100):
        clock[0] += 50.0
        progress("features of the training photos" if done < 3 else "head", done, 100)
    lines = capsys.readouterr().out.split("\r")[1:]
    assert len(lines) == 2, "a first call sets the clock"
    assert lines[0].startswith("  features of the training photos 2 of 100")
    assert lines[1].startswith("  head 100 of 100") and lines[1].endswith("\n")
    assert len(lines[1].rstrip("\n")) >= len(lines[0])


def test_a_log_is_never_written_over(clock, monkeypatch, capsys):
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    monkeypatch.setenv("KAGGLE_KERNEL_RUN_TYPE", "Batch")
    follow(clock, None, (300, 100, 50.0, 0))
    assert "\r" not in capsys.readouterr().out
