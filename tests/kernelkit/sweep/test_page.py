"""The page as a browser shows it: it renders, sorts, filters and links, with no network."""

import html
import json
import re
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest

from kernelkit import project
from kernelkit.reports import naming
from kernelkit.reports.many_runs import RunsPage, ShownRun
from kernelkit.sweep import results, specification
from kernelkit.sweep.records import DONE, FAILED

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)
FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-sync", "--disable-background-networking", "--disable-component-update"),
]


SECTIONS = """
[[tool.kernelkit.shown.sections]]
title = "By class"
file = "scores.csv"
kind = "bars"
[[tool.kernelkit.shown.sections]]
title = "Matrix"
file = "confusion.csv"
kind = "matrix"
[[tool.kernelkit.shown.sections]]
title = "Mistakes"
file = "mistakes.json"
kind = "photos"
"""


def shown(run, varying, score, state=DONE, **values):
    """A run as the page has it; without a score it has no metrics."""
    parameters = {name: run.values[name] for name in varying}
    name, setting = naming.texts(parameters, run.id)
    metrics = {} if score is None else {"macro_f1": score} | values.pop("metrics", {})
    return ShownRun(run.id, name, setting, parameters, metrics, state, 9.0, **values)


def write(folder, rows, varying, title="tiny", minimize=False, **options):
    """Write the page of these runs; returns it."""
    of_project = project.shown(folder)
    names = of_project.measures or {name: name for row in rows for name in row.metrics}
    measures = replace(of_project, score="macro_f1", measures=names, minimize=minimize)
    options = {"columns": varying, "base": {}, "folder": folder} | options
    results.write(RunsPage(title, rows, measures, **options))
    return folder / "index.html"


@pytest.fixture
def written(sweeps, tmp_path):
    text = "grid: {a: [10, 9, 2], kind: [x, y]}\nseeds: 2"
    runs = specification.read(sweeps.write(text)).runs
    rows, varying = [], ["a", "kind", "seed"]
    for run in runs:
        options = {"curve": (0.1, 0.2), "report": f"{run.id}/report.html"}
        if run.values["a"] == 9 and run.values["seed"] == 1:
            error = "</script><b>odd & bad"
            rows.append(shown(run, varying, None, FAILED, error=error, **options))
        else:
            score = run.values["a"] / 100 + run.values["seed"] / 1000
            options["curve"] += (score,)
            extra = {"seconds": 5.0, "loss": float("nan")}
            rows.append(shown(run, varying, score, metrics=extra, **options))
    return write(tmp_path, rows, varying, "tiny <sweep>", defaults={"does": "score"})


def data_of(page):
    """The data that the page's script reads."""
    return json.loads(re.search(r'id="data">(.*?)</script>', page.read_text(), re.DOTALL)[1])


def page_of(folder, runs, score=lambda a: a / 1000, **options):
    """The page of runs that are done, each with a score that follows from its a."""
    varying = [n for n in ("a", "kind") if len({run.values[n] for run in runs}) > 1]
    rows = [shown(run, varying, score(run.values["a"])) for run in runs]
    return write(folder, rows, varying, **options)


def seen(path, tmp_path, **view):
    """The page's document after its script ran, with this view in its address."""
    if not BROWSER:
        pytest.skip("no Chromium on this machine to open the page with")
    address = path.as_uri() + "#" + "&".join(f"{name}={value}" for name, value in view.items())
    command = [BROWSER, *FLAGS, f"--user-data-dir={tmp_path / 'browser'}", "--dump-dom", address]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout


def body_rows(document):
    body = re.search(r'<tbody id="rows">(.*?)</tbody>', document, re.DOTALL)[1]
    return [re.sub(r"<[^>]+>", " ", row) for row in re.findall(r"<tr.*?</tr>", body, re.DOTALL)]


def part(document, id):
    """What stands in the section, or in the list, of this name."""
    return re.split("</section>|</span>", document.partition(f'id="{id}"')[2])[0]


def test_it_holds_all_it_needs(written):
    text = written.read_text()

    assert "{{" not in text
    assert not re.search(r"""(?:src|href)=["']?(?:https?:)?//""", text)
    content = data_of(written)
    assert [run["state"] for run in content["runs"]].count("failed") == 2
    assert content["runs"][0]["metrics"]["loss"] is None


def test_it_renders_settings_best_first_with_pictures(written, tmp_path):
    document = seen(written, tmp_path)

    rows = body_rows(document)
    assert len(rows) == 6
    assert "0.1005 ± 0.0007" in rows[0]
    assert "best" in rows[0]
    assert "1/2 done" in " ".join(rows)
    assert "<title>tiny &lt;sweep&gt;</title>" in document
    assert document.count('class="axis"') == 2
    assert document.count('class="mean-dot"') == 5
    assert html.unescape("".join(rows)).count("</script><b>odd & bad") == 4  # short, and folded
    assert document.count('<details class="reason">') == 2
    assert document.count('class="seeds-band"') == 5
    assert document.count('class="curve"') == 5  # of the five best settings, on load
    assert 'aria-sort="descending"><button type="button">macro F1<' in document


def test_a_line_joins_numbers_and_no_categories(written, tmp_path):
    pictures = part(seen(written, tmp_path), "axes").split('class="axis"')[1:]

    assert [picture.count('class="mean"') for picture in pictures] == [1, 0]


def test_time_is_not_shown_as_an_effect_of_an_axis(written, tmp_path):
    """It is the load of the machine as well: runs go on side by side, and one after the other."""
    document = seen(written, tmp_path)

    assert re.findall('aria-label="([^"]* by [^"]*)"', document) == [
        "macro F1 by a",
        "macro F1 by kind",
        "macro F1 by time",
        "macro F1 by run",
    ]


def test_the_numbers_of_an_axis_are_in_their_order(sweeps, tmp_path):
    runs = specification.read(sweeps.write("grid: {a: [3, 1, 20, 10]}")).runs

    document = seen(page_of(tmp_path, runs), tmp_path)

    choices = re.findall(r'<option value="(\d+)"', part(document, "choices"))
    below = re.findall(r'text-anchor="middle">(\d+)<title', document)
    assert choices == below == ["1", "3", "10", "20"]


@pytest.mark.parametrize(
    ("scores", "best"), [({1: 0.1, 2: 0.1}, 0), ({1: 0.1}, 0), ({1: 1, 2: 2}, 1)]
)
def test_a_run_is_best_only_of_some(sweeps, tmp_path, scores, best):
    runs = specification.read(sweeps.write(f"grid: {{a: {list(scores)}}}")).runs

    document = seen(page_of(tmp_path, runs, scores.get), tmp_path)

    assert document.count('class="badge"') == best


def test_parameters_that_change_together_are_one_axis_with_round_marks(sweeps, tmp_path):
    text = "runs: [{a: 100, kind: x}, {a: 930, kind: y}]"
    runs = specification.read(sweeps.write(text)).runs

    document = seen(page_of(tmp_path, runs), tmp_path)

    assert document.count('class="axis"') == 1
    assert "<h3>a, kind</h3>" in document
    marks = re.findall(r'text-anchor="end">([\d.]+)<', document)
    assert {"0.2", "0.4", "1.0"} <= set(marks)


def test_marks_that_lie_close_are_distinct(sweeps, tmp_path):
    runs = specification.read(sweeps.write("grid: {a: [1, 2]}")).runs
    page = page_of(tmp_path, runs, lambda a: 0.793 + a / 125)

    marks = re.findall(r'text-anchor="end">(0[\d.]+)<', seen(page, tmp_path))

    assert {"0.8025", "0.8050", "0.8075"} <= set(marks)


def test_values_that_all_runs_share_are_shown(written):
    data = data_of(written)
    assert data["axes"] == ["a", "kind", "seed"]
    assert not set(data["base"]) & set(data["axes"])
    assert data["defaults"]


def test_the_page_has_what_the_runs_left_of_classes_and_time(sweeps, tmp_path, monkeypatch):
    monkeypatch.delenv(project.SHOWN, raising=False)
    (tmp_path / "pyproject.toml").write_text(SECTIONS)
    runs = specification.read(sweeps.write("grid: {a: [1, 2]}")).runs
    for number, run in enumerate(runs):
        place = tmp_path / run.id
        place.mkdir()
        (place / "history.csv").write_text("epoch,val_macro_f1,step,seconds\n1,.1,5,2\n2,.2,9,3\n")
        (place / "scores.csv").write_text(f"class,F1\nrose,.{number}\ntulip,.5\n")
    rows = [shown(run, ["a"], 0.5, curve=(0.1, 0.2)) for run in runs]
    data = data_of(write(tmp_path, rows, ["a"], notebook="a b.ipynb"))
    assert data["classes"] == ["rose", "tulip"]
    assert [run["classes"] for run in data["runs"]] == [["0.000", "0.500"], ["0.100", "0.500"]]
    assert data["runs"][0]["along"] == {"step": [5.0, 9.0], "seconds": [2.0, 5.0]}
    assert data["curve"] == "val_macro_f1"
    assert data["notebook"] == "a b.ipynb"


def test_the_page_has_the_photos_on_which_its_best_runs_disagree(sweeps, tmp_path, monkeypatch):
    monkeypatch.delenv(project.SHOWN, raising=False)
    (tmp_path / "pyproject.toml").write_text(SECTIONS)
    runs = specification.read(sweeps.write("grid: {a: [1, 2, 3]}")).runs
    for number, run in enumerate(runs):
        place = tmp_path / run.id
        place.mkdir()
        (place / "confusion.csv").write_text("true,rose,tulip\nrose,1,0\ntulip,0,1\n")
        photos = [{"photo": "data:image/png;base64,AAAA", "id": id} for id in "yx"]
        (place / "mistakes.json").write_text(json.dumps(photos))
        arrays = {"ids": ["x", "y" if number < 2 else "z"], "labels": [0, 1]}
        np.savez(place / "val_predictions.npz", probabilities=np.eye(2)[[0, number % 2]], **arrays)

    def photos():
        return data_of(page_of(tmp_path, runs, lambda a: 1 / a))["photos"]

    first, second = (run.id for run in runs[:2])
    assert photos() == {
        "truths": [["x", 0], ["y", 1]],
        "guesses": {first: [0, 0], second: [0, 1]},  # the third was validated on other photos
        "names": ["rose", "tulip"],
        "pictures": {"y": "data:image/png;base64,AAAA"},  # both runs guess the same of x
    }
    (tmp_path / first / "val_predictions.npz").write_bytes(b"cut short")
    assert photos()["guesses"] == {second: [0, 1]}


@pytest.mark.parametrize(
    ("text", "notes", "damage"),
    [
        ("x: {tags: [a], note: b}", {"x": {"tags": ["a"], "note": "b"}}, ""),
        ("x: {note: 2026-11-23}", {"x": {"note": "2026-11-23"}}, ""),
        ("", {}, ""),
        ("x: {note: a}\ny: [", {}, "is not YAML of the form"),
        ("\xff: {note: a}", {}, "is not YAML of the form"),
        ("x: {note: a}\ny: b", {}, "is not YAML of the form"),
        ("[a]", {}, "is not YAML of the form"),
    ],
)
def test_notes_beside_the_page_are_on_it_and_damage_is_said(sweeps, tmp_path, text, notes, damage):
    (tmp_path / "notes.yaml").write_bytes(text.encode("latin-1"))
    page = page_of(tmp_path, specification.read(sweeps.write("grid: {a: [1, 2]}")).runs)

    assert data_of(page)["notes"] == notes
    document = seen(page, tmp_path)
    assert "<tbody" in document
    words = part(document, "notes-words")
    assert damage in words if damage else words == ">"
    assert ('id="notes-bar" hidden=""' in document) == (not damage)


def test_another_address_shows_its_own_curves(written, tmp_path):
    """None ticked is a choice too, that a reload keeps."""
    assert seen(written, tmp_path, ticked="").count('class="curve"') == 0


def test_numbers_that_a_search_proposed_lie_along_a_line(sweeps, tmp_path):
    runs = [specification.read(sweeps.write(f"runs: [{{a: {a * a}}}]")).runs[0] for a in range(12)]

    document = seen(page_of(tmp_path, runs, minimize=True), tmp_path)

    assert part(document, "axes").count('class="dot"') == 12
    assert 'class="mean-dot"' not in document
    assert "best" in body_rows(document)[0]
    assert body_rows(document)[0].split()[:3] == ["0", "best", "0.0000"]
    assert 'id="better">Down<' in document


def test_it_sorts_filters_links_and_overlays_curves(written, tmp_path):
    ids = [run["id"] for run in data_of(written)["runs"]]

    document = seen(
        written,
        tmp_path,
        rows="runs",
        sort="p:a",
        down="0",
        filter="kind=y%20seed%3C1",
        ticked=",".join(ids[:3]),
    )

    rows = body_rows(document)
    assert [row.split()[0] for row in rows] == ["2", "9", "10"]
    assert "3 of 12" in document
    assert document.count('class="curve"') == 3
    assert f'href="{ids[2]}/report.html"' in document
