"""The page of a sweep that goes on: right after each run, after the end, and after a kill."""

import os
import signal
import subprocess
import time

import pytest
from checkouts import ROOT
from conftest import serious_faults
from playwright.sync_api import expect

RUNS = 12
NOTEBOOK = """\
# %% tags=["parameters"]
a = 1  # [1, 12]: what the score follows from
gate = ""  # the folder of files that let runs end
output = ""  # the run's folder

# %%
import json, pathlib, time

folder = pathlib.Path(output)
rows = ["epoch,val_macro_f1"]
for epoch in (1, 2, 3):
    rows.append(f"{epoch},{a / 100 * epoch / 3}")
    (folder / "history.csv").write_text("\\n".join(rows) + "\\n")
while not pathlib.Path(gate, str(a)).exists():
    print("run", a, "trains", flush=True)
    time.sleep(0.1)
facts = {"macro_f1": a / 100, "accuracy": a / 100, "seconds": 1.0, "device": {"kind": "cpu"}}
(folder / "metrics.json").write_text(json.dumps(facts))
"""
SWEEP = "notebook: note.py\nscore: macro_f1\nworkers: 2\nbase: {gate: GATE}\n"
SWEEP += f"grid: {{a: {list(range(1, RUNS + 1))}}}\n"


class Sweep:
    """A sweep of twelve runs, each of which ends when it is let."""

    def __init__(self, folder):
        self.folder, self.gate = folder, folder / "gate"
        self.gate.mkdir()
        (folder / "note.py").write_text(NOTEBOOK)
        (folder / "sweep.yaml").write_text(SWEEP.replace("GATE", str(self.gate)))
        self.processes = []

    @property
    def process(self):
        """The command that was started last."""
        return self.processes[-1]

    def command(self, *words):
        """Start a command of the kit; returns the page of the sweep."""
        environment = {n: v for n, v in os.environ.items() if n not in ("DISPLAY", "BROWSER")}
        self.processes.append(
            subprocess.Popen(
                [ROOT / ".venv/bin/python", "-m", "kernelkit", *words],
                cwd=self.folder,
                env=environment | {"JUPYTER_PATH": str(ROOT / ".venv/share/jupyter")},
                stdout=subprocess.DEVNULL,
                start_new_session=True,
            )
        )
        page = self.folder / "out/index.html"
        until = time.monotonic() + 60
        while not page.is_file() or page.stat().st_mtime < self.began:
            assert time.monotonic() < until, "the command wrote no page"
            time.sleep(0.1)
        return page.as_uri()

    def start(self):
        self.began = time.time()
        return self.command("sweep", "sweep.yaml", "--output", "out")

    def let(self, *runs):
        for run in runs:
            (self.gate / str(run)).touch()

    def end(self, number=signal.SIGTERM):
        """End the command that was started last and wait; returns its exit code."""
        process = self.processes.pop()
        if process.poll() is None and number:
            process.send_signal(number)
        process.communicate(timeout=60)
        return process.returncode


@pytest.fixture
def sweep(tmp_path):
    # Of a shell's background job, SIGINT is ignored, and by its children too.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sweep = Sweep(tmp_path)
    yield sweep
    while sweep.processes:
        sweep.end(signal.SIGKILL)


@pytest.fixture
def open_page(browser):
    """Opens a page on disk; it may ask for nothing but itself, and has no error."""
    contexts, errors = [], []

    def opened(address, **options):
        contexts.append(browser.new_context(**options))
        page = contexts[-1].new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        below = (address.rpartition("/")[0], "data:")
        page.on("request", lambda r: r.url.startswith(below) or errors.append(r.url))
        page.goto(address)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert errors == []


def scores(page):
    """{a: the score in the table} of the runs that have one."""
    shown = "modules['runs/table/table.js'].shown()"
    rows = page.evaluate(f"{shown}.map((row) => [row.parameters.a, row.score])")
    cells = page.locator("#rows td[data-label='macro f1']").all_inner_texts()
    assert sorted(c.split()[-1] for c in cells if c) == sorted(f"{s:.4f}" for _, s in rows if s)
    return {a: score for a, score in rows if score is not None}


def test_the_page_on_disk_follows_the_runs_and_keeps_the_view(sweep, open_page):
    address = sweep.start()
    page, narrow = open_page(address), open_page(address, viewport={"width": 360, "height": 800})
    expect(page.locator("#live-runs pre").first).to_contain_text("trains", timeout=30_000)
    assert serious_faults(page) == []
    for run in (1, 2, 3):
        sweep.let(run)
        for viewed in (page, narrow):
            words = f"{run} of 12 runs ended"
            expect(viewed.locator("#live-words")).to_contain_text(words, timeout=60_000)
            assert scores(viewed) == {a: a / 100 for a in range(1, run + 1)}
    page.fill("#filter", "a<=20")
    page.locator("th[data-key='p:a'] button").click()
    page.evaluate("scrollTo(0, 300)")
    sweep.let(4)
    expect(page.locator("#live-words")).to_contain_text("4 of 12", timeout=60_000)
    assert page.input_value("#filter") == "a<=20"
    assert "sort=p%3Aa" in page.url
    assert abs(page.evaluate("scrollY") - 300) < 5
    sweep.let(*range(5, RUNS + 1))
    assert sweep.end(None) == 0
    expect(page.locator("#live")).to_be_hidden(timeout=60_000)
    assert scores(page) == {a: a / 100 for a in range(1, RUNS + 1)}


def test_the_page_waits_while_somebody_types(sweep, open_page):
    page = open_page(sweep.start())
    page.locator("#filter").focus()
    sweep.let(1)
    page.wait_for_timeout(8000)
    expect(page.locator("#live-words")).to_contain_text("0 of 12")
    page.evaluate("document.activeElement.blur()")
    expect(page.locator("#live-words")).to_contain_text("1 of 12", timeout=30_000)


def test_a_page_says_that_a_killed_command_ended_and_the_next_one_goes_on(sweep, open_page):
    page = open_page(sweep.start())
    sweep.let(1, 2, 3)
    expect(page.locator("#live-words")).to_contain_text("3 of 12", timeout=60_000)
    sweep.end(signal.SIGKILL)
    # Two minutes later, without the wait.
    page.add_init_script("const now = Date.now; Date.now = () => now() + 120_000")
    expect(page.locator("#live-words")).to_contain_text("no longer updated", timeout=60_000)
    expect(page.locator("#summary")).not_to_contain_text("running")
    assert scores(page) == {1: 0.01, 2: 0.02, 3: 0.03}

    page = open_page(sweep.start())
    assert scores(page) == {1: 0.01, 2: 0.02, 3: 0.03}
    sweep.let(4)
    expect(page.locator("#live-words")).to_contain_text("4 of 12", timeout=60_000)
    sweep.end(signal.SIGINT)
    expect(page.locator("#live")).to_be_hidden(timeout=60_000)
    assert scores(page) == {a: a / 100 for a in (1, 2, 3, 4)}


def test_the_page_of_all_runs_follows_too_once_there_is_one(sweep, open_page):
    environment = {"JUPYTER_PATH": str(ROOT / ".venv/share/jupyter"), **os.environ}
    command = [ROOT / ".venv/bin/python", "-m", "kernelkit", "report", ".", "--index"]
    (sweep.folder / "old").mkdir()
    (sweep.folder / "old/metrics.json").write_text('{"macro_f1": 0.5}')
    subprocess.run(command, cwd=sweep.folder, env=environment, check=True)
    sweep.start()
    page = open_page((sweep.folder / "index.html").as_uri())
    expect(page.locator("#live-words")).to_have_text("2 active runs", timeout=60_000)
    expect(page.locator("#live-runs pre").first).to_contain_text("trains", timeout=30_000)
    sweep.let(1)
    expect(page.get_by_role("link", name="a=1", exact=True)).to_be_visible(timeout=60_000)
    page.get_by_role("link", name="out", exact=True).first.click(timeout=30_000)
    expect(page.locator("#live-words")).to_contain_text("of 12", timeout=30_000)
