"""The page as a browser shows it: it renders, sorts, filters and links, with no network."""

import html
import json
import re
from pathlib import Path

import numpy as np
import pytest
from pages import data_of, seen, title_after

from kernelkit import project
from kernelkit.pages.many_runs import index_page

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


@pytest.fixture
def written(sweeps):
    def score(run):
        failed = run["a"] == 9 and run["seed"] == 1
        return None if failed else run["a"] / 100 + run["seed"] / 1000

    text = "grid: {a: [10, 9, 2], kind: [x, y]}\nseeds: 2"
    left = {"history.csv": "val_macro_f1\n0.1\n0.2\n", "report.html": ""}
    return sweeps.finish(text, score, "tiny <sweep>", left)


def in_browser(page, view=""):
    return seen(page.folder / "index.html", view)


def body_rows(document):
    body = re.search(r'<tbody id="rows">(.*?)</tbody>', document, re.DOTALL)[1]
    return [re.sub(r"<[^>]+>", " ", row) for row in re.findall(r"<tr.*?</tr>", body, re.DOTALL)]


def part(document, id):
    """What stands in the section, or in the list, of this name."""
    return re.split("</section>|</span>", document.partition(f'id="{id}"')[2])[0]


@pytest.mark.browser
def test_it_renders_settings_best_first_with_pictures(written):
    document = in_browser(written)

    assert (written.base, written.defaults) == ({}, {"does": "score"})

    rows = body_rows(document)
    assert len(rows) == 6
    assert "0.1005 ± 0.0007" in rows[0]
    assert ["best" in row for row in rows] == [True] * 2 + [False] * 4  # x and y are as good
    assert "1/2 done" in " ".join(rows)
    assert 'id="notes-bar" hidden=""' in document
    assert "<title>tiny &lt;sweep&gt;</title>" in document
    assert html.unescape("".join(rows)).count("</script><b>odd & bad") == 4  # short, and folded
    assert document.count('<details class="reason">') == 2
    assert document.count("1/2 done</span> ValueError: ") == 2
    assert document.count('class="mean-dot"') == 5
    assert document.count('class="seeds-band"') == 5
    assert document.count('class="curve"') == 5  # of the five best settings, on load
    assert 'aria-sort="descending"><button type="button">macro F1<' in document
    # Numbers are joined by a line, words are not; the time of a run is no effect of its settings.
    effects = part(document, "axes").split('class="axis"')[1:]
    assert [effect.count('class="mean"') for effect in effects] == [1, 0]
    by = re.findall('aria-label="macro F1 by ([^"]*)"', document)
    assert by == ["a", "kind"]  # all took as long: by time there is nothing to see


@pytest.mark.browser
def test_an_axis_has_its_numbers_in_order_and_a_score_distinct_round_marks(sweeps):
    document = in_browser(
        sweeps.finish("grid: {a: [3, 1, 20, 10]}", lambda run: 0.8 + run["a"] / 2500)
    )

    choices = re.findall(r'<option value="(\d+)"', part(document, "choices"))
    below = re.findall(r'text-anchor="middle">(\d+)<title', document)
    assert choices == below == ["1", "3", "10", "20"]
    assert {"0.8025", "0.8050", "0.8075"} <= set(re.findall(r'="end">(0[\d.]+)<', document))


@pytest.mark.browser
@pytest.mark.parametrize("scores", [{1: 0.1, 2: 0.1}, {1: 0.1}])
def test_no_run_is_best_of_equals_or_alone(sweeps, scores):
    document = in_browser(
        sweeps.finish(f"grid: {{a: {list(scores)}}}", lambda run: scores[run["a"]])
    )

    assert document.count('class="badge"') == 0


@pytest.mark.browser
def test_parameters_that_change_together_are_one_axis(sweeps):
    document = in_browser(sweeps.finish("runs: [{a: 100, kind: x}, {a: 930, kind: y}]"))

    assert document.count('class="axis"') == 1
    assert "<h3>a, kind</h3>" in document


@pytest.fixture
def folders(sweeps, monkeypatch):
    """The folders of runs of a project that shows bars, a matrix and photos."""
    monkeypatch.delenv(project.SHOWN)
    (sweeps.folder / "pyproject.toml").write_text(SECTIONS)

    def folders(text):
        places = [sweeps.runs / run.id for run in sweeps.read(text).runs]
        for place in places:
            place.mkdir(parents=True)
        return places

    return folders


def test_the_page_has_what_the_runs_left_of_classes_and_time(sweeps, folders):
    text = "grid: {a: [1, 2]}"
    for number, place in enumerate(folders(text)):
        (place / "history.csv").write_text("epoch,val_macro_f1,step,seconds\n1,.1,5,2\n2,.2,9,3\n")
        (place / "scores.csv").write_text(f"class,F1\nrose,.{number}\ntulip,.5\n")
    data = data_of(sweeps.finish(text).html())
    assert data["classes"] == ["rose", "tulip"]
    assert [run["classes"] for run in data["runs"]] == [["0.000", "0.500"], ["0.100", "0.500"]]
    assert data["runs"][0]["along"] == {"step": [5.0, 9.0], "seconds": [2.0, 5.0]}
    assert (data["curve"], Path(data["notebook"]).name) == ("val_macro_f1", "tiny.py")


def test_the_page_knows_the_ends_of_what_its_notebook_allows(sweeps):
    data = data_of(sweeps.finish("grid: {a: [1, 2], kind: [x, y], seed: [0, 1]}").html())
    assert data["ends"] == {"a": [0, 2000], "kind": [None, None], "seed": [0, None]}


def test_the_page_has_the_photos_on_which_its_best_runs_disagree(sweeps, folders):
    text = "grid: {a: [1, 2, 3]}"
    places = folders(text)
    for number, place in enumerate(places):
        (place / "confusion.csv").write_text("true,rose,tulip\nrose,1,0\ntulip,0,1\n")
        photos = [{"photo": "data:image/png;base64,AAAA", "id": id} for id in "yx"]
        (place / "mistakes.json").write_text(json.dumps(photos))
        arrays = {"ids": ["x", "y" if number < 2 else "z"], "labels": [0, 1]}
        np.savez(place / "val_predictions.npz", probabilities=np.eye(2)[[0, number % 2]], **arrays)

    def photos():
        return data_of(sweeps.finish(text, lambda run: 1 / run["a"]).html())["photos"]

    first, second = (place.name for place in places[:2])
    assert photos() == {
        "truths": [["x", 0], ["y", 1]],
        "guesses": {first: [0, 0], second: [0, 1]},  # the third was validated on other photos
        "names": ["rose", "tulip"],
        "pictures": {"y": "data:image/png;base64,AAAA"},  # both runs guess the same of x
    }
    (places[0] / "val_predictions.npz").write_bytes(b"cut short")
    assert photos()["guesses"] == {second: [0, 1]}


@pytest.mark.parametrize(
    ("text", "notes"),
    [
        ("x: {tags: [a], note: 2026-11-23}", {"x": {"tags": ["a"], "note": "2026-11-23"}}),
        ("", {}),
        ("x: {note: a}\ny: [", None),
        ("\xff: {note: a}", None),
        ("x: {note: a}\ny: b", None),
        ("[a]", None),
    ],
)
def test_notes_beside_the_page_are_on_it_or_what_is_wrong_with_them(sweeps, text, notes):
    sweeps.runs.mkdir()
    (sweeps.runs / "notes.yaml").write_bytes(text.encode("latin-1"))
    data = data_of(sweeps.finish("grid: {a: [1, 2]}").html())

    assert data["notes"] == (notes or {})
    assert ("is not YAML of the form" in data["damage"]) == (notes is None)


@pytest.mark.browser
def test_damaged_notes_are_said_above_the_table(sweeps):
    sweeps.runs.mkdir()
    (sweeps.runs / "notes.yaml").write_text("[a]")
    document = in_browser(sweeps.finish("grid: {a: [1, 2]}"))

    assert "<tbody" in document
    assert "is not YAML of the form" in part(document, "notes-words")
    assert 'id="notes-bar" hidden=""' not in document


@pytest.mark.browser
def test_numbers_that_a_search_proposed_lie_along_a_line(sweeps):
    points = ", ".join(f"{{a: {a * a}}}" for a in range(12))

    document = in_browser(sweeps.finish(f"minimize: true\nruns: [{points}]"))

    assert part(document, "axes").count('class="dot"') == 12
    assert 'class="mean-dot"' not in document
    assert body_rows(document)[0].split()[:3] == ["0", "best", "0.0000"]
    assert 'id="better">Down<' in document


@pytest.mark.browser
def test_few_seeds_must_differ_by_more_before_that_is_more_than_noise(written):
    pairs = [[[0.9, 0.92], [0.86, 0.88]], [[0.9, 0.92], [0.8, 0.82]], [[0.9, 0.9], [0.8, 0.8]]]
    steps = f"""const rows = (own) =>
        ({{ score: mean(own), deviation: deviation(own), scores: own, runs: [],
            parameters: {{ own }} }});
      document.title = {json.dumps(pairs)}.map((pair) => noiseWords(pair.map(rows))).join("|");"""
    two_eight, seven, never = title_after(written.folder / "index.html", steps).split("|")
    assert (
        "2.8 standard errors of their seeds; with so many seeds, chance reaches 4.3: " in two_eight
    )
    assert two_eight.endswith("the gap could be noise.")
    assert "7.1 standard errors" in seven
    assert seven.endswith("chance reaches 4.3: the gap is more than noise.")
    assert never == "No seed changes their scores: the difference is not noise of the seeds."


@pytest.mark.browser
@pytest.mark.parametrize("others", [[0.86, 0.88], [0.8, 0.82], [0.88]])
def test_the_header_and_side_by_side_judge_a_difference_alike(written, others):
    steps = f"""const row = (own) =>
        ({{ score: mean(own), deviation: deviation(own), scores: own, key: "", parameters: {{}},
           runs: own.map(() => ({{
             interval: own.length > 1 ? [] : [0.8, 0.96], reached_end: true }})) }});
      const pair = [row({[0.9] if len(others) == 1 else [0.9, 0.92]}), row({others})];
      ranked[view.rows] = pair;
      answers();
      document.title = [byId("answers").textContent, noiseWords(pair)].join("|");"""
    header, beside = title_after(written.folder / "index.html", steps).split("|")
    assert ("could be noise" in header) == ("ould be noise" in beside)
    assert ("more than noise" in header) == ("more than noise" in beside)
    assert "than noise" in header or "be noise" in header


@pytest.mark.browser
def test_of_equal_configurations_none_is_the_best_and_no_gap_is_told(sweeps):
    page = sweeps.finish("grid: {a: [1, 2, 3]}", lambda run: 0.5 if run["a"] < 3 else 0.4)
    text = re.sub("<script.*?</script>", "", in_browser(page), flags=re.DOTALL)
    text = html.unescape(re.sub("<[^>]+>", "", text))
    assert "Best macro F1 0.5000, which 2 configurations reach." in text
    assert "The gap" not in text
    assert "the gap" not in text
    assert "Their scores are the same." in text


@pytest.mark.browser
def test_of_configurations_with_data_of_their_own_none_is_the_best(written):
    steps = """ranked.settings = ranked.settings.slice(0, 1);
      summary();
      document.title = byId("summary").textContent;"""
    title = title_after(written.folder / "index.html", steps)
    assert title.endswith("validated on the same data, so none is the best.")


@pytest.mark.browser
def test_scores_on_different_data_are_not_judged_side_by_side(written):
    steps = """const row = (content) => ({ score: content.length / 10, scores: [1], content,
        runs: [{ interval: [0, 1], reached_end: true }] });
      document.title = [["a", "bb"], ["a", "b"]].map((pair) => noiseWords(pair.map(row)));"""
    title = title_after(written.folder / "index.html", steps)
    assert title.startswith("They are not known to be of the same data")
    assert title.endswith("Their scores are the same.")


@pytest.mark.browser
def test_a_zoomed_curve_has_points_where_an_epoch_ended_and_nowhere_else(written):
    steps = """const line = { xs: [1, 2, 3, 4], ys: [0.1, 0.2, 0.3, 0.4] };
      const zoomed = cut(line, [1.5, 3.5]);
      const grid = gridOf([{ ...zoomed, grid: zoomed.own }]);
      document.title = [zoomed.xs, zoomed.own, grid].join("|");"""
    title = title_after(written.folder / "index.html", steps)
    assert title == "1.5,2,3,3.5|2,3|2,3"


@pytest.mark.browser
def test_it_sorts_filters_links_and_overlays_curves(written):
    ids = [run.id for run in written.runs]
    view = "rows=runs&sort=p:a&down=0&filter=kind=y%20seed%3C1&ticked="

    document = in_browser(written, view + ",".join(ids[:3]))

    assert [row.split()[0] for row in body_rows(document)] == ["2", "9", "10"]
    assert "3 of 12" in document
    assert document.count('class="curve"') == 3
    assert f'href="{ids[-2]}/report.html"' in document
    assert in_browser(written, view).count('class="curve"') == 0  # none ticked is a choice, too


@pytest.mark.browser
def test_a_run_that_its_time_limit_stopped_is_the_best_here_as_among_all_runs(sweeps):
    page = sweeps.finish("grid: {a: [1, 2, 3]}", stopped=lambda run: run["a"] == 3)
    first, *others = body_rows(in_browser(page))
    assert re.search(r"best\s+0\.0030", first)
    assert "stopped" in first
    assert not [row for row in others if "best" in row]
    page_of_all = index_page.write(
        dict.fromkeys(index_page.runs_under([page.folder])), page.folder / "all.html"
    )
    first, *others = body_rows(seen(page_of_all, "sort=score&down=1"))
    assert re.search(r"best\s+0\.0030", first)
    assert "stopped: time limit" in first
