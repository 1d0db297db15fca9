"""What the verdict on a run asserts: each statement is made true and seen, made false and gone."""

import ast
import json
import re
from pathlib import Path

import pytest

from kernelkit import files
from kernelkit.pages.judged import verdict
from kernelkit.pages.shared import ending
from kernelkit.runs import kit_folder
from kernelkit.shown import Shown

SOURCE = Path(verdict.__file__)
# Advice on what looks wrong, which asserts nothing of the run.
ADVICE = ("It trained", "Check some", "Validate on")


def test_no_doubt_of_the_verdict_is_left_out():
    """Each sentence on what looks wrong begins with words of the table, or is advice on it."""
    known = (*MADE_FALSE, *BY_A_PUSH, *ADVICE)
    for function in ast.walk(ast.parse(SOURCE.read_text())):
        if isinstance(function, ast.FunctionDef) and function.name in ("_doubts", "_guessing"):
            code = [node for part in function.body[1:] for node in ast.walk(part)]
            texts = [node.value for node in code if isinstance(node, ast.Constant)]
            said = [text for text in texts if re.match(r"[A-Z].* .*", str(text))]
            assert said
            assert not [text for text in said if not text.startswith(known)]


WIDE, NARROW = {"intervals": {"f1": [0.8, 0.96]}}, {"intervals": {"f1": [0.899, 0.901]}}
CLOSE = {"f1": 0.89, **WIDE}
# Of a run with an F1 of 0.9: what makes the words true, and what then makes them false. Beside its
# metrics, `beside` are the metrics of other runs, `history` is its CSV, `error` what ended it,
# `cut` whether it was cut off.
MADE_FALSE = {
    "% interval": (WIDE, {"intervals": {}}),
    "guessing reaches": ({"chance": {"f1": 0.1}}, {"chance": {}}),
    "The score is no better than guessing.": ({"f1": 0.1, "chance": {"f1": 0.1}}, {"f1": 0.9}),
    "The score could be luck": ({**WIDE, "chance": {"f1": 0.85}}, NARROW),
    "the last comparable run": (
        {"beside": [{"f1": 0.5}]},
        {"beside": [{"f1": 0.5, "data": {"name": "x"}}]},
    ),
    "the best other run": (
        {"beside": [{"f1": 0.8}, {"f1": 0.5}]},
        {"beside": [{"f1": 0.5}, {"f1": 0.8}]},  # the last of them is the best
    ),
    "which could be noise": ({**WIDE, "beside": [CLOSE]}, {"beside": [{**CLOSE, "f1": 0.5}]}),
    "which is more than noise": ({**WIDE, "beside": [{**CLOSE, "f1": 0.5}]}, {"beside": [CLOSE]}),
    "The same score as": ({"beside": [{"f1": 0.9}]}, {"beside": [{"f1": 0.8}]}),
    "The run was stopped by its time limit.": ({"stopped": "time limit"}, {"stopped": None}),
    "Training was stopped": ({"stopped": "a loss of nan"}, {"stopped": "early stopping"}),
    "Training diverged": ({"history": "loss\n1\nnan"}, {"history": "loss\n1\n0.5"}),
    "more warnings are in metrics.json": (
        {"warnings": [*range(21)]},
        {"warnings": [0, *range(20)]},
    ),
    "No score: ": ({"f1": None}, {"f1": 0.9}),
    "Fix what failed": ({"error": "ValueError: x"}, {"error": "KeyboardInterrupt"}),
    "only a part of the notebook ran": ({"cut": True}, {"cut": False}),
    "Continue it: repeat the command": ({"stopped": "time limit"}, {"stopped": None}),
    "Resolve what looks wrong": ({"warnings": ["w"]}, {"warnings": []}),
    "Change one thing and compare": ({}, {"warnings": ["w"]}),
    "Repeat this run and": ({**WIDE, "beside": [CLOSE]}, {"beside": []}),
    "which is clearly better": (
        {**NARROW, "beside": [{**NARROW, "f1": 0.99}]},
        {"beside": [{**NARROW, "f1": 0.5}]},
    ),
}
BY_A_PUSH = {"Its measures are", "Submit it"}  # test_verdict.py makes a push, and takes it away


def said(folder, beside=(), history="", error="", cut=False, **metrics):
    """Every word of the verdict on a run, beside runs that ended before it."""
    place = folder / "run"
    for number, own in enumerate([*beside, metrics]):
        run = folder / f"other{number}" if number < len(beside) else place
        content = {"f1": 0.9, "data": {"name": "leaves"}, **own}
        content["ended"] = f"2026-11-29T{number:02}:00:00+00:00"
        files.write_text(run / "metrics.json", json.dumps(content))
        files.write_text(kit_folder.path(run, kit_folder.STATE), '{"notebook": "/x/train.ipynb"}')
    if history:
        files.write_text(place / "history.csv", history)
    ended = ending.Ending(reached=not error and not cut, error=error)
    found = verdict.of_run(place, place, Shown(score="f1", measures={"f1": "F1"}), ended)
    compared = [text for text, _ in found.compared]
    return "\n".join([found.score, *compared, *found.doubts, found.next_step])


@pytest.mark.parametrize("words", MADE_FALSE)
def test_a_statement_of_the_verdict_goes_when_it_is_made_false(tmp_path, words):
    true, false = MADE_FALSE[words]
    assert words.lower() in said(tmp_path / "true", **true).lower()
    assert words.lower() not in said(tmp_path / "false", **{**true, **false}).lower()
