"""The page of a sweep that goes on: right after each run, after the end, and after a kill."""

import os
import re
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
        """Start a command of the kit; returns the address that it prints."""
        environment = {n: v for n, v in os.environ.items() if n not in ("DISPLAY", "BROWSER")}
        self.processes.append(
            subprocess.Popen(
                [ROOT / ".venv/bin/python", "-m", "kernelkit", *words],
                cwd=self.folder,
                env=environment | {"JUPYTER_PATH": str(ROOT / ".venv/share/jupyter")},
                stdout=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
        )
        for line in self.process.stdout:
            if match := re.search(r"http://127\.0\.0\.1:\S+", line):
                return match[0]
        raise AssertionError("the command printed no address")

    def start(self):
        return self.command("sweep", "sweep.yaml", "--open", "--output", "out")

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
    sweep = Sweep(tmp_path)
    yield sweep
    while sweep.processes:
        sweep.end(signal.SIGKILL)


@pytest.fixture
def open_page(browser):
    """Opens an address; the page may ask for nothing but itself, and has no error."""
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
    rows = page.evaluate("shown().map((row) => [row.parameters.a, row.score])")
    cells = page.locator("#rows td[data-label='macro_f1']").all_inner_texts()
    assert sorted(c.split()[-1] for c in cells if c) == sorted(f"{s:.4f}" for _, s in rows if s)
    return {a: score for a, score in rows if score is not None}


def test_the_page_is_right_after_each_of_twelve_runs_and_keeps_the_view(sweep, open_page):
    address = sweep.start()
    page, narrow = open_page(address), open_page(address, viewport={"width": 360, "height": 800})
    expect(page.locator("#live-runs pre").first).to_contain_text("trains", timeout=30_000)
    assert serious_faults(page) == []
    for run in range(1, RUNS + 1):
        sweep.let(run)
        words = f"{run} of 12 runs ended" if run < RUNS else "The sweep is over."
        for viewed in (page, narrow):
            expect(viewed.locator("#live-words")).to_contain_text(words, timeout=30_000)
            assert scores(viewed) == {a: a / 100 for a in range(1, run + 1)}
        expect(page.locator("#summary")).to_contain_text(f"{run} done")
        if run == 2:  # of which the first brought a column; now the view is somebody's
            page.fill("#filter", "a<=20")
            page.locator("th[data-key='p:a'] button").click()
            page.locator("[aria-label='note on A']").fill("half a sentence")
    assert [row["a"] for row in page.evaluate("shown().map((row) => row.parameters)")] == [
        *range(1, RUNS + 1)
    ]
    assert page.input_value("#filter") == "a<=20"
    assert "sort=p%3Aa" in page.url
    assert page.input_value("[aria-label='note on A']") == "half a sentence"
    assert page.evaluate("document.activeElement.ariaLabel") == "note on A"
    expect(page.locator("#curves polyline.curve")).to_have_count(5)
    assert sweep.end(None) == 0
    page.wait_for_timeout(1500)
    expect(page.locator("#live-words")).to_have_text("The sweep is over.")

    on_disk = open_page((sweep.folder / "out/index.html").as_uri())
    assert scores(on_disk) == scores(page)
    expect(on_disk.locator("#live")).to_be_hidden()
    assert "connect-src" not in (sweep.folder / "out/index.html").read_text().partition("<body")[0]


def test_a_page_says_that_a_killed_command_ended_and_the_next_one_goes_on(sweep, open_page):
    page = open_page(sweep.start())
    sweep.let(1, 2, 3)
    expect(page.locator("#live-words")).to_contain_text("3 of 12", timeout=30_000)
    sweep.end(signal.SIGKILL)
    expect(page.locator("#live-words")).to_contain_text("The connection ended", timeout=30_000)
    assert scores(page) == {1: 0.01, 2: 0.02, 3: 0.03}
    assert scores(open_page((sweep.folder / "out/index.html").as_uri())) == scores(page)

    page = open_page(sweep.start())
    assert scores(page) == {1: 0.01, 2: 0.02, 3: 0.03}
    sweep.let(4)
    expect(page.locator("#live-words")).to_contain_text("4 of 12", timeout=30_000)
    sweep.end(signal.SIGINT)
    expect(page.locator("#live-words")).to_contain_text("The sweep was stopped", timeout=10_000)
    assert scores(page) == {a: a / 100 for a in (1, 2, 3, 4)}


def test_a_watched_folder_shows_runs_that_begin_and_end_and_its_sweeps(sweep, open_page):
    sweep.start()
    page = open_page(sweep.command("watch", str(sweep.folder)))
    expect(page.locator("#live-words")).to_have_text("2 runs going on", timeout=30_000)
    expect(page.locator("#live-runs pre").first).to_contain_text("trains", timeout=30_000)
    expect(page.locator("#rows tr")).to_have_count(2)
    sweep.let(1)
    expect(page.get_by_role("link", name="a=1", exact=True)).to_be_visible(timeout=30_000)
    # A sweep writes its page once the first run has ended; then there is a link to it.
    page.get_by_role("link", name="out", exact=True).first.click(timeout=30_000)
    sweep.let(2)
    expect(page.locator("#summary")).to_contain_text("2 done", timeout=30_000)
    begun = time.monotonic()
    assert sweep.end(signal.SIGINT) == 0
    assert time.monotonic() - begun < 10
    expect(page.locator("#live-words")).to_contain_text("connection ended", timeout=30_000)
