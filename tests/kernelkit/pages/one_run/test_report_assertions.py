"""What the report of a run asserts: each statement is made true and seen, made false and gone."""

import contextlib
import html
import json
import re

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from kernelkit import files, project
from kernelkit.pages.one_run import report_page
from kernelkit.pages.shared import standalone
from kernelkit.runs import kit_folder, run_folder

TEMPLATE = standalone.PAGES / "report.html.j2"
PROJECT = """
[tool.kernelkit.shown]
score = "f1"
measures = {f1 = "F1", accuracy = "accuracy"}
[[tool.kernelkit.shown.sections]]
title = "Classes"
file = "classes.csv"
kind = "bars"
[[tool.kernelkit.shown.sections]]
title = "Matrix"
file = "matrix.csv"
kind = "matrix"
"""
FAILED = new_output("error", ename="ValueError", evalue="bad", traceback=["x"])
STOPPED = new_output("error", ename="KeyboardInterrupt", evalue="", traceback=["x"])
DONE = new_output("error", ename="SystemExit", evalue="0", traceback=["x"])
AT_HOME = {"notebook": "train.ipynb", "parameters": {"rate": 0.1}, "over": True}
PUSH = {"kernel": "anna/train", "version": 3, "parameters": {}, "rehearsal": False}
REHEARSAL = {**PUSH, "rehearsal": True}
ON_TPU = {"kind": "tpu", "minutes": 60.0, "held_minutes": 50.0}
MATRIX = ",a,b\na,{aa},{ab}\nb,{ba},4"
LINES = "epoch,val_f1\n1,0.5\n2,{second}"
SUBMITTED = {"competition": "leaves", "score": "0.77", "reference": 1}

# What makes the words true in the report of a run, and what changed of that makes them false:
# `metrics`, `defaults` and `given` parameters of the notebook (`given` None: papermill set none),
# the `error` that its last cell shows, the `state` and the `push` that the kit noted, its own files
# by `kit` and the run's by `files`, whether a command holds it (`is_held`), and `beside`, the run
# before this one.
STATEMENTS = {
    "The run goes on: this is what it had done when the page was written.": (
        {"files": {run_folder.PART: "{}"}, "is_held": True},
        {"is_held": False},
    ),
    "The run did not finish.": ({"state": {**AT_HOME, "over": False}}, {"state": AT_HOME}),
    "The run did not finish. ValueError: bad": ({"error": FAILED}, {"error": DONE}),
    "The cell that failed": ({"error": FAILED}, {"error": None}),
    "The cell that it stopped in": ({"error": STOPPED}, {"error": FAILED}),
    "What failed": ({"error": FAILED, "kit": {"pushed.py": "1"}}, {"kit": {}}),
    "What looks wrong:": ({"metrics": {"warnings": ["odd"]}}, {"metrics": {"warnings": []}}),
    "Run it again: kernelkit run train.ipynb": ({"state": AT_HOME}, {"state": {}}),
    "kernelkit push": ({"state": {}, "push": PUSH}, {"push": REHEARSAL}),
    "kernelkit rehearse --force": ({"state": {}, "push": REHEARSAL}, {"push": PUSH}),
    "--accelerator tpu": (
        {"state": {}, "push": {**PUSH, "parameters": {"accelerator": "tpu"}}},
        {"push": {**PUSH, "parameters": {"accelerator": "none"}}},
    ),
    "-p rate=0.5": ({"given": {"rate": 0.5}}, {"given": {"rate": 0.1}}),
    "anna/train version 3 on Kaggle": ({"push": PUSH}, {"push": REHEARSAL}),
    "anna/train version 3 (rehearsal)": ({"push": REHEARSAL}, {"push": PUSH}),
    "with changes": (
        {"metrics": {"git": {"sha": "abc", "dirty": True}}},
        {"metrics": {"git": {"sha": "abc", "dirty": False}}},
    ),
    "the session's log": ({"kit": {"log.txt": "x"}}, {"kit": {}}),
    "the run's own log": ({"files": {"log.txt": "x"}}, {"files": {}}),
    "The machine: a process had the TPU open for 50 min": (
        {"kit": {"session/machine.json": ON_TPU}},
        {"kit": {"session/machine.json": {**ON_TPU, "held_minutes": 0.0}}},
    ),
    "no process opened it": (
        {"kit": {"session/machine.json": {**ON_TPU, "held_minutes": 0.0}}},
        {"kit": {"session/machine.json": ON_TPU}},
    ),
    "What the notebook's processes used while they ran.": (
        {"kit": {"resources.csv": "seconds,memory,cpu_seconds\n1,2,1\n2,3,2\n3,3,3"}},
        {"kit": {"resources.csv": "seconds,memory,cpu_seconds\n"}},
    ),
    "F1 (not verified)": ({"push": PUSH}, {"push": {}}),
    "Parameters that differ from the notebook's defaults stand in the command": (
        {"given": {"rate": 0.5}},
        {"given": {"rate": 0.1}},
    ),
    "Parameters that differ from the notebook's defaults stand below the run's name": (
        {"given": {"rate": 0.5}, "state": {}},
        {"state": AT_HOME},
    ),
    "All parameters are at the notebook's defaults.": (
        {"given": {"rate": 0.1}},
        {"given": {"rate": 0.5}},
    ),
    "of which the notebook declares no defaults": (
        {"defaults": None, "given": {"rate": 0.1}},
        {"defaults": {"rate": 0.1}},
    ),
    "1 parameter at its default": (
        {"defaults": {"rate": 0.1, "size": 2}, "given": {"size": 3}},
        {"given": {"size": 2}},
    ),
    "2 parameters at their defaults": (
        {"defaults": {"rate": 0.1, "size": 2}, "given": {"size": 2}},
        {"given": {"size": 3}},
    ),
    "The last run of this notebook before this one that it can be compared with: earlier": (
        {"beside": {}},
        {"beside": {"data": {"name": "roots"}}},
    ),
    "Measures and parameters are the same.": ({"beside": {}}, {"beside": {"f1": 0.8}}),
    "Changed most": (
        {"beside": {}, "files": {"classes.csv": "class,F1\na,0.5\nb,0.9"}},
        {"beside": {"classes": "class,F1\na,0.5\nb,0.9"}},
    ),
    "score in leaves": (
        {"kit": {"submissions.json": {"submissions": [SUBMITTED]}}},
        {"kit": {"submissions.json": {"submissions": [{**SUBMITTED, "score": ""}]}}},
    ),
    "no score shown": (
        {"kit": {"submissions.json": {"submissions": [{**SUBMITTED, "score": ""}]}}},
        {"kit": {"submissions.json": {"submissions": [SUBMITTED]}}},
    ),
    "F1: highest 0.5000, epoch 1": (
        {"files": {"history.csv": LINES.format(second=0.4)}},
        {"files": {"history.csv": LINES.format(second=0.6)}},
    ),
    "below the mean of 0.700": (
        {"files": {"classes.csv": "class,F1\na,0.5\nb,0.9"}},
        {"files": {"classes.csv": "class,F1\na,0.5\nb,0.7"}},
    ),
    "7 of 10 are correct (70.0 %)": (
        {"files": {"matrix.csv": MATRIX.format(aa=3, ab=1, ba=2)}},
        {"files": {"matrix.csv": MATRIX.format(aa=3, ab=1, ba=3)}},
    ),
    "Most common mistake: b → a (2)": (
        {"files": {"matrix.csv": MATRIX.format(aa=3, ab=1, ba=2)}},
        {"files": {"matrix.csv": MATRIX.format(aa=3, ab=2, ba=2)}},
    ),
}
BEGUN = {"metrics": {}, "defaults": {"rate": 0.1}, "given": {}, "state": AT_HOME}
# Of the template: what names a part of the page and asserts nothing.
NAMES = {"other measures, the machine, the versions", "Since the last run", "at or above it"}


@pytest.fixture(autouse=True)
def own_settings(monkeypatch):
    monkeypatch.delenv(project.SHOWN)  # conftest.py has others for all tests


def write_run(folder, ended, *, metrics, defaults, given, state, **more):
    content = {"f1": 0.9, "data": {"name": "leaves"}, "ended": ended, **metrics}
    files.write_text(folder / "metrics.json", json.dumps(content))
    cells = [new_markdown_cell("# Leaves")]
    for values, tag in ((defaults, "parameters"), (given, "injected-parameters")):
        if values:
            lines = [f"{name} = {value!r}" for name, value in values.items()]
            cells.append(new_code_cell("\n".join(lines), metadata={"tags": [tag]}))
    outputs = [more["error"]] if more.get("error") else []
    cells.append(new_code_cell("train()", outputs=outputs, execution_count=1))
    files.write_text(folder / "run.ipynb", nbformat.writes(new_notebook(cells=cells)))
    own = {**more.get("kit", {}), kit_folder.STATE: state, kit_folder.MARKER: more.get("push", {})}
    for name, value in own.items():
        text = value if isinstance(value, str) else json.dumps(value)
        if value:
            files.write_text(kit_folder.path(folder, name), text)
    for name, text in more.get("files", {}).items():
        files.write_text(folder / name, text)


def said(place, **changes):
    """Every word that the report of such a run says, the titles of its charts among them."""
    files.write_text(place / "pyproject.toml", PROJECT)
    run = {**BEGUN, **changes}
    beside = run.pop("beside", None)
    if beside is not None:
        classes = beside.get("classes", "class,F1\na,0.9\nb,0.5")
        earlier = {**BEGUN, "metrics": {n: v for n, v in beside.items() if n != "classes"}}
        earlier["files"] = {"classes.csv": classes} if "files" in run else {}
        write_run(place / "runs" / "earlier", "2026-11-29T01:00:00+00:00", **earlier)
    folder = place / "runs" / "one"
    write_run(folder, "2026-11-29T02:00:00+00:00", **run)
    place = run_folder.report_place(folder)
    lock = kit_folder.path(folder, kit_folder.LOCK)
    with files.try_lock(lock) if run.get("is_held") else contextlib.nullcontext():
        page = report_page.write_report(folder / "run.ipynb", place, folder)
    text = page.read_text()
    data = re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1]
    body = re.sub(r"<(script|style)\b.*?</\1>", "", text, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", body) + data).split())


@pytest.mark.parametrize("words", STATEMENTS)
def test_a_statement_goes_when_it_is_made_false(tmp_path, words):
    true, false = STATEMENTS[words]
    assert words in said(tmp_path / "true", **true)
    assert words not in said(tmp_path / "false", **{**true, **false})


def test_each_sentence_of_the_template_is_among_the_statements():
    text = re.sub(r"\{#.*?#\}", "", TEMPLATE.read_text(), flags=re.DOTALL)
    spoken = re.findall(r">([^<>{}]{2,})", text)
    sentences = {" ".join(part.split()) for part in spoken if len(part.split()) > 2}
    sentences = {re.sub(r"&\w+;", "", each).strip(" :") for each in sentences}
    assert len(sentences) > 5
    known = [*STATEMENTS, *NAMES]
    told = [each for each in sentences if any(each in one or one in each for one in known)]
    assert sentences == {*told}
