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


def test_a_terminal_is_drawn_as_it_is_at_the_end_without_the_middle_of_a_long_recording(picturing):
    lines = ["\x1b[32mgreen\x1b[0m", *(f"line-{n}-" for n in range(100))]
    recorded = command(*lines, f"│ report    {report_address()}", f"in {Path.cwd()}/runs")
    made = picturing.draw(recorded, "make run", Path("sweep.html"), Path("docs"))

    drawn = made[0].read_text()
    assert all(text in drawn for text in ("green", "$", "line-3-", "⋮", "line-98-", "runs"))
    assert "file:///home/you/kernelkit/report.html" in drawn
    assert not re.search(f"step|line-50-|@font-face|{Path.cwd()}", drawn)
    assert [path.name for path in made] == ["terminal.svg", "report.png", "sweep.png"]
    assert made[1].read_text() == "a report"
    # What was recorded is drawn again without the command.
    Path("tool.py").unlink()
    assert picturing.draw((), "make run", Path("sweep.html"), Path("docs"))[0].read_text() == drawn


def test_no_picture_is_made_of_what_failed_or_tells_of_this_machine(picturing, monkeypatch):
    def refused(told):
        with pytest.raises(KernelkitError) as error:
            picturing.draw(told, "x", Path("sweep.html"), Path("docs"))
        return str(error.value)

    report = f"report    {report_address()}"
    assert "exit code 3" in refused(command(report, code=3))
    home = Path.home() / "secret"
    assert str(Path.home()) in refused(command(report, f"key in {home}"))
    monkeypatch.setattr("platform.node", lambda: "annas-laptop")
    assert "annas-laptop" in refused(command(report, "on annas-laptop"))
    assert not Path("docs/terminal.svg").exists()
