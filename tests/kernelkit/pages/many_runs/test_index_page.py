"""The page over all runs, as text and as a browser shows it."""

import base64
import hashlib
import io
import json
import os
import re
import shlex
import sys
from html import unescape

import nbformat
import numpy as np
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output
from pages import data_of, seen, title_after
from PIL import Image

from kernelkit import files, project
from kernelkit.notebook.interface.parameters import declared
from kernelkit.notebook.interface.values import resolve
from kernelkit.pages.many_runs import index_page
from kernelkit.pages.many_runs.runs_page import RunsPage, ShownRun
from kernelkit.pages.report import report
from kernelkit.runs import kit_folder, submitted
from kernelkit.shown import Shown, duration


def run(folder, **metrics):
    """Write a run's metrics, or change those that it has."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "metrics.json"
    earlier = json.loads(path.read_text()) if path.is_file() else {}
    path.write_text(json.dumps(earlier | metrics))
    return path


def write(runs):
    return index_page.write(dict.fromkeys(index_page.runs_under([runs])), runs / "index.html")


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
            AUC=score,
            seconds=1234.5 + hour,
            device={"name": device, "replicas": 8 if "TPU" in device else 1},
            parameters={"backbone": "VGG16"},
            data={"source": "folder /x/flowers", "val": 50},
        )
        os.utime(path, (1e9 + 3600 * hour,) * 2)
        path.with_name("report.html").write_text("<p>report</p>")
    run(tmp_path / "runs" / "local_kaggle" / "sessions" / "1" / "working")
    return tmp_path / "runs"


@pytest.fixture
def page(runs):
    return write(runs)


def test_a_run_that_goes_on_is_listed_and_stays_when_it_is_killed(runs, printed):
    now = runs / "now"
    printed(now, "epoch 2")

    def watched():
        data = data_of(index_page.write_as_it_is(runs, 5.0).read_text())
        facts = [(run["state"], run["log"], run["note"]) for run in data["runs"]]
        return data["live"]["text"], facts

    others = [("", "", ""), ("", "", ""), ("", "", "no macro F1")]
    with files.try_lock(kit_folder.path(now, kit_folder.LOCK)):
        assert watched() == ("1 active run", [*others, ("running", "epoch 2", "")])
    assert watched() == ("no active runs", [*others, ("", "", "did not finish")])


def test_runs_are_listed_with_links_and_no_network(page):
    text, data = page.read_text(), data_of(page.read_text())
    runs = {run["name"]: run for run in data["runs"]}
    assert set(runs) == {"a", "b <odd> & new", "c"}  # and none of the rehearsal's own files
    assert runs["b <odd> & new"]["report"] == "b%20%3Codd%3E%20%26%20new/report.html"
    assert "<odd>" not in text
    assert "{{" not in text
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", text)
    assert runs["a"]["device"] == "TPU v5e × 8"
    assert runs["a"]["parameters"]["backbone"] == "VGG16"
    assert runs["a"]["data"] == "flowers (50 val)"
    assert runs["a"]["metrics"] == {"macro_f1": 0.8, "AUC": 0.8, "seconds": 1234.5}
    assert data["labels"]["macro_f1"] == "macro F1"


def test_where_the_project_names_no_measures_all_have_a_column():
    run = ShownRun(id="a", name="a", setting="a", metrics={"rmse": 2.5, "mean_error": 1})
    page = RunsPage("Runs", [run], Shown(score="rmse"), ()).html()
    assert data_of(page)["labels"] == {"rmse": "rmse", "mean_error": "mean error"}


@pytest.mark.browser
def test_a_chart_has_room_for_a_history_of_every_step(page):
    steps = "document.title = range(Array.from({ length: 400_000 }, (_, n) => n / 4e5)).join()"
    assert title_after(page, steps).startswith("-0.119")


def test_nothing_but_the_kits_own_script_may_run(page):
    text = page.read_text()
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    hashes = [base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in scripts]
    assert len(scripts) == 1
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    assert re.findall("'sha256-([^']*)'", policy) == hashes
    assert "default-src 'none'" in policy
    assert "unsafe-inline" not in policy.partition("script-src")[2]


@pytest.mark.browser
def test_figures_that_are_not_verified_are_marked_in_the_table(runs):
    files.write_text(kit_folder.path(runs / "a", kit_folder.MARKER), '{"kernel": "me/a"}')
    assert {name: bool(run["unverified"]) for name, run in listed(runs).items()} == {
        "a": True,
        "b <odd> & new": False,
        "c": False,
    }
    document = seen(runs / "index.html")
    assert "The figures of 1 run are not verified: its session left no manifest" in document
    rows = document.split('id="rows"')[1].partition("</tbody>")[0]
    (worse,) = re.findall(r"<tr(?:(?!</tr>).)*0\.8000.*?</tr>", rows, re.DOTALL)
    (best,) = re.findall(r"<tr(?:(?!</tr>).)*0\.9000.*?</tr>", rows, re.DOTALL)
    assert "not verified" not in best
    marked = re.findall(r'data-label="([^"]*)"[^>]*>(?:(?!</td>).)*not verified', worse, re.DOTALL)
    assert marked == ["macro F1", "time"]


def test_runs_are_called_by_what_differs_and_not_by_a_hash(runs):
    for seed, shape in enumerate(["up", "down"]):
        run(runs / f"shapes/{seed:012x}", parameters={"shape": shape, "seed": seed, "size": 3})
    (runs / "shapes/sweep.json").write_text('{"varying": ["shape", "seed"]}')
    (runs / "shapes/index.html").touch()
    own = [run for run in listed(runs).values() if run["group"] == "shapes"]
    assert [(run["name"], run["setting"]) for run in own] == [
        ("shape=up seed=0", "shape=up"),
        ("shape=down seed=1", "shape=down"),
    ]
    assert {run["sweep"] for run in own} == {"shapes/index.html"}


def test_a_run_without_metrics_has_ended_if_its_notebook_did(runs):
    """As notebooks do that explore, or compare runs, and those of which a push came home."""
    error = new_output("error", ename="ValueError", evalue="withered", traceback=["x"])
    for name, counts, outputs in (
        ("explored", (1, 2), []),
        ("pushed", (None, None), []),
        ("failed", (1, 2), [error]),
        ("cut-off", (1, None), []),
        ("cut-off with {}", (1, None), []),
    ):
        cells = [new_code_cell("1", execution_count=count, outputs=outputs) for count in counts]
        text = nbformat.writes(new_notebook(cells=cells))
        files.write_text(runs / name / "run.ipynb", text)
    run(runs / "cut-off with {}")
    notes = {name: run["note"] for name, run in listed(runs).items()}
    assert notes["explored"] == notes["pushed"] == ""
    assert notes["failed"] == "failed: ValueError: withered"
    assert notes["cut-off"] == notes["cut-off with {}"] == "did not finish"


def test_a_run_that_failed_after_its_metrics_is_marked(runs):
    error = new_output("error", ename="OSError", evalue="no space\nleft", traceback=["x"])
    failed = new_code_cell("1", execution_count=1, outputs=[error])
    expected = nbformat.from_dict(failed | {"metadata": {"tags": ["raises-exception"]}})
    for name, cell in (("broken", failed), ("meant", expected)):
        run(runs / name, macro_f1=0.95)
        files.write_text(runs / name / "run.ipynb", nbformat.writes(new_notebook(cells=[cell])))
    for name, over in (("killed", False), ("whole", True)):
        run(runs / name, macro_f1=0.95)
        files.write_text(kit_folder.path(runs / name, kit_folder.STATE), json.dumps({"over": over}))
    run(runs / "out-of-time", macro_f1=0.95, stopped="time limit")
    files.write_text(kit_folder.path(runs / "out-of-time", kit_folder.STATE), '{"over": false}')
    notes = {name: run["note"] for name, run in listed(runs).items()}
    assert notes["broken"] == "failed: OSError: no space"
    assert notes["killed"] == "did not finish"
    assert notes["out-of-time"] == "stopped: time limit"
    assert notes["meant"] == notes["whole"] == notes["a"] == ""


def test_a_run_that_somebody_interrupted_has_not_failed(runs):
    error = new_output("error", ename="KeyboardInterrupt", evalue="", traceback=["x"])
    stopped = new_code_cell("1", execution_count=1, outputs=[error])
    files.write_text(runs / "a" / "run.ipynb", nbformat.writes(new_notebook(cells=[stopped])))
    assert listed(runs)["a"]["note"] == "interrupted"


def test_a_score_that_is_no_number_is_said_to_be_missing(runs):
    run(runs / "a", macro_f1="high")
    assert listed(runs)["a"]["note"] == "no macro F1"


@pytest.mark.browser
def test_the_header_names_the_best_run_of_each_data_set(runs):
    run(runs / "d", macro_f1=0.7, data={"source": "oxford"}, chance={"macro_f1": 0.01})
    run(runs / "e", macro_f1=0.6, data={"source": "oxford"})
    run(runs / "f", macro_f1=0.6, data={"source": "alone"})
    run(runs / "b <odd> & new", intervals={"macro_f1": [0.88, 0.92]})
    run(runs / "a", intervals={"macro_f1": [0.78, 0.82]})
    answers = re.search(r'id="answers".*?</dl>', seen(write(runs)), re.DOTALL)[0]
    text = unescape(re.sub("<[^>]*>", "", answers))
    assert "On flowers (50 val): b <odd> & new, macro F1 0.9000 (95 % interval 0.8800" in text
    assert "the next, a, has 0.8000: the gap is more than noise." in text
    assert "On oxford: d, macro F1 0.7000 (guessing reaches 0.0100); the next, e" in text
    assert "alone" not in text


def answers(runs):
    """What the header of the page over all runs says."""
    found = re.search(r'id="answers".*?</dl>', seen(write(runs)), re.DOTALL)[0]
    return unescape(re.sub("<[^>]*>", "", found))


@pytest.mark.browser
def test_of_equal_scores_none_is_called_the_best(runs):
    run(runs / "c", macro_f1=0.9)
    assert "On flowers (50 val): 2 runs have macro F1 0.9000." in answers(runs)
    run(runs / "c", macro_f1=0.91)
    assert "On flowers (50 val): c, macro F1 0.9100; the next, b" in answers(runs)


@pytest.mark.browser
def test_which_runs_by_hand_are_seeds_of_one_configuration_is_not_guessed(runs):
    for seed, name in enumerate(["a", "b <odd> & new"]):
        interval = {"macro_f1": [0.7, 0.95]}
        run(runs / name, intervals=interval, parameters={"backbone": "VGG16", "seed": seed})
    text = answers(runs)
    assert "the next, a, has 0.8000: the gap could be noise." in text
    assert "configurations" not in text


@pytest.mark.browser
def test_a_run_that_did_not_reach_its_end_is_never_the_best(runs):
    state = kit_folder.path(runs / "b <odd> & new", kit_folder.STATE)
    files.write_text(state, '{"over": false}')
    assert "flowers" not in answers(runs)  # a alone is no best
    assert 'class="badge"' not in seen(runs / "index.html")
    files.write_text(state, '{"over": true}')
    assert "b <odd> & new, macro F1 0.9000" in answers(runs)


@pytest.mark.browser
def test_an_interval_is_named_by_its_own_level(runs):
    run(runs / "b <odd> & new", intervals={"macro_f1": [0.88, 0.92], "level": 0.8})
    assert "80 % interval 0.8800 to 0.9200" in answers(runs)


@pytest.mark.browser
def test_runs_that_do_not_name_their_data_are_said_to(runs):
    run(runs / "a", data={}, macro_f1=0.99)
    run(runs / "c", data={}, macro_f1=0.5)
    assert "On data that the runs do not name: a, macro F1 0.9900" in answers(runs)


def predict(folder, ids, labels):
    """Write what a run predicted for the validation data with these ids and classes."""
    probabilities = np.eye(3)[labels]
    np.savez(folder / "val_predictions.npz", ids=ids, labels=labels, probabilities=probabilities)


def test_of_runs_that_name_no_data_only_those_of_one_notebook_are_compared(runs):
    for name, notebook in (("d", "x.ipynb"), ("e", "x.ipynb"), ("f", "deep/y.ipynb")):
        run(runs / name, macro_f1=0.5)
        state = json.dumps({"notebook": str(runs.parent / notebook)})
        files.write_text(kit_folder.path(runs / name, kit_folder.STATE), state)
    files.write_text(runs.parent / "pyproject.toml", "")
    found = listed(runs)
    assert [found[name]["notebook"] for name in "def"] == ["x.ipynb", "x.ipynb", "deep/y.ipynb"]
    assert found["d"]["content"] == found["e"]["content"] != found["f"]["content"]


def test_data_are_compared_by_their_content_and_not_by_their_name(runs):
    run(runs / "a", data={"source": "embedded", "val": 2})
    run(runs / "c", macro_f1=0.7, data={"source": "/kaggle/input/flowers", "val": 2})
    predict(runs / "a", ["x", "y"], [0, 1])
    predict(runs / "c", ["y", "x"], [1, 0])  # in another order
    predict(runs / "b <odd> & new", ["x", "y"], [0, 2])
    contents = {name: found["content"] for name, found in listed(runs).items()}
    assert contents["a"] == contents["c"] != contents["b <odd> & new"]


def test_a_run_that_was_cut_off_does_not_choose_the_photos(runs):
    run(runs / "c", macro_f1=0.7)
    for name in "ac":
        predict(runs / name, ["x", "y"], [0, 1])
    predict(runs / "b <odd> & new", ["z"], [2])
    assert set(data_of(write(runs).read_text())["photos"]["guesses"]) == {
        "b%20%3Codd%3E%20%26%20new"
    }
    files.write_text(kit_folder.path(runs / "b <odd> & new", kit_folder.STATE), '{"over": false}')
    assert set(data_of(write(runs).read_text())["photos"]["guesses"]) == {"a", "c"}


@pytest.mark.browser
def test_what_a_run_lacks_is_not_the_same_in_every_run(runs):
    title = "document.title = alike.map(({ name, values }) => name + values).join()"
    assert "backboneVGG16" in title_after(write(runs), title)
    run(runs / "c", parameters={"epochs": 3})
    assert "backbone" not in title_after(write(runs), title)


def test_why_a_run_stopped_is_made_fit_for_the_page(runs):
    run(runs / "a", stopped="\x1b[31mred\u202e" + 5000 * "x")
    note = listed(runs)["a"]["note"]
    assert note.startswith("stopped: redxxx")
    assert len(note) < 300


def test_a_run_that_was_stopped_or_has_no_score_says_so(runs):
    run(runs / "a", stopped="time limit")
    notes = {name: run["note"] for name, run in listed(runs).items()}
    assert notes == {"a": "stopped: time limit", "b <odd> & new": "", "c": "no macro F1"}


@pytest.mark.browser
@pytest.mark.skipif(sys.platform == "darwin", reason="names of files are UTF-8 there")
def test_a_run_is_linked_and_read_where_its_name_is_not_utf_8(tmp_path):
    folder = tmp_path / "50% #1 \udce4"
    run(folder, macro_f1=0.5).with_name("report.html").touch()
    (folder / "history.csv").write_text("step,val_macro_f1\n6,\n7,0.5\n")
    (odd,) = data_of(write(tmp_path).read_text())["runs"]
    assert (odd["along"]["step"], odd["curve"]) == ([6, 7], [None, 0.5])
    assert odd["report"] == "50%25%20%231%20%E4/report.html"
    shown = title_after(tmp_path / "index.html", 'document.title = byId("rows").textContent')
    assert "50%25%20%231%20%E4" in shown


def test_metrics_of_another_kind_are_listed_as_they_are(tmp_path):
    run(tmp_path, macro_f1="high", device="TPU", data=[1], ended="2026-11-22T03:00:00+00:00")
    (odd,) = listed(tmp_path).values()
    assert (odd["name"], odd["metrics"], odd["device"]) == (tmp_path.name, {}, "")
    assert odd["when"] == 1795316400.0


ORDER = """
  const order = () => [...byId("rows").rows].map(r => r.cells[1].textContent[0]).join("");
  const sort = name => [...document.querySelectorAll("th")]
    .find(h => h.textContent === name).firstElementChild.click();
  const type = text => { byId("filter").value = text;
    byId("filter").dispatchEvent(new Event("input")); };
"""


@pytest.mark.browser
def test_the_filter_finds_runs_by_what_the_page_says_of_them(runs):
    run(runs / "a", stopped="time limit", parameters={"backbone": None})
    run(runs / "b <odd> & new", parameters={"backbone": [64, 32]})
    run(runs / "c", parameters={"backbone": True})
    for folder in runs.glob("[abc]*"):
        run(folder, ended="2001-09-09T12:00:00")
    files.write_text(kit_folder.path(runs / "a", kit_folder.MARKER), '{"kernel": "me/a"}')
    typed = {
        "stopped": "a",
        "not verified": "a",
        "verified": "bc",
        "run=c": "c",
        "when=2001-09-09": "abc",
        "when<2001-09-09 00:00": "",
        "backbone=None": "a",
        "backbone=[64, 32]": "b",
        "backbone=true": "c",
    }
    steps = f"""const names = (text) => {{ change({{ filter: text }});
      return matching().map((row) => row.name[0]).sort().join(""); }};
      document.title = JSON.stringify({json.dumps(list(typed))}.map(names));"""
    found = json.loads(unescape(title_after(write(runs), steps)))
    assert dict(zip(typed, found, strict=True)) == typed


@pytest.mark.browser
def test_it_sorts_filters_and_leaves_out_columns_in_a_browser(page):
    times = [0, 0.04, 8.21, 9.96, 88.4, 119.6, 166, 1234.5, 3599.6, 3900, 86400]
    steps = f"""
      const orders = [order()];
      for (const name of ["macro F1", "macro F1", "run"]) {{ sort(name); orders.push(order()); }}
      type("tpu vgg"); orders.push(order(), byId("count").textContent);
      type("AUC>0.85"); orders.push(order());
      type("zebra"); const texts = [orders.join(" "), byId("rows").textContent];
      byId("rows").querySelector("button").click();
      const heads = [...document.querySelectorAll("th")].map(head => head.textContent);
      texts.push(order(), heads.join(), byId("base").textContent, {times}.map(duration));
      document.title = texts.join("|");"""
    orders, nothing, all_again, heads, alike, shown = title_after(page, ORDER + steps).split("|")
    # newest first; runs without a score stay last whichever way
    assert orders == "cba bac abc abc a 1 of 3 b"
    assert (nothing, all_again) == ("No run matches “zebra”. Clear the filter", "abc")
    assert "device" in heads
    assert not {"image size", "backbone", "validated on"} & {*heads.split(",")}
    assert alike == "backbone=VGG16validated on=flowers (50 val)"  # the filter knows it still
    assert shown.split(",") == [duration(time) for time in times]


@pytest.mark.browser
def test_the_command_that_repeats_a_run_gives_the_same_values(page):
    values = {"a": None, "b": [True, None, "x'\"y"], "c": "it's true", "d": {"k": False}, "e": 0.1}
    steps = f"""data.notebook = "a b.py";
      document.title = command({{ parameters: {json.dumps(values)} }});"""
    kernelkit, run, notebook, *given = shlex.split(unescape(title_after(page, steps)))
    assert (kernelkit, run, notebook) == ("kernelkit", "run", "a b.py")
    parameters = declared("a = None\nb = []\nc = ''\nd = {}\ne = 1.0")
    assert resolve(parameters, given[1::2]) == values


@pytest.mark.browser
@pytest.mark.parametrize(
    ("scores", "best"),
    [({"a": (0.8, 60)}, ""), ({"d": (0.0052, 9), "e": (0.004, 9), "f": (0.7, 50)}, "d,b")],
)
def test_the_best_of_each_data_set_is_marked(runs, scores, best):
    for name, (score, photos) in scores.items():
        data = {"source": "folder /x/flowers", "val": photos}
        run(runs / name, macro_f1=score, data=data)
    page = write(runs)
    steps = """const best = [...document.querySelectorAll("tr.best .name")];
      document.title = best.map(name => name.textContent[0]);"""
    assert title_after(page, steps) == best


@pytest.mark.browser
def test_the_lowest_score_is_the_best_where_the_project_says_so(runs, tmp_path, monkeypatch):
    monkeypatch.delenv(project.SHOWN)
    settings = '[tool.kernelkit.shown]\nscore = "macro_f1"\nminimize = true\n'
    (tmp_path / "pyproject.toml").write_text(settings)
    page = write(runs)
    steps = """sort("macro f1");
      document.title = order() + document.querySelector("tr.best").cells[1].textContent[0]
        + byId("better").textContent;"""
    assert title_after(page, ORDER + steps) == "abcaDown"


@pytest.mark.browser
def test_the_lists_say_what_the_filter_says_after_a_reload(runs):
    run(runs / "a", parameters={"backbone": "Small Net"})
    page = write(runs)
    steps = """
      const list = byId("choices").firstChild; list.value = "Small Net";
      list.dispatchEvent(new Event("change")); const texts = [view.filter, order()];
      list.value = ""; view.filter = ""; readAddress(); showChoices(); table();
      document.title = [...texts, list.value, view.filter, order()].join("|");"""
    assert title_after(page, ORDER + steps) == (
        'backbone="Small Net"|a|Small Net|backbone="Small Net"|a'
    )


@pytest.fixture
def compared(tmp_path):
    """Runs with these (validation, public) scores in one competition; gives their page's data."""

    def compared(*pairs):
        for number, (validation, public) in enumerate(pairs):
            folder = tmp_path / "runs" / f"run-{number}"
            run(folder, macro_f1=validation)
            entry = submitted.Submitted("garden", reference=number, score=public)
            submitted.add(folder, entry)
        return data_of(write(tmp_path / "runs").read_text())

    return compared


def test_the_public_score_stands_beside_the_validation_score(compared):
    data = compared((0.8, "0.75"), (0.9, ""))
    assert [run["public"] for run in data["runs"]] == [0.75, None]
    assert data["agreement"] == ""


def test_public_scores_that_follow_the_validation_are_said_to_once_there_are_five(compared):
    data = compared(*((n / 10, str(n / 20)) for n in range(1, 6)))
    words = "garden: rank correlation of validation and public score 1.00 over 5 runs."
    assert data["agreement"] == words
    assert not any(run["contradicts"] for run in data["runs"])


def test_a_run_whose_public_score_contradicts_its_validation_is_marked(compared):
    data = compared(*((n / 10, str(n / 20)) for n in range(1, 5)), (0.5, "0.01"))
    assert [run["contradicts"] for run in data["runs"]] == [False] * 4 + [True]


def test_public_scores_that_contradict_the_validation_are_said_to(compared):
    data = compared(*((n / 10, str(1 - n / 20)) for n in range(1, 6)))
    assert (
        "-1.00 over 5 runs, so that public scores contradict the validation" in (data["agreement"])
    )
    assert all(run["contradicts"] for run in data["runs"])


def test_a_run_is_shown_with_a_small_copy_of_the_picture_that_it_drew_last(tmp_path):
    def png(colour):
        file = io.BytesIO()
        Image.new("RGB", (800, 400), colour).save(file, format="PNG")
        return base64.b64encode(file.getvalue()).decode()

    run = tmp_path / "drawn-1"
    run.mkdir()
    drawn = [
        nbformat.v4.new_output("display_data", data={"image/png": png(colour)})
        for colour in ("red", "blue")
    ]
    cell = nbformat.v4.new_code_cell("draw()", outputs=drawn, execution_count=1)
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), run / "run.ipynb")
    page = report([tmp_path], index=True)[0]
    (shown,) = data_of(page.read_text())["runs"]
    kind, _, encoded = shown["thumbnail"].partition(",")
    small = Image.open(io.BytesIO(base64.b64decode(encoded))).convert("RGBA")
    assert kind == "data:image/png;base64"
    assert small.size == (160, 80)
    assert small.getpixel((80, 40)) == (0, 0, 255, 255)


@pytest.mark.parametrize("encoded", ["", "AAAA", "iVBORw0KGgo", "not base64"])
def test_a_picture_that_cannot_be_read_costs_no_page(tmp_path, encoded):
    run = tmp_path / "drawn-1"
    run.mkdir()
    drawn = nbformat.v4.new_output("display_data", data={"image/png": encoded, "text/plain": "x"})
    cell = nbformat.v4.new_code_cell("draw()", outputs=[drawn], execution_count=1)
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), run / "run.ipynb")
    (shown,) = data_of(report([tmp_path], index=True)[0].read_text())["runs"]
    assert shown["thumbnail"] == ""
    assert shown["note"] == ""
