"""What a report shows first, and what it is called."""

import json
import os
import re
from html import unescape

import nbformat
import pytest
from pages import data_of, seen, title_after

from kernelkit import files
from kernelkit.pages.one_run import report_page
from kernelkit.pages.shared import standalone
from kernelkit.runs import kit_folder
from kernelkit.scores.metrics import Metrics
from kernelkit.shown import Section, Shown

SHOWN = Shown(
    "f1",
    ("model",),
    {"f1": "F1", "seconds": "seconds", "accuracy": "accuracy"},
    (Section("Score of each class", "f.csv", "bars"),),
)
METRICS = {
    "f1": 0.91,
    "seconds": 851.0,
    "accuracy": 0.9,
    "ended": "2026-11-22T03:00:00+00:00",
    "device": {"name": "v5e TPU", "replicas": 8},
    "data": {"source": "folder x/flowers", "image_size": 64, "train": 2492, "val": 520},
    "versions": {"python": "3.12"},
    "git": {"sha": "0" * 40, "dirty": True},
}


def note(folder, name, content):
    """Write one of the kit's own files of a run."""
    text = content if isinstance(content, str) else json.dumps(content)
    files.write_text(kit_folder.path(folder, name), text)


@pytest.fixture
def notebook():
    made = nbformat.v4.new_notebook()
    cell = 'model = "small"  # a | b: x\ndropout = 0.3\nseed = 0\noutput = ""'
    made.cells = [
        nbformat.v4.new_markdown_cell("# Train it"),
        nbformat.v4.new_code_cell(cell, metadata={"tags": ["parameters"]}),
        nbformat.v4.new_code_cell(
            'dropout = 0.5\nmodel = "b"\noutput = "here"',
            metadata={"tags": ["injected-parameters"]},
        ),
        nbformat.v4.new_code_cell("1"),
    ]
    return made


@pytest.fixture
def folder(tmp_path):
    run = tmp_path / "runs" / "02_train-1122-031200"
    files.write_text(run / "metrics.json", "{}")
    (run / "f.csv").write_text("class,F1\nrose,0.9\niris,0.25\n")
    (run / "f.txt").write_text("One class is <b>weak</b>.\n")
    (run / "history.csv").write_text(
        "phase,loss,val_loss,val_f1,val_none\n"
        "head,2,2,0.5,nan\nhead,1,1.5,0.75,inf\ntune,1,1.7,inf,-inf\n"
    )
    return run


@pytest.fixture
def render(notebook, folder):
    """Render the run, or another one."""

    def render(metrics=METRICS, shown=SHOWN, place=folder):
        written = Metrics.of(metrics)
        return report_page.render(notebook, written, shown, place, 1.7955e9, place)[0]

    return render


def test_the_first_screen(render):
    page = render()
    assert "<h1>02_train-1122-031200</h1>" in page
    assert "Train it" in page
    assert "flowers (520 val) · v5e TPU × 8" in page
    cards = re.findall(r"<b>([^<]*)</b><span>([^<]*)</span>", page)
    assert cards == [("0.9100", "F1"), ("14 min 11 s", "time"), ("0.9000", "accuracy")]
    assert "<li>dropout=0.5</li>" in page.partition("<details>")[0]
    assert "<li>seed=0</li>" in page.partition("<details>")[2]
    parts = re.findall('<section id="([^"]*)"', page)
    assert parts == ["curves", "settings", "part-score-of-each-class", "files", "notebook"]
    assert "One class is &lt;b&gt;weak&lt;/b&gt;." in page
    assert "<details open>" not in page


def test_what_a_cell_of_jupyter_set_is_not_at_its_default(render, notebook, folder):
    del notebook.cells[2]  # papermill injected nothing
    assert "All parameters are at the notebook's defaults" in render()
    files.write_text(folder / "metrics.json", json.dumps({"parameters": {"dropout": 0.7}}))
    page = render()
    assert "All parameters are at the notebook's defaults" not in page
    assert "<li>dropout=0.7</li>" in page.partition("<details>")[0]


def test_learning_curves_with_numbers_say_their_best_and_where_a_phase_begins(render):
    curves = data_of(render())["curves"]
    labels = ["F1: highest 0.7500, epoch 2", "loss: lowest 1.5000, epoch 2"]
    assert [curve["label"] for curve in curves] == labels
    assert curves[1]["series"] == [
        {"label": "validation", "values": [2, 1.5, 1.7]},
        {"label": "training", "values": [2, 1, 1]},
    ]
    assert curves[0]["phases"] == [{"at": 2, "label": "tune"}]


@pytest.mark.parametrize(
    ("columns", "labels"),
    [
        ("epoch,val_f1,val_rmse", ["F1: highest 0.6000, epoch 2", "rmse: 2.2500 in epoch 2"]),
        ("epoch,val_other,val_rmse", ["other", "rmse"]),
    ],
)
def test_of_a_curve_that_may_be_better_either_way_the_value_at_the_best_score_is_told(
    render, folder, columns, labels
):
    lines = [columns, "1,0.5,2.5", "2,0.6,2.25", "3,0.4,1.25"]
    files.write_text(folder / "history.csv", "\n".join(lines))
    assert [curve["label"] for curve in data_of(render())["curves"]] == labels


def test_a_run_of_a_sweep_has_the_sweeps_name_for_it_and_leads_back(render, folder):
    (folder.parent / "sweep.json").write_text('{"varying": ["dropout", "seed"]}')
    metrics = {"parameters": {"dropout": 0.0029541004914, "seed": 0}}
    (folder / "metrics.json").write_text(json.dumps(metrics))
    page = render()
    assert "<h1>dropout=0.002954 seed=0</h1>" in page
    assert '<a href="../index.html">← runs</a>' in page


@pytest.mark.parametrize("rehearsal", [False, True])
def test_links_lead_to_where_a_push_comes_from(render, folder, rehearsal):
    push = {"kernel": "me/blossom", "version": 3, "rehearsal": rehearsal}
    note(folder, kit_folder.MARKER, push)
    note(folder, kit_folder.LOG_TEXT, "epoch 1")
    head = render().partition("<main")[0]
    address = "https://www.kaggle.com/code/me/blossom"
    assert (f'<a href="{address}">me/blossom version 3 on Kaggle</a>' in head) is not rehearsal
    assert "commit 000000000000 with changes" in head
    assert '<a href=".kernelkit/log.txt">' in head


def test_a_run_at_home_shows_the_command_that_repeats_it(render, folder, tmp_path):
    (tmp_path / "pyproject.toml").touch()
    run = {"notebook": str(tmp_path / "notebooks" / "02_train.py"), "parameters": {}}
    note(folder, kit_folder.STATE, run)
    command = re.search('<code class="command">(.*?)</code>', render())[1]
    text = re.sub("<[^>]*>", "", command)
    assert text == "kernelkit run notebooks/02_train.py -p model=b -p dropout=0.5"
    assert command.count("<span>") == 3  # no line ends between -p and what it sets


@pytest.mark.parametrize("rehearsal", [False, True])
def test_a_push_shows_the_command_that_repeats_it(render, folder, rehearsal):
    note(folder, kit_folder.MARKER, {"kernel": "me/a", "version": 1, "rehearsal": rehearsal})
    cell = "# Pushed\nBUNDLE = {'notebook': 'notebooks/00 first.ipynb',\n 'packages': []}"
    note(folder, kit_folder.PUSHED, {"cells": [{"cell_type": "code", "source": cell}]})
    page = render(METRICS | {"device": {"kind": "tpu"}})
    command = re.search('<code class="command">(.*?)</code>', page)[1]
    text = unescape(re.sub("<[^>]*>", "", command))
    name = "rehearse" if rehearsal else "push"
    options = "--accelerator tpu -p model=b -p dropout=0.5"
    if rehearsal:  # an identical one would be refused
        options = options.replace("-p", "--force -p", 1)
    assert text == f"kernelkit {name} 'notebooks/00 first.ipynb' {options}"


def test_a_push_of_a_script_is_repeated_with_its_parameters(render, folder):
    """A script's report has no cell of parameters that differ."""
    marker = {"kernel": "me/a", "version": 1, "rehearsal": False, "parameters": {"depth": 3}}
    note(folder, kit_folder.MARKER, marker)
    command = re.search('<code class="command">(.*?)</code>', render(METRICS | {"device": {}}))[1]
    assert re.sub("<[^>]*>", "", command).endswith("push -p depth=3")


def test_a_push_that_names_no_device_is_repeated_on_the_machine_of_its_settings(render, folder):
    note(folder, kit_folder.MARKER, {"kernel": "me/a", "version": 1, "rehearsal": False})
    command = re.search('<code class="command">(.*?)</code>', render(METRICS | {"device": {}}))[1]
    assert "--accelerator" not in command


def test_a_report_does_not_list_itself(render, folder):
    for name in ("metrics.json", "report.html"):
        files.write_text(folder / name, "{}")
    listed = render().partition('<section id="files">')[2].partition("</section>")[0]
    assert "metrics.json" in listed
    assert "report.html" not in listed


def test_one_epoch_and_one_sample_of_the_machine_make_no_chart(render, folder):
    (folder / "history.csv").write_text("epoch,loss,val_loss\n1,2,3\n")
    (folder / "resources.csv").write_text("seconds,cpu_seconds,memory\n10,5,1000\n")
    page = render()
    assert 'id="curves"' not in page
    assert 'id="machine"' not in page


def test_a_run_is_compared_with_the_last_one_of_its_notebook(render, folder):
    runs = [("now", "a", 0.5), ("other", "b", 0.1), ("last", "a", 0.3), ("first", "a", 0.2)]
    for age, (name, book, dropout) in enumerate(runs):
        run = folder.parent / name
        state = {"notebook": f"/{book}.py", "parameters": {"dropout": dropout, "output": name}}
        note(run, kit_folder.STATE, state)
        metrics = files.write_text(run / "metrics.json", f'{{"f1": {dropout}, "accuracy": 0.5}}')
        (run / "f.csv").write_text(f"class,F1\nrose,{dropout}\niris,{1.05 - dropout / 2}\nfern,1\n")
        os.utime(metrics, (10**9 - age, 10**9 - age))

    def tables_in(name):
        page = render(place=folder.parent / name)
        since = page.partition('<section id="since">')[2].partition("</section>")[0]
        return " ".join(re.sub("<.*?>", " ", since).partition(": ")[2].split())

    assert tables_in("now") == (
        "last. Measures F1 0.3000 → 0.5000 Parameters dropout 0.3 → 0.5 "
        "Changed most rose 0.300 → 0.500 iris 0.900 → 0.800"
    )
    for name, score in (("now", 0.5), ("last", 0.1)):
        (folder.parent / name / "f.csv").write_text(f"class,F1\nnone,{score}\n")
    assert tables_in("now").endswith("Changed most none 0.100 → 0.500")
    assert tables_in("last").startswith("first.")
    assert not tables_in("first")


def test_the_last_run_is_the_one_that_the_verdict_means_and_what_one_lacks_is_told(render, folder):
    for age, (name, extra) in enumerate(
        [
            ("now", {"accuracy": 0.5, "data": {"name": "leaves"}, "parameters": {"a": 1}}),
            ("elsewhere", {"data": {"name": "flowers"}, "parameters": {"a": 2}}),
            ("failed", {"data": {"name": "leaves"}, "parameters": {"a": 3}}),
            ("last", {"data": {"name": "leaves"}, "parameters": {"b": 1}}),
        ]
    ):
        run = folder.parent / name
        note(run, kit_folder.STATE, {"notebook": "/a.py", "over": name != "failed"})
        text = json.dumps({"f1": 0.5 - age / 10, **extra})
        metrics = files.write_text(run / "metrics.json", text)
        os.utime(metrics, (10**9 - age, 10**9 - age))
    now = folder.parent / "now"
    page = render(json.loads((now / "metrics.json").read_text()), place=now)
    text = " ".join(re.sub("<.*?>", " ", page).split())
    assert "0.3000 better than the last comparable run, last." in text
    since = text.partition("that it can be compared with: ")[2]
    assert since.startswith(
        "last. Measures F1 0.2000 → 0.5000 accuracy none → 0.5000 Parameters b 1 → none a none → 1"
    )


def test_runs_that_are_alike_are_said_to_be_and_others_not(render, folder):
    said = "Measures and parameters are the same."
    for age, name in enumerate(["now", "last"]):
        run = folder.parent / name
        note(run, kit_folder.STATE, {"notebook": "/a.py", "parameters": {"a": 1}})
        metrics = files.write_text(run / "metrics.json", '{"f1": 0.5}')
        os.utime(metrics, (10**9 - age, 10**9 - age))
    now = folder.parent / "now"
    assert said in render({"f1": 0.5}, place=now)
    note(now, kit_folder.STATE, {"notebook": "/a.py", "parameters": {"a": 1, "b": 2}})
    assert said not in render({"f1": 0.5}, place=now)


def test_without_parameters_and_other_measures_there_is_no_heading_of_them(
    render, notebook, folder
):
    del notebook.cells[1:3]
    assert 'id="settings"' not in render({"f1": 0.5})
    assert 'id="settings"' in render({"f1": 0.5, "versions": {"python": "3.12"}})


def test_the_mean_of_the_bars_is_theirs(render, folder):
    assert "below the mean of 0.575" in render()
    (folder / "f.csv").write_text("class,F1\nrose,0.9\niris,0.3\n")
    assert "below the mean of 0.600" in render()


def test_a_parameter_that_the_notebook_does_not_declare_is_at_no_default(render, notebook, folder):
    del notebook.cells[1:3]
    files.write_text(folder / "metrics.json", json.dumps({"parameters": {"dropout": 0.7}}))
    page = render()
    assert "default" not in page.partition('id="settings"')[2].partition("</p>")[0].replace(
        "declares no defaults", ""
    )
    assert "<li>dropout=0.7</li>" in page


def test_a_run_that_was_cut_off_says_so_unless_a_command_is_still_at_work(render, folder):
    note(folder, kit_folder.STATE, {"over": False})
    said = "<strong>The run did not finish.</strong></p>"
    assert said in render()
    with files.try_lock(kit_folder.path(folder, kit_folder.LOCK)):
        assert said not in render()
    assert said not in render(METRICS | {"stopped": "time limit"})
    note(folder, kit_folder.STATE, {"over": True})
    assert said not in render()


@pytest.mark.browser
@pytest.mark.parametrize("columns", ["memory", "seconds,memory", "seconds,cpu_seconds,memory"])
def test_records_of_the_machine_with_other_columns_empty_no_page(render, folder, columns):
    (folder / "resources.csv").write_text(f"{columns}\n1,x\n2,3\n")
    page = files.write_text(folder / "page.html", render())
    assert title_after(page, "document.title = 'report/report.js' in modules") == "true"


@pytest.mark.browser
def test_what_is_not_known_of_the_machine_has_no_chart(render, folder):
    rows = ["seconds,memory,cpu_seconds,device_mib", "10,2e9,5,", "20,3e9,9,", "30,3e9,9,"]
    (folder / "resources.csv").write_text("\n".join(rows))
    shown = seen(files.write_text(folder / "page.html", render()))
    assert "Memory: most 3.00 GB, mean 2.67" in shown
    assert "Memory of the first device: most" not in shown


def test_a_failed_run_has_a_banner(render, notebook, folder):
    output = nbformat.v4.new_output("error", ename="ValueError", evalue="<b>", traceback=["x"])
    notebook.cells[-1].outputs = [output]
    (folder / "log.txt").write_text("what it said")
    page = render({})
    banner = page.partition('<p class="failure">')[2].partition("</p>")[0]
    assert "ValueError: &lt;b&gt;" in banner
    assert page.count('<a href="log.txt">') == 2  # in the head, and among the files
    assert 'href="#failed"' in banner
    assert 'id="failed"' in page
    assert "<details open>" in page


def test_a_notebook_without_a_run_is_open(render, tmp_path):
    page = render({}, Shown(), tmp_path)
    assert "<details open>" in page
    assert "<h1>Train it</h1>" in page
    assert "all measures" not in page


def test_no_text_of_a_page_becomes_markup():
    back = {"up <b>": "../up.html"}
    data = {"x": "</script>", "y": float("nan")}
    page = standalone.page("a <title>", "<main></main>", report_page.SCRIPT, data, back)
    assert data_of(page) == data | {"y": None}
    assert "&lt;title&gt;" in page
    assert page.count("</script>") == 2
    assert '<a href="../up.html">← up &lt;b&gt;</a></nav>' in page
