"""The page over all runs, as text and as a browser shows it."""

import base64
import hashlib
import json
import os
import re

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output
from pages import data_of, title_after

from kernelkit import files, project
from kernelkit.reports import index_page, many_runs, trail
from kernelkit.run_folders import active, kit_folder
from kernelkit.shown import duration


def run(folder, **metrics):
    """Write a run's metrics, or change those that it has."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "metrics.json"
    earlier = json.loads(path.read_text()) if path.is_file() else {}
    path.write_text(json.dumps(earlier | metrics))
    return path


def write(runs):
    return index_page.write(index_page.runs_under([runs]), runs / "index.html")


def listed(runs):
    """The runs on the page over all runs, by their names."""
    return {run["name"]: run for run in data_of(write(runs).read_text())["runs"]}


@pytest.fixture
def runs(tmp_path):
    """Three runs, each made an hour after the one before."""
    for hour, (name, score, device) in enumerate(
        [("a", 0.8, "TPU v5e"), ("b <odd> & new", 0.9, "CPU"), ("c", None, "CPU")]
    ):
        path = run(
            tmp_path / "runs" / name,
            macro_f1=score,
            seconds=1234.5 + hour,
            device={"name": device, "replicas": 8 if "TPU" in device else 1},
            parameters={"backbone": "VGG16"},
            data={"source": "folder /x/flowers", "val": 50},
        )
        os.utime(path, (1e9 + 3600 * hour,) * 2)
        path.with_name("report.html").write_text("<p>report</p>")
    return tmp_path / "runs"


@pytest.fixture
def page(runs):
    return write(runs)


def test_a_watched_page_has_the_runs_that_go_on_and_the_page_on_disk_has_not(runs):
    part = new_notebook(cells=[new_code_cell("x", outputs=[new_output("stream", text="epoch 2")])])
    part.metadata["papermill"] = {"start_time": "2026-11-01T12:00:00+00:00"}
    (runs / "now").mkdir()
    nbformat.write(part, runs / "now" / active.PART)

    def watched():
        data = data_of(index_page.live(runs, False))
        return data["live"]["text"], {run["id"]: (run["state"], run["log"]) for run in data["runs"]}

    others = dict.fromkeys(("a", "b%20%3Codd%3E%20%26%20new", "c"), ("", ""))
    with files.try_lock(kit_folder.path(runs / "now", kit_folder.LOCK)):
        assert watched() == ("1 run going on", others | {"now": ("running", "epoch 2")})
    assert runs / "now" not in index_page.runs_under([runs])
    assert watched() == ("no runs going on", others)  # as a kill leaves it


def test_runs_are_listed_with_links_and_no_network(page):
    text, data = page.read_text(), data_of(page.read_text())
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
        parameters = {"shape": shape, "seed": seed, "size": 3, "output": str(own)}
        run(own, macro_f1=0.5 + number / 100, parameters=parameters)
    (folder / "sweep.json").write_text('{"varying": ["shape", "seed"]}')
    (folder / "index.html").touch()
    return folder


def test_runs_are_called_by_what_differs_and_not_by_a_hash(runs, sweep):
    own = {name: run for name, run in listed(runs).items() if run["group"] == "shapes"}
    assert list(own) == [
        "shape=up seed=0",
        "shape=up seed=1",
        "shape=down seed=0",
        "shape=down seed=1",
    ]
    assert {run["setting"] for run in own.values()} == {"shape=up", "shape=down"}
    assert {run["sweep"] for run in own.values()} == {"shapes/index.html"}


def executed(folder, outputs=(), count=1):
    """A run's folder with its notebook, whose last cell has these outputs; without metrics."""
    folder.mkdir()
    cells = [new_code_cell("look()", outputs=list(outputs), execution_count=count and 2)]
    cells.insert(0, new_code_cell("1", execution_count=1))
    nbformat.write(new_notebook(cells=cells), folder / "run.ipynb")


def test_a_run_without_metrics_has_ended_if_its_notebook_did(runs):
    """As notebooks do that explore, or compare runs."""
    error = new_output("error", ename="ValueError", evalue="withered", traceback=["x"])
    executed(runs / "explored")
    executed(runs / "failed", outputs=[error])
    executed(runs / "cut-off", count=0)
    notes = {name: run["note"] for name, run in listed(runs).items()}
    assert notes["explored"] == ""
    assert notes["failed"] == notes["cut-off"] == "did not reach its end"


def test_reports_lead_back_to_their_sweep_and_to_all_runs(runs, sweep):
    folder = sweep / f"{3:012x}"
    assert trail.way_back(folder) == {"shapes": "../index.html"}
    write(runs)
    assert trail.way_back(folder) == {"all runs": "../../index.html", "shapes": "../index.html"}
    assert trail.way_back(runs / "a") == {"all runs": "../index.html"}


def test_a_rehearsals_own_files_are_no_runs(runs):
    run(runs / "local_kaggle" / "sessions" / "1" / "working")
    assert [folder.name for folder in index_page.runs_under([runs])] == ["a", "b <odd> & new", "c"]
    assert index_page.runs_under([runs / "a"]) == [runs / "a"]


def test_metrics_of_another_kind_are_listed_as_they_are(tmp_path):
    run(tmp_path, macro_f1="high", device="TPU", data=[1])
    (odd,) = listed(tmp_path).values()
    assert (odd["name"], odd["metrics"], odd["device"]) == (tmp_path.name, {}, "")


ORDER = """
  const order = () => [...byId("rows").rows].map(r => r.cells[1].textContent[0]).join("");
  const sort = name => [...document.querySelectorAll("th")]
    .find(h => h.textContent === name).firstElementChild.click();
  const type = text => { byId("filter").value = text;
    byId("filter").dispatchEvent(new Event("input")); };
"""


def test_it_sorts_and_filters_in_a_browser(page):
    steps = """
      const texts = [order()];
      for (const name of ["macro F1", "macro F1", "run"]) { sort(name); texts.push(order()); }
      type("tpu vgg"); texts.push(order(), byId("count").textContent);
      document.title = texts.join(" ");
    """
    # newest first; runs without a score stay last whichever way
    assert title_after(page, ORDER + steps) == "cba bac abc abc a 1 of 3"


@pytest.mark.parametrize(("photos_of_a", "best"), [(50, "b"), (60, "")])
def test_the_best_is_marked_once_among_those_on_the_same_data(runs, photos_of_a, best):
    run(runs / "a", data={"source": "folder /x/flowers", "val": photos_of_a})
    page = write(runs)
    steps = "document.title = [...document.querySelectorAll('tr.best a')].map(a => a.text[0]);"
    assert title_after(page, steps) == best


def test_the_lowest_score_is_the_best_where_the_project_says_so(runs, tmp_path, monkeypatch):
    monkeypatch.delenv(project.SHOWN)
    settings = '[tool.kernelkit.shown]\nscore = "macro_f1"\nminimize = true\n'
    (tmp_path / "pyproject.toml").write_text(settings)
    page = write(runs)
    steps = """sort("macro_f1");
      document.title = order() + document.querySelector("tr.best").cells[1].textContent[0]
        + byId("better").textContent;"""
    assert title_after(page, ORDER + steps) == "abcaDown"


def test_of_several_data_the_best_is_that_of_the_most_runs(runs):
    for name, score, photos in (("d", 0.0052, 9), ("e", 0.004, 9), ("f", 0.7, 50)):
        data = {"source": "folder /x/flowers", "val": photos}
        run(runs / name, macro_f1=score, data=data)
    page = write(runs)
    first = ".map(name => name.textContent[0])"
    steps = f"document.title = [...document.querySelectorAll('tr.best .name')]{first};"
    assert title_after(page, steps) == "b"


def test_a_run_ended_when_it_says_so(runs):
    run(runs / "a", ended="2026-11-22T03:00:00+00:00")
    assert listed(runs)["a"]["when"] == 1795316400.0


def test_columns_that_nothing_fills_or_that_are_alike_are_left_out(page):
    steps = """const heads = [...document.querySelectorAll('th')].map(h => h.textContent);
      view.filter = 'vgg16';
      document.title = [heads.join(), byId('base').textContent, shown().length].join('|');"""
    heads, alike, matching = title_after(page, steps).split("|")
    assert "device" in heads
    assert not {"image size", "backbone", "validated on"} & {*heads.split(",")}
    assert alike == "backbone=VGG16validated on=flowers (50 val)"
    assert matching == "3"  # the filter knows it still


def test_times_are_the_same_in_script_and_text(page):
    times = [0, 0.04, 8.21, 9.96, 88.4, 119.6, 166, 1234.5, 3599.6, 3900, 86400]
    steps = f"document.title = {times}.map(duration).join('|');"
    assert title_after(page, steps).split("|") == [duration(time) for time in times]


def test_a_word_when_nothing_matches(page):
    steps = """type("zebra"); const texts = byId("rows").textContent;
      byId("rows").querySelector("button").click(); document.title = texts + order();"""
    texts = title_after(page, ORDER + steps)
    assert texts == "No run matches “zebra”. Clear the filtercba"


def test_the_lists_say_what_the_filter_says_after_a_reload(runs):
    run(runs / "a", parameters={"backbone": "Small Net"})
    page = write(runs)
    steps = """
      const list = byId("choices").firstChild; list.value = "Small Net";
      list.dispatchEvent(new Event("change")); const texts = [view.filter, order()];
      list.value = ""; view.filter = ""; read(); refresh();
      document.title = [...texts, list.value, view.filter, order()].join("|");"""
    assert title_after(page, ORDER + steps) == (
        'backbone="Small Net"|a|Small Net|backbone="Small Net"|a'
    )
