"""The page over all runs, as text and as a browser shows it."""

import base64
import hashlib
import json
import os
import re
import shutil
import subprocess

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from kernelkit import files, project
from kernelkit.reports import index_page, many_runs, trail
from kernelkit.run_folders import active, kit_folder
from kernelkit.shown import duration

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
            "macro_f1": score,
            "seconds": 1234.5 + hour,
            "device": {"name": device, "replicas": 8 if "TPU" in device else 1},
            "parameters": {"backbone": "VGG16"},
            "data": {"source": "folder /x/flowers", "val": 50},
        }
        (folder / "metrics.json").write_text(json.dumps(metrics))
        os.utime(folder / "metrics.json", (1e9 + 3600 * hour,) * 2)
        (folder / "report.html").write_text("<p>report</p>")
    return tmp_path / "runs"


@pytest.fixture
def page(runs):
    return index_page.write(index_page.runs_under([runs]), runs / "index.html")


def data_of(page):
    """The data that the page's script reads."""
    return json.loads(re.search(r'id="data">(.*?)</script>', page.read_text(), re.DOTALL)[1])


def test_a_watched_page_has_the_runs_that_go_on_and_the_page_on_disk_has_not(runs):
    part = new_notebook(cells=[new_code_cell("x", outputs=[new_output("stream", text="epoch 2")])])
    part.metadata["papermill"] = {"start_time": "2026-11-01T12:00:00+00:00"}
    (runs / "now").mkdir()
    nbformat.write(part, runs / "now" / active.PART)

    def listed():
        text = index_page.live(runs, False)
        data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])
        return data["live"]["text"], {run["id"]: (run["state"], run["log"]) for run in data["runs"]}

    with files.try_lock(kit_folder.path(runs / "now", kit_folder.LOCK)):
        words, listing = listed()
    assert words == "1 run going on"
    assert listing == {
        "a": ("", ""),
        "b%20%3Codd%3E%20%26%20new": ("", ""),
        "c": ("", ""),
        "now": ("running", "epoch 2"),
    }
    assert runs / "now" not in index_page.runs_under([runs])
    words, listing = listed()  # as a kill leaves it
    assert (words, "now" in listing) == ("no runs going on", False)


def test_runs_are_listed_with_links_and_no_network(page):
    text, data = page.read_text(), data_of(page)
    runs = {run["name"]: run for run in data["runs"]}
    assert set(runs) == {"a", "b <odd> & new", "c"}
    assert runs["b <odd> & new"]["report"] == "b%20%3Codd%3E%20%26%20new/report.html"
    assert "<odd>" not in text
    assert "{{" not in text
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", text)
    assert runs["a"]["device"] == "TPU v5e × 8"
    assert runs["a"]["parameters"]["backbone"] == "VGG16"
    assert runs["a"]["data"] == "flowers (50 val)"
    assert runs["a"]["metrics"] == {"macro_f1": 0.8, "seconds": 1234.5}
    assert data["labels"]["macro_f1"] == "macro F1"


def test_nothing_but_the_kits_own_script_may_run(page):
    text = page.read_text()
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    hashes = [base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in scripts]
    assert len(scripts) == len(many_runs.SCRIPTS)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    assert re.findall("'sha256-([^']*)'", policy) == hashes
    assert "default-src 'none'" in policy
    assert "unsafe-inline" not in policy.partition("script-src")[2]


@pytest.fixture
def sweep(runs):
    """A sweep of four runs whose folders are called by hashes."""
    folder = runs / "shapes"
    for number, (shape, seed) in enumerate([("up", 0), ("up", 1), ("down", 0), ("down", 1)]):
        own = folder / f"{number:012x}"
        own.mkdir(parents=True)
        parameters = {"shape": shape, "seed": seed, "size": 3, "output": str(own)}
        metrics = {"macro_f1": 0.5 + number / 100, "parameters": parameters}
        (own / "metrics.json").write_text(json.dumps(metrics))
    (folder / "sweep.json").write_text('{"varying": ["shape", "seed"]}')
    (folder / "index.html").touch()
    return folder


def test_runs_are_called_by_what_differs_and_not_by_a_hash(runs, sweep):
    page = index_page.write(index_page.runs_under([runs]), runs / "index.html")
    own = [run for run in data_of(page)["runs"] if run["group"] == "shapes"]
    assert [run["name"] for run in own] == [
        "shape=up seed=0",
        "shape=up seed=1",
        "shape=down seed=0",
        "shape=down seed=1",
    ]
    assert {run["setting"] for run in own} == {"shape=up", "shape=down"}
    assert {run["sweep"] for run in own} == {"shapes/index.html"}
    assert len(own) == 4


def executed(folder, given="", outputs=(), count=1):
    """A run's folder with its notebook, whose second cell has these outputs; without metrics."""
    folder.mkdir(parents=True)
    tagged = {"tags": ["parameters"]}, {"tags": ["injected-parameters"]}
    notebook = new_notebook(
        cells=[
            new_code_cell("dropout = 0.5  # a share", metadata=tagged[0], execution_count=1),
            new_code_cell(given, metadata=tagged[1], execution_count=2 if given else None),
            new_code_cell("look()", outputs=list(outputs), execution_count=count and 3),
        ]
    )
    nbformat.write(notebook, folder / "run.ipynb")


def test_a_run_without_metrics_has_ended_if_its_notebook_did(runs):
    """As notebooks do that explore, or compare runs."""
    error = new_output("error", ename="ValueError", evalue="withered", traceback=["x"])
    executed(runs / "explored")
    executed(runs / "failed", outputs=[error])
    executed(runs / "cut-off", count=0)
    page = index_page.write(index_page.runs_under([runs]), runs / "index.html")
    notes = {run["name"]: run["note"] for run in data_of(page)["runs"]}
    assert notes["explored"] == ""
    assert notes["failed"] == notes["cut-off"] == "did not reach its end"


def test_reports_lead_back_to_their_sweep_and_to_all_runs(runs, sweep):
    folder = sweep / f"{3:012x}"
    assert trail.way_back(folder) == {"shapes": "../index.html"}
    index_page.write(index_page.runs_under([runs]), runs / "index.html")
    assert trail.way_back(folder) == {"all runs": "../../index.html", "shapes": "../index.html"}
    assert trail.way_back(runs / "a") == {"all runs": "../index.html"}


def test_a_rehearsals_own_files_are_no_runs(runs):
    deep = runs / "local_kaggle" / "sessions" / "1" / "working"
    deep.mkdir(parents=True)
    (deep / "metrics.json").write_text("{}")
    assert [folder.name for folder in index_page.runs_under([runs])] == ["a", "b <odd> & new", "c"]
    assert index_page.runs_under([runs / "a"]) == [runs / "a"]


def test_metrics_of_another_kind_are_listed_as_they_are(tmp_path):
    (tmp_path / "metrics.json").write_text('{"macro_f1": "high", "device": "TPU", "data": [1]}')
    (run,) = data_of(index_page.write([tmp_path], tmp_path / "index.html"))["runs"]
    assert run["name"] == tmp_path.name
    assert run["metrics"] == {}
    assert run["device"] == ""


def in_browser(page, steps, tmp_path):
    """The page's document after steps of a script that sets its title."""
    if not BROWSER:
        pytest.skip("no Chromium on this machine")
    text = re.sub("<meta http-equiv[^>]*>", "", page.read_text())  # it would stop the steps
    tried = tmp_path / "tried.html"
    tried.write_text(text + f"<script>{steps}</script>")
    command = [BROWSER, *FLAGS, f"--user-data-dir={tmp_path / 'browser'}", "--dump-dom"]
    done = subprocess.run(
        [*command, tried.as_uri()], capture_output=True, text=True, timeout=60, check=True
    )
    return re.search(r"<title>(.*)</title>", done.stdout)[1]


ORDER = """
  const order = () => [...byId("rows").rows].map(r => r.cells[1].textContent[0]).join("");
  const sort = name => [...document.querySelectorAll("th")]
    .find(h => h.textContent === name).firstElementChild.click();
  const type = text => { byId("filter").value = text;
    byId("filter").dispatchEvent(new Event("input")); };
"""


def test_it_sorts_and_filters_in_a_browser(page, tmp_path):
    steps = """
      const texts = [order()];
      for (const name of ["macro F1", "macro F1", "run"]) { sort(name); texts.push(order()); }
      type("tpu vgg"); texts.push(order(), byId("count").textContent);
      document.title = texts.join(" ");
    """
    # newest first; runs without a score stay last whichever way
    assert in_browser(page, ORDER + steps, tmp_path) == "cba bac abc abc a 1 of 3"


@pytest.mark.parametrize(("photos_of_a", "best"), [(50, "b"), (60, "")])
def test_the_best_is_marked_once_among_those_on_the_same_data(
    runs, page, tmp_path, photos_of_a, best
):
    metrics = json.loads((runs / "a" / "metrics.json").read_text())
    metrics["data"]["val"] = photos_of_a
    (runs / "a" / "metrics.json").write_text(json.dumps(metrics))
    index_page.write(index_page.runs_under([runs]), page)
    steps = "document.title = [...document.querySelectorAll('tr.best a')].map(a => a.text[0]);"
    assert in_browser(page, steps, tmp_path) == best


def test_the_lowest_score_is_the_best_where_the_project_says_so(runs, tmp_path, monkeypatch):
    monkeypatch.delenv(project.SHOWN)
    settings = '[tool.kernelkit.shown]\nscore = "macro_f1"\nminimize = true\n'
    (tmp_path / "pyproject.toml").write_text(settings)
    page = index_page.write(index_page.runs_under([runs]), runs / "index.html")
    steps = """sort("macro_f1");
      document.title = order() + document.querySelector("tr.best").cells[1].textContent[0]
        + byId("better").textContent;"""
    assert in_browser(page, ORDER + steps, tmp_path) == "abcaDown"


def test_of_several_data_the_best_is_that_of_the_most_runs(runs, tmp_path):
    for name, score, photos in (("d", 0.0052, 9), ("e", 0.004, 9), ("f", 0.7, 50)):
        (runs / name).mkdir()
        metrics = {"macro_f1": score, "data": {"source": "folder /x/flowers", "val": photos}}
        (runs / name / "metrics.json").write_text(json.dumps(metrics))
    page = index_page.write(index_page.runs_under([runs]), runs / "index.html")
    first = ".map(name => name.textContent[0])"
    steps = f"document.title = [...document.querySelectorAll('tr.best .name')]{first};"
    assert in_browser(page, steps, tmp_path) == "b"


def test_columns_that_nothing_fills_are_left_out(page, tmp_path):
    steps = "document.title = [...document.querySelectorAll('th')].map(h => h.textContent);"
    heads = in_browser(page, steps, tmp_path).split(",")
    assert "device" in heads
    assert "image size" not in heads


def test_a_run_ended_when_it_says_so(runs):
    metrics = json.loads((runs / "a" / "metrics.json").read_text())
    metrics["ended"] = "2026-11-22T03:00:00+00:00"
    (runs / "a" / "metrics.json").write_text(json.dumps(metrics))
    data = data_of(index_page.write(index_page.runs_under([runs]), runs / "index.html"))
    assert {run["name"]: run["when"] for run in data["runs"]}["a"] == 1795316400.0


def test_what_every_run_has_alike_is_said_once(page, tmp_path):
    steps = """const heads = [...document.querySelectorAll('th')].map(h => h.textContent);
      view.filter = 'vgg16';
      document.title = [heads.join(), byId('base').textContent, shown().length].join('|');"""
    heads, alike, matching = in_browser(page, steps, tmp_path).split("|")
    assert "backbone" not in heads
    assert "validated on" not in heads
    assert alike == "backbone=VGG16validated on=flowers (50 val)"
    assert matching == "3"  # the filter knows it still


def test_times_are_the_same_in_script_and_text(page, tmp_path):
    times = [0, 0.04, 8.21, 9.96, 88.4, 119.6, 166, 1234.5, 3599.6, 3900, 86400]
    steps = f"document.title = {times}.map(duration).join('|');"
    assert in_browser(page, steps, tmp_path).split("|") == [duration(time) for time in times]


def test_a_word_when_nothing_matches(page, tmp_path):
    steps = """type("zebra"); const texts = byId("rows").textContent;
      byId("rows").querySelector("button").click(); document.title = texts + order();"""
    texts = in_browser(page, ORDER + steps, tmp_path)
    assert texts == "No run matches “zebra”. Clear the filtercba"


def test_the_lists_say_what_the_filter_says_after_a_reload(runs, tmp_path):
    metrics = json.loads((runs / "a" / "metrics.json").read_text())
    metrics["parameters"]["backbone"] = "Small Net"
    (runs / "a" / "metrics.json").write_text(json.dumps(metrics))
    page = index_page.write(index_page.runs_under([runs]), runs / "index.html")
    steps = """
      const list = byId("choices").firstChild; list.value = "Small Net";
      list.dispatchEvent(new Event("change")); const texts = [view.filter, order()];
      list.value = ""; view.filter = ""; read(); refresh();
      document.title = [...texts, list.value, view.filter, order()].join("|");"""
    assert in_browser(page, ORDER + steps, tmp_path) == (
        'backbone="Small Net"|a|Small Net|backbone="Small Net"|a'
    )
