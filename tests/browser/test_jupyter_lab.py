"""Run All of every notebook in a JupyterLab as `make lab` starts it, by its menu, on drawn flowers.

The notebooks run in their order: 03_compare and 04_predict read what 02_train left.
"""

import json
import re
import time

import pytest
from checkouts import ROOT, check_out, git
from conftest import PICTURES
from jupyter_lab import JupyterLab, give

SECONDS = 1500  # that a notebook may take on a busy machine
PARAMETERS = {
    "00_first": {
        "data": "embedded",
        "image_size": 64,
        "weights": "none",
        "width": 0.25,
        "head_epochs": 1,
        "epochs": 1,
    },
    "01_explore": {"data": "embedded", "image_size": 64, "seconds": 0.5},
    "02_train": {
        "data": "embedded",
        "image_size": 64,
        "backbone": "SmallNet",
        "weights": "none",
        "fine_tune": "all",
        "head": "none",
        "epochs": 2,
        "batch_size": 64,
        "learning_rate": 0.003,
        "label_smoothing": 0.05,
        "views": 1,
        "output": "../runs/trained",
    },
    "03_compare": {"most": 4, "repeats": 2},
    "04_predict": {"data": "embedded", "limit": 24},
}
# What JupyterLab itself says on its console, whatever is open.
THEIRS = re.compile(
    r"favicon|/lab/extensions|/api/|jupyterlab|Deprecat|WebSocket|third-party", re.I
)
pytestmark = pytest.mark.timeout(SECONDS + 300)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    folder = tmp_path_factory.mktemp("checkout")
    check_out(folder, ROOT / ".venv")
    for name, values in PARAMETERS.items():
        give(folder, name, values)
    return folder


@pytest.fixture(scope="module")
def lab(checkout, tmp_path_factory):
    """The server, in a repository, since `make lab` installs a filter of git."""
    git(checkout, "init", "-q")
    started = JupyterLab(checkout, tmp_path_factory.mktemp("home"))
    yield started
    started.close()


@pytest.fixture
def page(browser):
    context = browser.new_context(viewport={"width": 1400, "height": 1000})
    page = context.new_page()
    page.set_default_timeout(120_000)
    yield page
    context.close()


def choose(page, menu, entry):
    """Choose an entry of a menu of the menu bar."""
    page.click(f".lm-MenuBar-item:has-text('{menu}')")
    page.click(f".lm-Menu-itemLabel:text-is('{entry}')")


def run_all(page, states):
    """Run -> Run All Cells; returns when no cell is left to run. `states` gets what moved."""
    choose(page, "Run", "Run All Cells")
    until = time.monotonic() + SECONDS
    watch = """() => [...document.querySelectorAll('.jp-Notebook .jp-OutputArea-output pre')]
        .map((pre) => pre.textContent).filter((text) => /\\d:\\d\\d left/.test(text))"""
    prompts = """() => [...document.querySelectorAll(
        '.jp-Notebook .jp-CodeCell .jp-InputArea-prompt')].map((it) => it.textContent)"""
    while True:
        for text in page.evaluate(watch):
            if text not in states:
                states.append(text)
        found = page.evaluate(prompts)
        if found and all(re.fullmatch(r"\[\d+\]:", text) for text in found):
            return
        if page.locator("[data-mime-type='application/vnd.jupyter.error']").count():
            return  # the cells behind it are never run
        assert time.monotonic() < until, found
        page.wait_for_timeout(200)


@pytest.mark.parametrize("name", PARAMETERS)
def test_run_all(lab, checkout, page, name):
    said, states = [], []
    page.on("console", lambda m: said.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(lab.address(f"{name}.ipynb"))
    page.wait_for_selector(".jp-Notebook .jp-CodeCell")
    lab.wait_for_kernel(f"{name}.ipynb")
    page.wait_for_timeout(3000)  # what JupyterLab asks a newcomer comes a moment later
    assert page.locator(".Toastify__toast").all_inner_texts() == []
    assert page.locator(".jp-mod-dirty").count() == 0  # it was opened, and nothing else
    run_all(page, states)

    PICTURES.mkdir(parents=True, exist_ok=True)
    choose(page, "File", "Save Notebook")
    saved = wait_until_saved(checkout / f"notebooks/{name}.ipynb")
    picture_of(page, name)  # folds the code, which would be saved

    outputs = [out for cell in saved["cells"] for out in cell.get("outputs", [])]
    assert [out["evalue"] for out in outputs if out["output_type"] == "error"] == []
    assert page.locator("[data-mime-type='application/vnd.jupyter.error']").count() == 0
    assert [out["text"] for out in outputs if out.get("name") == "stderr"] == []
    assert page.locator("[data-mime-type='application/vnd.jupyter.stderr']").count() == 0
    assert [text for text in said if not THEIRS.search(text)] == []
    figures = [
        html
        for out in outputs
        if "data" in out
        for html in ["".join(out["data"].get("text/html", ""))]
        if "<img" in html
    ]
    assert len(figures) >= 2
    for html in figures:
        assert re.search(r'alt="[^"]{20,}"', html)
        assert re.search(r"<figcaption>[^<]{20,}</figcaption>", html)
    assert not any(k.startswith("image/") for out in outputs for k in out.get("data", {}))
    kept = "".join(progress_is_in_one_place(outputs, states))
    if name == "02_train":  # a line within an epoch came and went; the epochs' own lines are kept
        assert len(re.findall(r"fine-tune \d/2  loss .* images/s  \d:\d\d left", kept)) == 2
        assert not re.findall(r"^.*: step \d+ of \d+.*left *$", kept, re.M)
        assert (checkout / "runs/trained/metrics.json").is_file()


def progress_is_in_one_place(outputs, states):
    """Of a line that moves the end alone is kept; while it moves, it is one line.

    Returns the texts of the streams.
    """
    kept = ["".join(out["text"]) for out in outputs if out["output_type"] == "stream"]
    for texts, most in ((kept, 0), (states, 1)):
        for text in texts:
            steps = re.findall(r"^  .+? ([\d,]+) of ([\d,]+)  .*left *$", text, re.M)
            assert sum(done != total for done, total in steps) <= most, text
    return kept


def wait_until_saved(path):
    """The notebook's JSON, once it has the outputs."""
    for _ in range(300):
        time.sleep(0.2)
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except ValueError:  # half of it is written
            continue
        code = [cell for cell in content["cells"] if cell["cell_type"] == "code"]
        if all(cell["execution_count"] for cell in code if "".join(cell["source"]).strip()):
            return content
    raise AssertionError(f"{path} was not saved")


def picture_of(page, name):
    """A picture of the whole notebook, screen by screen in one file as far as it goes."""
    choose(page, "View", "Collapse All Code")
    notebook = page.locator(".jp-WindowedPanel-outer").first
    high = notebook.evaluate("(it) => it.scrollHeight")
    page.set_viewport_size({"width": 1400, "height": max(1000, min(12_000, int(high) + 200))})
    for top in (high, 0):  # what was never in sight is drawn on the way up
        notebook.evaluate("(it, top) => { it.scrollTop = top }", top)
        page.wait_for_timeout(1500)
    page.screenshot(path=PICTURES / f"jupyter-{name}.png")
