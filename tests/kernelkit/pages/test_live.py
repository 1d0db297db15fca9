"""Pages on disk that follow a command: written again and again, and once more at its end."""

import io
import threading
import webbrowser

import pytest
from click.testing import CliRunner

from kernelkit.cli.console import main
from kernelkit.pages import live
from kernelkit.pages.shared import standalone
from kernelkit.terminal.live_line import LiveLine

PAGE = f"<meta content=\"{standalone.CLOSED} script-src 'x'\">"


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(live, "SHORTEST_PAUSE", 0.01)
    monkeypatch.setattr(live, "PAUSE", 0)


class Written:
    """What writes a page; `three` is set once it was written three times."""

    def __init__(self, error=None):
        self.pauses, self.three, self.error = [], threading.Event(), error

    def __call__(self, again):
        self.pauses.append(again)
        if len(self.pauses) == 3:
            self.three.set()
        if self.error and len(self.pauses) == 1:
            raise self.error


def test_pages_are_written_during_a_block_and_for_the_last_time_at_its_end():
    first, second = Written(), Written()
    with live.kept_up_to_date(first, second):
        assert first.three.wait(10)
        assert second.three.wait(10)
        assert 0.0 not in first.pauses + second.pauses
    assert (first.pauses[-1], second.pauses[-1]) == (0.0, 0.0)
    assert first.pauses.count(0.0) == 1


def test_a_page_is_written_for_the_last_time_although_the_command_fails():
    page = Written()
    with pytest.raises(KeyboardInterrupt), live.kept_up_to_date(page):
        raise KeyboardInterrupt
    assert page.pauses[-1] == 0.0


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(("pages", "begins"), [([Written()], "writing the pages"), ([], "")])
def test_a_terminal_shows_that_pages_are_written_for_the_last_time(pages, begins):
    terminal = Terminal()
    with live.kept_up_to_date(*pages, line=LiveLine(terminal)):
        assert terminal.getvalue() == ""
    assert terminal.getvalue()[:17] == begins


def test_a_page_that_cannot_be_written_now_is_written_the_next_time():
    page = Written(OSError("full"))
    with live.kept_up_to_date(page):
        assert page.three.wait(10)
    assert page.pauses[-1] == 0.0


def test_a_page_that_takes_long_is_written_less_often(monkeypatch):
    monkeypatch.setattr(live, "PAUSE", 10)
    pauses, twice, ends = [], threading.Event(), threading.Event()

    def slow(again):
        pauses.append(again)
        if len(pauses) == 2:
            twice.set()
        ends.wait(0.05)

    with live.kept_up_to_date(slow):
        assert twice.wait(10)
    assert pauses[0] == 0.01
    assert pauses[1] >= 0.5


@pytest.mark.parametrize(("text", "pages"), [(None, 0), (PAGE, 1), ("<p>mine</p>", 0)])
def test_the_page_of_all_runs_follows_only_where_the_kit_has_written_it(tmp_path, text, pages):
    if text:
        (tmp_path / "index.html").write_text(text)
    writers = live.page_of_all_runs(tmp_path)
    assert len(writers) == pages
    for write in writers:
        write(5.0)
        assert '"again": 5.0' in (tmp_path / "index.html").read_text()
        write(0.0)
        assert '"live": {}' in (tmp_path / "index.html").read_text()


@pytest.fixture
def opened(monkeypatch):
    addresses = []
    monkeypatch.setattr(webbrowser, "open", addresses.append)
    return addresses


def test_a_page_opens_only_where_there_is_a_screen(tmp_path, opened, monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(live.sys, "platform", "linux")
    live.show(tmp_path / "index.html")
    assert opened == []
    monkeypatch.setenv("DISPLAY", ":0")
    live.show(tmp_path / "index.html")
    assert opened == [(tmp_path / "index.html").as_uri()]


def test_a_report_is_opened_on_request(tmp_path, opened, monkeypatch):
    monkeypatch.setenv("DISPLAY", ":0")
    (tmp_path / "runs/one").mkdir(parents=True)
    (tmp_path / "runs/one/metrics.json").write_text('{"macro_f1": 0.5}')
    done = CliRunner().invoke(main, ["report", str(tmp_path / "runs"), "--index", "--open"])
    assert done.exit_code == 0, done.output
    assert opened == [(tmp_path / "runs/index.html").as_uri()]
