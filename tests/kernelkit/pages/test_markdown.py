"""A summary shows measures as they are, whatever the run wrote into their names."""

import json

from kernelkit import files
from kernelkit.pages import markdown
from kernelkit.runs import kit_folder


def test_measures_are_rows_and_a_run_without_any_says_so(tmp_path):
    (tmp_path / "metrics.json").write_text("{}")
    assert "The run left no measures." in markdown.table(tmp_path, "t")
    metrics = {"macro_f1": 0.91234, "seconds": 12, "device": {"kind": "cpu", "name": "EPYC"}}
    (tmp_path / "metrics.json").write_text(json.dumps(metrics))
    shown = markdown.table(tmp_path, "me/kernel/3")
    assert shown.startswith("### me/kernel/3\n\n| measure | value |\n|---|---|\n")
    assert "| macro F1 | 0.9123 |\n" in shown
    assert "| time | 12 s |\n| device | EPYC |\n" in shown


def test_a_score_that_a_run_printed_is_a_row(tmp_path):
    entry = {"stream_name": "stdout", "time": 1, "data": "macro_f1: 0.5\n"}
    files.write_text(kit_folder.path(tmp_path, kit_folder.LOG), json.dumps([entry]))
    assert "| macro F1 | 0.5000 |\n" in markdown.table(tmp_path, "t")


def test_measures_that_are_not_verified_are_said_to_be_that(tmp_path):
    (tmp_path / "metrics.json").write_text('{"macro_f1": 0.9}')
    files.write_text(kit_folder.path(tmp_path, kit_folder.MARKER), '{"kernel": "me/kernel"}')
    shown = markdown.table(tmp_path, "me/kernel/3")
    assert "|---|---|\n| not verified | its session left no manifest" in shown


def test_no_text_of_a_run_becomes_markup(tmp_path):
    metrics = {"device": {"name": "a|b\n<script>[x](javascript:1)`"}}
    (tmp_path / "metrics.json").write_text(json.dumps(metrics))
    (row,) = [line for line in markdown.table(tmp_path, "t").splitlines() if "device" in line]
    assert not set("<`[\\") & set(row)
    assert row.count("|") == 3
    shown = markdown.failure("t", "one\n\n</pre><img src=x>\x1b[2J")
    assert "<img" not in shown
    assert "\n\n</" not in shown
    assert "\x1b" not in shown


def test_a_summary_is_added_to(tmp_path):
    for text in ("### a\n", "### b\n"):
        markdown.append(tmp_path / "new" / "summary.md", text)
    assert (tmp_path / "new" / "summary.md").read_text() == "\n### a\n\n### b\n"
