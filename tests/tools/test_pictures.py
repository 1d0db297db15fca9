"""The pictures of README are of what a command wrote and left, and tell of no machine."""

import importlib
import re
from pathlib import Path

import pytest

from kernelkit.errors import KernelkitError


@pytest.fixture
def picturing(tool, monkeypatch, tmp_path):
    """`picturing.readme`, in a folder with a command, and a browser that copies nothing."""

    monkeypatch.chdir(tmp_path)
    readme = importlib.import_module("picturing.readme")

    def picture(page, path, width, height):
        path.write_bytes(page.read_bytes())
        return path

    monkeypatch.setattr(readme.page, "picture", picture)
    Path("sweep.html").write_text("a sweep")
    Path("report.html").write_text("a report")
    return readme


def command(*lines, code=0):
    """A command that writes these lines, the first of which moves."""
    Path("tool.py").write_text(
        "import os, sys\n"
        "assert sys.stdout.isatty() and os.get_terminal_size().columns == 100\n"
        "sys.stdout.write('step 1 of 2\\r\\x1b[K')\n"
        + "".join(f"print({line!r})\n" for line in lines)
        + f"sys.exit({code})\n"
    )
    return ["tool.py"]


def report_address():
    """The report as a command prints it."""
    return Path("report.html").resolve().as_uri()


def test_a_report_and_a_sweep_are_drawn_of_what_a_command_left(picturing):
    recorded = command("line", f"│ report    {report_address()}")
    made = picturing.draw(recorded, Path("sweep.html"), Path("docs"))
    assert [path.name for path in made] == ["report.png", "sweep.png"]
    assert made[0].read_text() == "a report"


def test_a_terminal_is_drawn_as_it_is_at_the_end_without_the_middle_of_a_long_recording(picturing):
    lines = ["\x1b[32mgreen\x1b[0m", *(f"line-{n}-" for n in range(100))]
    recording = picturing.terminal.record(command(*lines))
    screen = picturing.terminal.screen(recording)
    drawn = picturing.terminal.as_svg(screen, "make run", Path("terminal.svg")).read_text()
    assert all(text in drawn for text in ("green", "$", "line-3-", "⋮", "line-98-"))
    assert not re.search("step|line-50-|@font-face", drawn)


def test_no_picture_is_made_of_what_failed_or_tells_of_this_machine(picturing, monkeypatch):
    with pytest.raises(KernelkitError, match="exit code 3"):
        picturing.draw(command("line", code=3), Path("sweep.html"), Path("docs"))
    with pytest.raises(KernelkitError, match="left no report"):
        picturing.draw(command("line"), Path("sweep.html"), Path("docs"))
    with pytest.raises(KernelkitError, match=str(Path.home())):
        picturing.check_private(f"key in {Path.home() / 'secret'}")
    monkeypatch.setattr("platform.node", lambda: "annas-laptop")
    with pytest.raises(KernelkitError, match="annas-laptop"):
        picturing.check_private("on annas-laptop")


def test_the_notebook_of_the_animation_is_corrected_where_check_says(picturing, monkeypatch):
    animation = importlib.import_module("picturing.animation")
    animation._write_repository(Path("bikes"))
    monkeypatch.chdir("bikes")
    before = Path("bikes.ipynb").read_text()
    assert "TPUClusterResolver" in before and "/kaggle/input/bike-rental/" in before
    animation._correct(Path("bikes.ipynb"))
    after = Path("bikes.ipynb").read_text()
    assert "TPUClusterResolver" not in after and "/kaggle/input/bike-rental/" not in after
    assert "KERAS_BACKEND" in after and "datasets/you/bike-rentals/hours.csv" in after
