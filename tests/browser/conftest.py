"""Headless Chromium and the pages of a small sweep, in both widths and both colour schemes."""

import json
import os
import re
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from pages import BROWSER, EXPORTS
from playwright.sync_api import sync_playwright

PAGES = Path(os.environ.get("BROWSER_PAGES", Path(__file__).parents[2] / "runs/browser")).resolve()
PICTURES = PAGES / "pictures"


@pytest.fixture(scope="session")
def browser():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield browser
        browser.close()


def report(done):
    """The report of a run that came to its end, or of one that failed."""
    reports = sorted(PAGES.glob("*/*/report.html"))
    return next(p for p in reports if (p.parent / "metrics.json").is_file() == done)


PLACES = {
    "index": lambda: PAGES / "index.html",
    "sweep": lambda: next(PAGES.glob("*/sweep.json")).parent / "index.html",
    "search": lambda: PAGES / "made/search/index.html",  # a thousand runs: made_sweep.py
    "report": lambda: report(True),
    "failed": lambda: report(False),
}
HOSTILE = PAGES / "made/session/hostile/report.html"  # of hostile_session.py


@pytest.fixture
def opened(browser):
    """`opened(name, width, scheme)`: the page, which must have nothing to say on its console."""
    contexts, said = [], []

    def open_page(name, width=1400, scheme="light"):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda r: said.append(r.url) if r.url.startswith("http") else None)
        place = PLACES[name]() if name in PLACES else HOSTILE
        page.goto(place.as_uri())
        page.wait_for_timeout(200)
        page.evaluate(EXPORTS)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert said == []


def serious_faults(page):
    """What axe finds on a page: (rule, the first places) of each fault that stops somebody."""
    return [
        (fault["id"], [node["html"][:120] for node in fault["nodes"]][:3])
        for fault in Axe().run(page).response["violations"]
        if fault["impact"] in ("serious", "critical")
    ]


@pytest.fixture
def changed(opened, tmp_path):
    """`changed(name, change, view)`: the page on data that `change` was applied to, in place."""

    def open_changed(name, change, view=""):
        text = PLACES[name]().read_text()
        data_in = re.search(r'(?<=id="data">).*?(?=</script>)', text, re.DOTALL)
        data = json.loads(data_in[0])
        change(data)
        content = json.dumps(data).replace("<", "\\u003c")
        path = tmp_path / "changed.html"
        path.write_text(text[: data_in.start()] + content + text[data_in.end() :])
        page = opened(name)
        page.goto(path.as_uri() + view)
        page.evaluate(EXPORTS)
        return page

    return open_changed
