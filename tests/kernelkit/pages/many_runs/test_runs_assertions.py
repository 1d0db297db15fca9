"""What the pages of many runs assert: each statement is made true and seen, made false and gone.

The page of all runs and that of a sweep are one: `sweep` says which of both a statement is on.
"""

import itertools
import math
import re

import numpy as np
import pytest
from pages import EXPORTS, spoken

from kernelkit import files
from kernelkit.pages.many_runs.runs_page import RunsPage, ShownRun, going_on
from kernelkit.pages.shared import standalone
from kernelkit.runs.run_folder import PREDICTIONS
from kernelkit.shown import Section, Shown

SHOWN = Shown("f1", (), {"f1": "F1"}, (Section("Classes", "classes.csv", "bars"),))
LEAVES = {"data": "leaves", "content": "1"}
ROOTS = {"data": "roots", "content": "2"}


def of(score, **more):
    """A run with this score on the leaves; `parameters` give it its setting."""
    metrics = {} if score is None else {"f1": score}
    return {**LEAVES, "metrics": metrics, "state": "done", **more}


def with_seeds(*scores, **more):
    """Runs of one configuration, of which only the seed differs."""
    own = more.pop("parameters", {})
    return [of(s, parameters={**own, "seed": n}, **more) for n, s in enumerate(scores)]


def grid(score, **values):
    """A run of each combination of the values."""
    runs = []
    for combined in itertools.product(*values.values()):
        own = dict(zip(values, combined, strict=True))
        runs.append(of(score(**own), parameters=own))
    return runs


WIDE, NARROW = {"interval": (0.5, 0.95)}, {"interval": (0.899, 0.901)}
CLOSE = [of(0.9, **WIDE), of(0.89, **WIDE)]
APART = [of(0.9, **NARROW), of(0.8, interval=(0.799, 0.801))]
EQUAL = [of(0.9), of(0.9), of(0.8)]
SEEDS = [*with_seeds(0.9, 0.8, parameters={"a": 1}), *with_seeds(0.7, 0.8, parameters={"a": 2})]
SURE = [*with_seeds(0.9, 0.91, parameters={"a": 1}), *with_seeds(0.1, 0.11, parameters={"a": 2})]
TWO = [of(0.9, parameters={"a": 1}), of(0.8, parameters={"a": 2})]
UNNAMED = [{**run, "data": "", "content": "3"} for run in TWO]
ONE_MATTERS = grid(lambda a, b: a / 10 + b / 1000, a=[1, 2, 3, 4], b=[1, 2, 3, 4])
NONE_MATTERS = grid(lambda a, b: ((7 * a + 5 * b) % 4) / 10, a=[1, 2, 3, 4], b=[1, 2, 3, 4])
ALONG = [of(n / 100, parameters={"rate": n / 100}) for n in range(1, 33)]
BENT = [of(1 - abs(n - 16) / 100, parameters={"rate": n / 100}) for n in range(1, 33)]
BOTH_MATTER = grid(lambda a, b, c: (a + b) / 10, a=[1, 2, 3], b=[1, 2, 3], c=list(range(6)))
NEVER_BOTH = [
    run for run in BOTH_MATTER if (run["parameters"]["a"], run["parameters"]["b"]) != (3, 3)
]
TWINS = [of(n % 4 / 10, parameters={"a": n % 4, "twin": n % 4, "c": n // 4}) for n in range(16)]
PLAIN = {"a": 1, "b": 1, "c": 1}
CURVED = [{**run, "curve": [0.1, 0.2]} for run in TWO]
SEARCHED = [of(score, when=number) for number, score in enumerate([0.5, 0.6, 0.9], 1)]
CLASSES = [
    of(0.9, classes={"iris": 0.9, "rose": 0.8}, parameters={"a": 1}),
    of(0.8, classes={"iris": 0.7, "rose": 0.9}, parameters={"a": 2}),
]


def changed(runs, number, **more):
    """The same runs, of which one is otherwise."""
    return [{**run, **more} if n == number else run for n, run in enumerate(runs)]


# (page, words): what makes them true, and what changed of it makes them false. `runs` are those of
# `of`, `axes` the parameters of a sweep, `photos` the class that each of two runs takes each photo
# for, of which 0 is right, `steps` a reader's as a script; all else are fields of `RunsPage`.
ALL, SWEEP = "all runs", "sweep"
FILTER = "change({{ filter: '{}' }}); paintAll()"
STATEMENTS = {
    (ALL, "On leaves: run0, F1 0.9000"): ({"runs": TWO}, {"runs": TWO[::-1]}),
    (ALL, "On data that the runs do not name: run0"): (
        {"runs": UNNAMED},
        {"runs": TWO},
    ),
    (ALL, "On data that the runs of x.ipynb do not name: run0"): (
        {"runs": [{**run, "notebook": "x.ipynb"} for run in UNNAMED]},
        {"runs": UNNAMED},
    ),
    (ALL, "2 runs have F1 0.9000"): ({"runs": EQUAL}, {"runs": TWO}),
    (ALL, "; the next, run1, has 0.8000"): ({"runs": TWO}, {"runs": changed(TWO, 1, **ROOTS)}),
    (ALL, "95 % interval 0.8990 to 0.9010"): (
        {"runs": APART},
        {"runs": changed(APART, 0, level=0.9)},
    ),
    (ALL, "guessing reaches 0.1000"): ({"runs": changed(TWO, 0, chance=0.1)}, {"runs": TWO}),
    (ALL, "Best On leaves"): ({"runs": TWO}, {"runs": changed(TWO, 1, **ROOTS)}),
    (ALL, "the gap could be noise"): ({"runs": CLOSE}, {"runs": APART}),
    (ALL, "the gap is more than noise"): ({"runs": APART}, {"runs": CLOSE}),
    (ALL, "has 0.8900. The best score of 5 is probably slightly too high."): (
        {"runs": [of(0.9 - n / 100) for n in range(5)]},
        {"runs": [of(0.9 - n / 100) for n in range(4)]},
    ),
    (ALL, "The same in every run: a=1"): (
        {"runs": [of(0.9, parameters={"a": 1}), of(0.8, parameters={"a": 1})]},
        {"runs": TWO},
    ),
    (ALL, "best 0.9000"): ({"runs": TWO}, {"runs": changed(TWO, 0, reached_end=False)}),
    (ALL, "The figures of 1 run are not verified: no manifest."): (
        {"runs": changed(TWO, 0, unverified="no manifest")},
        {"runs": TWO},
    ),
    (ALL, "contradicts the validation"): (
        {"runs": changed(TWO, 0, public=0.1, contradicts=True)},
        {"runs": changed(TWO, 0, public=0.1)},
    ),
    (ALL, "2 runs: 1 running"): ({"runs": changed(TWO, 0, state="running")}, {"runs": TWO}),
    (SWEEP, "2 runs: 1 interrupted, 1 done."): (
        {"runs": changed(TWO, 0, state="running"), "live": going_on("", 3) | {"written": 0}},
        {"live": going_on("", 3) | {"written": 1e12}},
    ),
    (ALL, "There are no runs yet."): ({"runs": []}, {"runs": TWO}),
    (ALL, "did not finish"): ({"runs": changed(TWO, 0, note="did not finish")}, {"runs": TWO}),
    (SWEEP, "Best F1 0.9000, which 2 configurations reach."): (
        {"runs": [*TWO, of(0.9, parameters={"a": 3})]},
        {"runs": TWO},
    ),
    (SWEEP, "No two configurations were validated on the same data, so none is the best."): (
        {"runs": changed(TWO, 1, **ROOTS)},
        {"runs": TWO},
    ),
    (SWEEP, "Best F1 0.8500 ± 0.0707 over 2 seeds with a=1"): (
        {"runs": SEEDS},
        {"runs": changed(SEEDS, 1, metrics={"f1": 0.9})},
    ),
    (SWEEP, "2 runs: 1 done, 1 failed."): (
        {"runs": changed(TWO, 1, state="failed")},
        {"runs": TWO},
    ),
    (SWEEP, "other parameters, at their defaults"): (
        {"runs": TWO, "defaults": {"b": 1}},
        {"defaults": {}},
    ),
    (SWEEP, "explains"): ({"runs": ONE_MATTERS}, {"runs": TWO}),
    (SWEEP, "A explains 100 % of the score's variance"): (
        {"runs": ONE_MATTERS},
        {"runs": NONE_MATTERS},
    ),
    (SWEEP, "No parameter is seen to explain more of the score than chance could."): (
        {"runs": NONE_MATTERS},
        {"runs": ONE_MATTERS},
    ),
    (SWEEP, "No visible effect by itself: b."): (
        {"runs": grid(lambda a, b: a / 10 + b / 1e6, a=[1, 2, 3, 4], b=list(range(20)))},
        {"runs": grid(lambda a, b: a / 10 + b, a=[1, 2, 3, 4], b=list(range(20)))},
    ),
    (SWEEP, "Too few runs to tell: "): ({"runs": NONE_MATTERS}, {"runs": ALONG}),
    (SWEEP, "Rate above 0.32, because the best value is at the end of those tried"): (
        {"runs": ALONG},
        {"runs": BENT},
    ),
    (SWEEP, "Rate between"): ({"runs": BENT}, {"runs": ALONG}),
    (SWEEP, "A above 4, because the best value is at the end of those tried"): (
        {"runs": ONE_MATTERS},
        {"runs": grid(lambda a, b: a % 4 / 10 + b / 1000, a=[1, 2, 3, 4], b=[1, 2, 3, 4])},
    ),
    (SWEEP, "A above 4,"): ({"runs": ONE_MATTERS}, {"ends": {"a": (-math.inf, 4)}}),
    (SWEEP, "A below 1,"): (
        {"runs": grid(lambda a, b: b / 1000 - a, a=[1, 2, 3, 4], b=[1, 2, 3, 4])},
        {"ends": {"a": (1, math.inf)}},
    ),
    (SWEEP, "To try next"): (
        {"runs": ONE_MATTERS},
        {"runs": grid(lambda a, b: a % 4 / 10 + b / 1000, a=[1, 2, 3, 4], b=[1, 2, 3, 4])},
    ),
    (SWEEP, "More seeds of the best two configurations: the gap between them could be noise"): (
        {"runs": SEEDS},
        {"runs": SURE},
    ),
    (SWEEP, "A 1 instead of 2; F1: 0.9000 vs 0.8000"): (
        {"runs": TWO},
        {"runs": [TWO[1], {**TWO[0], "metrics": {"f1": 0.7}}]},
    ),
    (SWEEP, "The best score of 5 is probably slightly too high."): (
        {"runs": [of(0.9 - n / 100, parameters={"a": n}) for n in range(5)]},
        {"runs": [of(0.9 - n / 100, parameters={"a": n}, **NARROW) for n in range(5)]},
    ),
    (SWEEP, "It gains most on iris +0.20 and loses on rose −0.10."): (
        {"runs": CLASSES},
        {"runs": changed(CLASSES, 1, classes={"iris": 0.9, "rose": 0.9})},
    ),
    (SWEEP, "It gains on no class and loses on rose"): (
        {"runs": changed(CLASSES, 1, classes={"iris": 0.9, "rose": 0.9})},
        {"runs": CLASSES},
    ),
    (SWEEP, "The best was run 3 of 3, the last: more runs may find a better one."): (
        {"runs": SEARCHED, "searched": True},
        {"searched": False},
    ),
    (SWEEP, "The best was run 1 of 3; the 2 after it were no better."): (
        {"runs": changed(SEARCHED, 0, metrics={"f1": 1.0}), "searched": True},
        {"runs": SEARCHED},
    ),
    (ALL, "Their parameters are the same."): (
        {"runs": [of(0.9, parameters={"a": 1}), of(0.8, parameters={"a": 1})]},
        {"runs": TWO},
    ),
    (SWEEP, "One parameter is the same in all."): (
        {"runs": [of(0.9, parameters={"a": 1, "b": 1}), of(0.8, parameters={"a": 2, "b": 1})]},
        {"runs": [of(0.9, parameters={"a": 1, "b": 1}), of(0.8, parameters={"a": 2, "b": 2})]},
    ),
    (ALL, "Their scores are the same."): ({"runs": EQUAL}, {"runs": TWO}),
    (
        ALL,
        "They are not known to be of the same data, so their scores cannot be compared.",
    ): (
        {"runs": changed(TWO, 1, **ROOTS), "steps": "choose(made.runs)"},
        {"runs": TWO},
    ),
    (
        SWEEP,
        "A and B differ by 0.1000, 1.4 standard errors of their seeds; with so many seeds, chance "
        "reaches 4.3: the gap could be noise.",
    ): ({"runs": SEEDS}, {"runs": SURE}),
    (SWEEP, "No seed changes their scores: the difference is not noise of the seeds."): (
        {
            "runs": [
                *with_seeds(0.9, 0.9, parameters={"a": 1}),
                *with_seeds(0.8, 0.8, parameters={"a": 2}),
            ]
        },
        {"runs": SEEDS},
    ),
    (SWEEP, "A and B have one seed each"): ({"runs": TWO}, {"runs": SEEDS}),
    (SWEEP, "B has one seed: how much of this difference"): ({"runs": SEEDS[:3]}, {"runs": TWO}),
    (ALL, "Only the seed differs: the difference is seed-to-seed noise."): (
        {"runs": with_seeds(0.9, 0.8)},
        {"runs": TWO},
    ),
    (ALL, "The gap could be noise, by their intervals."): ({"runs": CLOSE}, {"runs": APART}),
    (SWEEP, "Of 2 classes A is better on 1 and B on 1."): (
        {"runs": CLASSES},
        {"runs": changed(CLASSES, 1, classes={"iris": 0.7, "rose": 0.7})},
    ),
    (ALL, "A and B disagree on 6 of 6 photos: only A is right on 6, only B on 0, neither on 0."): (
        {"runs": TWO, "photos": ([0] * 6, [1] * 6)},
        {"photos": ([0] * 6, [1] * 5 + [0])},
    ),
    (ALL, "Two equally good models would differ at least as much with a probability of"): (
        {"runs": TWO, "photos": ([0] * 6, [1] * 6)},
        {"photos": ([0] * 6, [0] * 6)},
    ),
    (SWEEP, "The command that repeats it"): (
        {"runs": TWO, "notebook": "train.py"},
        {"notebook": ""},
    ),
    (SWEEP, "By configuration, a line is the mean over seeds and the band is their range."): (
        {"runs": [{**run, "curve": [0.1, 0.2]} for run in SEEDS]},
        {"runs": [{**run, "curve": [0.1, 0.2]} for run in TWO]},
    ),
    (SWEEP, "Parameters without a visible effect"): (
        {"runs": grid(lambda a, b: a / 10 + b / 1e6, a=[1, 2, 3, 4], b=list(range(20)))},
        {"runs": TWO},
    ),
    (SWEEP, "the best a and b together: no run combines them"): (
        {"runs": NEVER_BOTH},
        {"runs": BOTH_MATTER},
    ),
    (SWEEP, "changes with it"): ({"runs": TWINS}, {"runs": BOTH_MATTER}),
    (SWEEP, "Only its seed; F1: 0.9000 vs 0.8000"): (
        {"runs": SEEDS, "axes": ["a", "seed"], "steps": "view.rows = 'runs'; answers()"},
        {"runs": TWO, "axes": ["a"]},
    ),
    (SWEEP, "2 parameters are the same in all."): (
        {"runs": [of(0.9, parameters=PLAIN), of(0.8, parameters={**PLAIN, "a": 2})]},
        {"runs": [of(0.9, parameters=PLAIN), of(0.8, parameters={**PLAIN, "a": 2, "b": 2})]},
    ),
    (SWEEP, "The commands that repeat its runs"): (
        {"runs": SEEDS, "notebook": "train.py"},
        {"runs": TWO},
    ),
    (SWEEP, "The filter chooses runs by their results"): (
        {"runs": ONE_MATTERS, "steps": FILTER.format("score>0")},
        {"steps": FILTER.format("a=1|2|3|4")},
    ),
    (SWEEP, "No run matches “a=7”"): (
        {"runs": TWO, "steps": FILTER.format("a=7")},
        {"steps": FILTER.format("a=1")},
    ),
    (SWEEP, "seed=1 seed=0"): (  # below the curves the better one comes first
        {
            "runs": [{**run, "curve": [0.1, 0.2]} for run in with_seeds(0.8, 0.9)],
            "steps": "view.rows = 'runs'; curves()",
        },
        {"runs": [{**run, "curve": [0.1, 0.2]} for run in with_seeds(0.9, 0.8)]},
    ),
    (SWEEP, "No curve is ticked."): ({"runs": CURVED, "steps": "tickRows([])"}, {"steps": ""}),
}


# Of the scripts: what names a part of the page and asserts nothing.
NAMES = {
    "answers.js": {"the best vs the second"},
    "compared/*.js": {"of the comparison", "its parameters as yaml", "b is better"},
}


def made(page, place, *, runs, axes=None, photos=(), steps="", **more):
    """The HTML of such a page, over run folders in `place` with what the runs left."""
    rows = []
    for number, fields in enumerate(runs):
        own = dict(fields)
        name = f"run{number}"
        curve, classes = own.pop("curve", ()), own.pop("classes", {})
        if curve:
            lines = [f"{epoch},{value}" for epoch, value in enumerate(curve, 1)]
            files.write_text(place / name / "history.csv", "\n".join(["epoch,val_f1", *lines]))
        if classes:
            lines = [f"{each},{score}" for each, score in classes.items()]
            files.write_text(place / name / "classes.csv", "\n".join(["class,F1", *lines]))
        if photos:
            labels = [0] * len(photos[number])
            sure = np.eye(2)[photos[number]]
            ids = [f"photo{n}" for n in range(len(labels))]
            (place / name).mkdir(parents=True, exist_ok=True)
            np.savez(place / name / PREDICTIONS, ids=ids, labels=labels, probabilities=sure)
        if page == ALL and own["state"] == "done":
            own["state"] = ""
        settings = {n: v for n, v in own.get("parameters", {}).items() if n != "seed"}
        text = " ".join(f"{n}={v}" for n, v in settings.items())
        rows.append(ShownRun(id=name, name=name, setting=text or name, **own))
    names = list(dict.fromkeys(name for run in runs for name in run.get("parameters", {})))
    base = {} if page == SWEEP else None
    text = RunsPage("Runs", rows, SHOWN, axes or names, base=base, folder=place, **more).html()
    return text.replace("</body>", f"<script>{EXPORTS} {steps}</script></body>")


def sentences(scripts):
    """What stands in the texts of scripts, where a value is put in; three words and more."""
    code = "\n".join(path.read_text() for path in (standalone.SCRIPTS / "runs").glob(scripts))
    text = re.sub(r"(?m)(^|\s)//.*$", "", code)
    for quoted in re.findall(r'"[^"\n]*"|(?:`|})[^`{}\n]*(?:`|\$\{)', text):
        part = quoted.strip('`"${} .,:;()').lower()
        if re.fullmatch(r"[a-z’':;,. ]*", part) and len(part.split()) > 2:
            yield part


@pytest.mark.browser
@pytest.mark.parametrize("script", ["answers.js", "compared/*.js"])
def test_each_sentence_of_a_script_is_among_the_statements(script):
    found = set(sentences(script))
    assert len(found) > 10
    said = [words.lower() for _, words in STATEMENTS]
    assert found - {each for each in found if any(each in words for words in said)} == NAMES[script]


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """What a reader of each page sees, by its statement and by whether that is made true."""
    place = tmp_path_factory.mktemp("pages")
    pages = {}
    for number, ((page, words), (true, false)) in enumerate(STATEMENTS.items()):
        for is_true, changes in ((True, true), (False, {**true, **false})):
            folder = place / f"{number}-{is_true}"
            pages[f"{page}: {words}: {is_true}"] = made(page, folder, **changes)
    return spoken(pages, place)


@pytest.mark.browser  # all pages at once, by the first of them: 12 s of a processor
@pytest.mark.parametrize(("page", "words"), STATEMENTS)
def test_a_statement_goes_when_it_is_made_false(said, page, words):
    assert words in said[f"{page}: {words}: True"]
    assert words not in said[f"{page}: {words}: False"]
