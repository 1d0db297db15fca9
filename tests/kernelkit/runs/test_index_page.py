"""The page over all runs, as text and as a browser shows it."""

import json
import os
import re
import shutil
import subprocess

import pytest

from kernelkit import project
from kernelkit.runs import index_page

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-sync", "--disable-background-networking", "--disable-component-update"),
]


@pytest.fixture
def runs(tmp_path):
    """Three runs, each made an hour after the one before."""
    for hour, (name, score, device) in enumerate(
        [("a", 0.8, "TPU v5e"), ("b <odd> & new", 0.9, "CPU"), ("c", None, "CPU")]
    ):
        folder = tmp_path / "runs" / name
        folder.mkdir(parents=True)
        metrics = {
            "macro_f1": score, "seconds": 1234.5 + hour,
            "device": {"name": device, "replicas": 8 if "TPU" in device else 1},
            "parameters": {"backbone": "VGG16"}, "data": {"source": "folder /x/flowers", "val": 50},
        }  # fmt: skip
        (folder / "metrics.json").write_text(json.dumps(metrics))
        os.utime(folder / "metrics.json", (1e9 + 3600 * hour,) * 2)
        (folder / "report.html").write_text("<p>report</p>")
    return tmp_path / "runs"


@pytest.fixture
def page(runs):
    return index_page.write(index_page.runs_under([runs]), runs / "index.html")


def rows(text):
    """The run names in a page's order."""
    body = text.partition("<tbody>")[2].partition("</tbody>")[0]
    return re.findall(r'<tr(?![^>]*hidden)[^>]*><td data-key="([^"]*)"', body)


def test_runs_come_newest_first_with_links_and_no_network(page):
    text = page.read_text()
    assert rows(text) == ["c", "b &lt;odd&gt; &amp; new", "a"]
    assert 'href="b%20%3Codd%3E%20%26%20new/report.html"' in text
    assert "<odd>" not in text
    assert "{{" not in text
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", text)
    for message in ("TPU v5e × 8", "VGG16", "0.9000", "1,234", "flowers (50 val)"):
        assert message in text


def test_columns_that_nothing_fills_are_left_out(page):
    assert "backbone" in page.read_text()
    assert "image size" not in page.read_text()


def test_the_best_is_marked_among_those_on_the_same_data(runs, page):
    assert page.read_text().count('<tr class="best">') == 1
    metrics = json.loads((runs / "a" / "metrics.json").read_text())
    metrics["data"]["val"] = 60
    (runs / "a" / "metrics.json").write_text(json.dumps(metrics))
    text = index_page.write(index_page.runs_under([runs]), page).read_text()
    assert text.count('<tr class="best">') == 2


def test_a_rehearsals_own_files_are_no_runs(runs):
    deep = runs / "local_kaggle" / "sessions" / "1" / "working"
    deep.mkdir(parents=True)
    (deep / "metrics.json").write_text("{}")
    assert [folder.name for folder in index_page.runs_under([runs])] == ["a", "b <odd> & new", "c"]
    assert index_page.runs_under([runs / "a"]) == [runs / "a"]


def test_metrics_of_another_kind_are_listed_as_they_are(tmp_path):
    (tmp_path / "metrics.json").write_text('{"macro_f1": "high", "device": "TPU", "data": [1]}')
    cells = index_page.row(tmp_path, tmp_path, project.shown(tmp_path))
    assert cells["run"].text == tmp_path.name
    assert cells["macro F1"].text == cells["device"].text == ""
    assert index_page.render([cells], "macro F1")


@pytest.mark.skipif(not BROWSER, reason="no Chromium on this machine")
def test_it_sorts_and_filters_in_a_browser(page, tmp_path):
    steps = """<script>
      const column = name => heads.findIndex(h => h.textContent === name);
      const order = () => [...body.rows].map(r => r.cells[0].dataset.key[0]).join("");
      const said = [order()];
      for (const name of ["macro F1", "macro F1", "run"]) {
        heads[column(name)].firstElementChild.click(); said.push(order()); }
      filter.value = "tpu vgg"; filter.dispatchEvent(new Event("input"));
      said.push([...body.rows].filter(r => !r.hidden).map(r => r.cells[0].dataset.key).join(""));
      document.title = said.join(" ") + " " + document.getElementById("shown").textContent;
    </script>"""
    tried = tmp_path / "tried.html"
    tried.write_text(page.read_text() + steps)
    command = [BROWSER, *FLAGS, f"--user-data-dir={tmp_path / 'browser'}", "--dump-dom"]
    done = subprocess.run(
        [*command, tried.as_uri()], capture_output=True, text=True, timeout=60, check=True
    )
    # runs without a score stay last whichever way
    assert re.search(r"<title>(.*)</title>", done.stdout)[1] == "cba bac abc abc a 1 of 3 runs"
