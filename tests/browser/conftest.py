"""Headless Chromium and the pages of a small sweep, in both widths and both colour schemes."""

import os
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

PAGES = Path(os.environ.get("BROWSER_PAGES", Path(__file__).parents[2] / "runs/browser")).resolve()
PICTURES = PAGES / "pictures"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))


@pytest.fixture(scope="session")
def browser():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


def report():
    """The report of a run that came to its end."""
    done = [p for p in PAGES.glob("*/*/report.html") if (p.parent / "metrics.json").is_file()]
    return sorted(done)[0]


def failed_report():
    failed = [p for p in PAGES.glob("*/*/report.html") if not (p.parent / "metrics.json").is_file()]
    return sorted(failed)[0]


PLACES = {
    "index": lambda: PAGES / "index.html",
    "sweep": lambda: next(PAGES.glob("*/sweep.json")).parent / "index.html",
    "search": lambda: PAGES / "made/search/index.html",  # a thousand runs: made_sweep.py
    "report": report,
    "failed": failed_report,
}


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
        page.goto(PLACES[name]().as_uri())
        page.wait_for_timeout(200)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert said == []
