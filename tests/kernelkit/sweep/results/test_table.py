"""The table of a sweep, as CSV and JSON, and where its rows lead."""

import csv
import json


def test_a_run_with_a_report_of_its_own_links_to_the_kits(sweeps):
    files = {"report.html": "<p>the run's own", ".kernelkit/report.html": "<p>the kit's"}
    page = sweeps.finish("grid: {a: [0]}", left=files)
    (run,) = page.runs
    assert (page.folder / run.report).read_text() == "<p>the kit's"


def test_no_parameter_or_measure_loses_its_column_to_one_of_the_tables_own(sweeps):
    source = sweeps.notebook.read_text().replace("seed = 0", "state = 0\nseed = 0", 1)
    sweeps.notebook.write_text(source)
    left = {"metrics.json": '{"macro_f1": 0.5, "error": 0.25}'}

    sweeps.finish("grid: {state: [3, 4]}", left=left)

    with (sweeps.runs / "results.csv").open(newline="") as lines:
        header, first, _ = csv.reader(lines)
    assert header == ["id", "state", "state", "macro_f1", "error", "wall_seconds", "error"]
    assert first[1:] == ["done", "3", "0.5", "0.25", "9.0", ""]


def test_a_measure_with_the_name_of_a_parameter_stands_beside_it(sweeps):
    sweeps.finish("grid: {a: [5, 6]}", left={"metrics.json": '{"macro_f1": 0.5, "a": 3}'})

    with (sweeps.runs / "results.csv").open(newline="") as lines:
        header, first, _ = csv.reader(lines)
    assert header == ["id", "state", "a", "macro_f1", "a", "wall_seconds", "error"]
    assert first[2:5] == ["5", "0.5", "3"]


def test_results_json_is_json_where_a_loss_was_infinite(sweeps):
    left = {"history.csv": "epoch,val_macro_f1\n1,inf\n2,0.5\n"}
    page = sweeps.finish("grid: {a: [0]}", left=left)

    def refuse(constant):
        raise AssertionError(constant)

    text = (page.folder / "results.json").read_text()
    (run,) = json.loads(text, parse_constant=refuse)["runs"]
    assert run["curve"] == [0.5]


ODD = """\
# %% tags=["parameters"]
names = {"b", "a"}
raw = b"x"
rates = {1: 2.0, "a": 3.0}
pairs = {(1, 2): 3}
limits = [1.0]
output = ""
"""


def test_parameters_that_json_does_not_hold_are_there_as_their_source(sweeps):
    sweeps.notebook.write_text(ODD)
    text = "grid: {limits: [[.inf], [1.0]], names: [!!set {b, a}, !!set {c}]}"
    page = sweeps.finish(text, lambda run: 1.0)
    assert page.defaults == {
        "raw": "b'x'",
        "rates": "{1: 2.0, 'a': 3.0}",
        "pairs": "{(1, 2): 3}",
    }
    content = json.loads((page.folder / "results.json").read_text())
    assert [run["parameters"]["names"] for run in content["runs"]][:2] == ["{'a', 'b'}", "{'c'}"]
    again = sweeps.finish(text, lambda run: 1.0)
    assert [run.id for run in again.runs] == [run.id for run in page.runs]
    assert len({run.id for run in page.runs}) == 4
