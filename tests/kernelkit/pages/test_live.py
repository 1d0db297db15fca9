"""The server of a page that follows a command: whom it admits, what it serves, how it ends."""

import http.client
import queue
import re
import socket
import threading
import webbrowser
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner

from kernelkit.cli.console import main
from kernelkit.pages import live

PAGE = "<meta content=\"default-src 'none'; script-src 'x'\"><h1>{}</h1>"


@pytest.fixture
def folder(tmp_path):
    for name in ("index.html", "run/report.html", "sweep/index.html", "run/metrics.json"):
        (tmp_path / "runs" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "runs" / name).write_text(PAGE.format(name))
    (tmp_path / "secret.html").write_text("secret")
    (tmp_path / "runs/link.html").symlink_to(tmp_path / "secret.html")
    return tmp_path / "runs"


@pytest.fixture
def texts():
    """The page is made of the last of these."""
    return ["first"]


@pytest.fixture
def address(folder, texts, monkeypatch):
    monkeypatch.setattr(live, "PAUSE", 0)
    monkeypatch.setattr(live, "POLL_SECONDS", 0.02)
    monkeypatch.setattr(webbrowser, "open", lambda address: True)
    with live.served(folder / "index.html", lambda over: PAGE.format(texts[-1])) as address:
        yield address


def get(address, place=None, method="GET", **headers):
    """(status, headers, text) of the page, or of another place below it."""
    parts = urlsplit(address)
    path = parts.path if place is None else parts.path.rpartition("/")[0] + "/" + place
    connection = http.client.HTTPConnection(parts.netloc, timeout=10)
    connection.request(method, path, headers={n.replace("_", "-"): v for n, v in headers.items()})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, answer.headers, text


def test_a_page_is_served_as_it_is_now_and_may_ask_its_own_server(address, folder, texts):
    status, headers, text = get(address)
    assert status == 200
    assert text == PAGE.format("first").replace("'none';", "'none'; connect-src 'self';")
    assert headers["Cache-Control"] == "no-store"
    assert headers["Referrer-Policy"] == "no-referrer"

    assert get(address, If_None_Match=headers["ETag"])[::2] == (304, "")
    texts.append("second")
    threading.Event().wait(0.05)
    assert "<h1>second</h1>" in get(address, If_None_Match=headers["ETag"])[2]
    assert (folder / "index.html").read_text() == PAGE.format("index.html")


def test_pages_below_are_served_from_disk_and_only_tables_of_runs_may_ask(address):
    assert get(address, "run/report.html")[::2] == (200, PAGE.format("run/report.html"))
    assert "connect-src 'self'" in get(address, "sweep/index.html?x=1")[2]


def test_nothing_but_pages_below_the_folder_is_served(address):
    for place in (
        "run/metrics.json",
        "missing.html",
        "link.html",
        "../secret.html",
        "%2e%2e/secret.html",
        "run",
        "%00.html",
        "x" * 5000 + ".html",
    ):
        status, _, text = get(address, place)
        assert (status, "secret" in text) == (404, False), place


def test_a_name_that_was_bound_again_to_this_machine_is_refused(address):
    assert get(address, Host="localhost:8000")[0] == 200  # a port that ssh forwards
    for host in ("evil.example:80", "127.0.0.1.evil.example:80", ""):
        assert get(address, Host=host)[0] == 404


def test_nobody_comes_in_without_the_token_and_no_answer_or_line_has_it(address, capfd):
    parts = urlsplit(address)
    token = parts.path.split("/")[1]
    assert len(token) >= 22
    for path in ("/", "/index.html", f"/{token[:-1]}/index.html", f"/{token}x/index.html", "/é/i"):
        with socket.create_connection(("127.0.0.1", parts.port), timeout=10) as connection:
            connection.sendall(f"GET {path} HTTP/1.0\r\nHost: 127.0.0.1:1\r\n\r\n".encode())
            answer = connection.makefile("rb").read()
        assert answer.startswith(b"HTTP/1.0 404")
        assert token.encode() not in answer
    assert get(address, method="POST")[0] == 501
    assert token not in "".join(capfd.readouterr())


def test_it_listens_on_this_machine_alone_and_closes_with_the_block(folder):
    with live.served(folder / "index.html", lambda over: "page") as address:
        server = live.LiveServer(folder / "index.html", lambda over: "page")
        assert server.server_address[0] == "127.0.0.1"
        server.server_close()
    with pytest.raises(ConnectionRefusedError):
        get(address)


def test_who_watches_is_shown_the_end(folder, monkeypatch):
    monkeypatch.setattr(live, "POLL_SECONDS", 0.3)
    with ThreadPoolExecutor() as pool:
        with live.served(folder / "index.html", str) as address:
            assert get(address)[2] == "False"
            before = pool.submit(list, iter(lambda: get(address)[::2], (200, "True")))
        assert {*before.result(timeout=10)} <= {(200, "False")}


def test_making_the_page_takes_a_share_of_the_time_and_a_run_that_vanishes_leaves_it(
    folder, monkeypatch
):
    monkeypatch.setattr(live, "POLL_SECONDS", 0)
    made = []

    def render(over):
        made.append(over)
        if len(made) > 1:
            raise FileNotFoundError("metrics.json")
        threading.Event().wait(0.02)
        return "page"

    server = live.LiveServer(folder / "index.html", render)
    pages = {server.page("index.html") for _ in range(20)}
    assert (pages, made) == ({b"page"}, [False])
    threading.Event().wait(0.5)
    assert (server.page("index.html"), len(made)) == (b"page", 2)
    server.server_close()


@pytest.mark.parametrize("display", ["", ":0"])
def test_a_browser_is_opened_where_there_is_a_display(folder, monkeypatch, display):
    environment = {"DISPLAY": display} if display else {}
    monkeypatch.setattr(live.os, "environ", environment)
    monkeypatch.setattr(live.sys, "platform", "linux")
    opened = queue.SimpleQueue()
    monkeypatch.setattr(webbrowser, "open", opened.put)
    with live.served(folder / "index.html", lambda over: "page") as address:
        assert not display or opened.get(timeout=5) == address
    assert opened.empty()


def test_a_folder_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(live.ParameterError, match="run a notebook first"):
        live.watch(tmp_path / "missing", print)


def interrupted(seconds):
    raise KeyboardInterrupt


@pytest.mark.parametrize("words", [["--quiet"], ["--json"]])
def test_watch_prints_the_address_and_ends_with_ctrl_c(folder, monkeypatch, words):
    monkeypatch.setattr(webbrowser, "open", lambda address: True)
    monkeypatch.setattr(live.time, "sleep", interrupted)
    shown = CliRunner().invoke(main, ["watch", str(folder), *words])
    assert shown.exit_code == 0
    address = r"http://127\.0\.0\.1:\d+/[\w-]{22}/index\.html"
    text = f"live      {address}  Stop with Ctrl-C"
    if "--json" in words:
        text = f'{{"event": "live", "text": "{address}  Stop with Ctrl-C", "address": "{address}"}}'
    assert re.fullmatch(text + "\n", shown.output)
