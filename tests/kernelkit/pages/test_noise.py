"""One table of cases for the two judges of noise: `verdict` in reports, `noise.js` on the page of
many runs."""

import json

import pytest
from pages import spoken

from kernelkit import files
from kernelkit.pages.judged import verdict
from kernelkit.pages.many_runs.runs_page import RunsPage, ShownRun
from kernelkit.pages.shared import ending
from kernelkit.runs import kit_folder
from kernelkit.shown import Shown

SHOWN = Shown("f1")
NOISE, MORE, UNKNOWN, SAME = "could be noise", "more than noise", "not known", "the same"

# A score and its interval, those of the run that it is compared with, and what is said of the gap.
CASES = {
    "within one interval": (0.90, [0.85, 0.95], 0.88, [0.83, 0.93], NOISE),
    "beyond both intervals": (0.90, [0.89, 0.91], 0.80, [0.79, 0.81], MORE),
    "wider than either half, not than both": (0.849, [0.82, 0.88], 0.80, [0.76, 0.84], NOISE),
    "less than both halves added": (0.851, [0.82, 0.88], 0.80, [0.76, 0.84], MORE),
    "a score near the end of its interval": (0.89, [0.80, 0.90], 0.85, [0.84, 0.86], NOISE),
    "one interval without width": (0.90, [0.90, 0.90], 0.86, [0.81, 0.91], NOISE),
    "both intervals without width": (0.90, [0.90, 0.90], 0.80, [0.80, 0.80], UNKNOWN),
    "one interval": (0.90, [0.85, 0.95], 0.80, [], UNKNOWN),
    "no interval": (0.90, [], 0.80, [], UNKNOWN),
    "a gap that no digit shows": (0.90001, [0.85, 0.95], 0.90, [0.85, 0.95], SAME),
    "one in whole numbers": (210.0, [200.0, 220.0], 190.0, [180.0, 200.0], MORE),
    "one that no whole number shows": (210.2, [210.1, 210.3], 210.0, [210.0, 210.1], SAME),
}


def heard(text):
    """What a page says of a gap, of the words for it."""
    words = {"could be noise": NOISE, "more than noise": MORE, "The same score": SAME}
    words["2 runs have"] = SAME  # in place of naming the best
    return next((said for word, said in words.items() if word in text), UNKNOWN)


@pytest.mark.parametrize("case", CASES)
def test_a_report_calls_a_gap_noise_as_the_table_has_it(tmp_path, case):
    score, interval, other, its, said = CASES[case]
    for name, value, own in (("new", score, interval), ("old", other, its)):
        metrics = {"f1": value, "intervals": {"f1": own}}
        files.write_text(tmp_path / name / "metrics.json", json.dumps(metrics))
        files.write_text(kit_folder.path(tmp_path / name, kit_folder.STATE), '{"notebook": "/x"}')
    folder = tmp_path / "new"
    found = verdict.of_run(folder, folder, SHOWN, ending.Ending(reached=True))
    assert heard(" ".join(text for text, _ in found.compared)) == said


@pytest.mark.browser  # all pages by one start of Chromium
def test_the_page_of_many_runs_calls_each_gap_noise_as_the_table_has_it(tmp_path):
    pages = {}
    for case, (score, interval, other, its, _) in CASES.items():
        rows = []
        for name, value, own in (("new", score, interval), ("old", other, its)):
            measured = {"metrics": {"f1": value}, "interval": tuple(own), "content": "leaves"}
            rows.append(ShownRun(id=name, name=name, setting=name, **measured))
        pages[case] = RunsPage("Runs", rows, SHOWN, ()).html()
    answers = {c: t.partition("Best")[2] for c, t in spoken(pages, tmp_path).items()}
    assert {case: heard(text) for case, text in answers.items()} == {
        case: said for case, (*_, said) in CASES.items()
    }
