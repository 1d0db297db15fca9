"""What a page holds, and what Chromium makes of it."""

import json
import re
import shutil
import subprocess

import pytest

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)
FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-sync", "--disable-background-networking", "--disable-component-update"),
]


def data_of(text):
    """The data that the scripts of a page read."""
    return json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])


def seen(page, view=""):
    """The page's document after its scripts ran, with this view in its address."""
    if not BROWSER:
        pytest.skip("Chromium opens the page: apt-get install chromium, then make test-browser")
    own = [f"--user-data-dir={page.parent / 'browser'}", "--dump-dom", f"{page.as_uri()}#{view}"]
    command = [BROWSER, *FLAGS, *own]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout


def title_after(page, steps):
    """The page's title after these steps of a script, which may set it."""
    text = re.sub("<meta http-equiv[^>]*>", "", page.read_text())  # it would stop the steps
    stepped = page.with_name("stepped.html")
    stepped.write_text(f"{text}<script>{steps}</script>")
    return re.search(r"<title>(.*)</title>", seen(stepped))[1]
