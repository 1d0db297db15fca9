"""What a page holds, and what Chromium makes of it."""

import html
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


# Makes what the scripts of a page export global, for the steps of a test.
EXPORTS = "Object.assign(globalThis, ...Object.values(modules));"


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
    stepped.write_text(f"{text}<script>{EXPORTS} {steps}</script>")
    return re.search(r"<title>(.*)</title>", seen(stepped))[1]


def spoken(pages, folder):
    """{name: the text that a reader of the page sees}, of {name: HTML}, by one start of Chromium.

    What is hidden or folded away is not in it.
    """
    frames = []
    for name, text in pages.items():
        # The page of frames has the scripts' addresses, and a frame may not change its own.
        free = re.sub("<meta http-equiv[^>]*>", "", text)
        quiet = free.replace("<body", "<script>history.replaceState = () => {};</script><body", 1)
        frame = f'<iframe data-name="{html.escape(name)}" srcdoc="{html.escape(quiet)}"></iframe>'
        frames.append(frame)
    collect = """
        onload = () => {
          const texts = [...document.querySelectorAll("iframe")].map((frame) =>
            [frame.dataset.name, frame.contentDocument.body.innerText]);
          document.body.replaceChildren(JSON.stringify(Object.fromEntries(texts)));
        };
    """
    page = folder / "frames.html"
    style = "<style>iframe { width: 1200px; height: 900px }</style>"
    page.write_text(f"<meta charset=utf-8>{style}{''.join(frames)}<script>{collect}</script>")
    body = re.search(r"<body>(.*)</body>", seen(page), re.DOTALL)[1]
    return {name: " ".join(text.split()) for name, text in json.loads(html.unescape(body)).items()}
