"""The score of a run that writes no metrics.json is the number that it prints after its name."""

import json

import nbformat
import pytest

from kernelkit import files
from kernelkit.runs import kit_folder
from kernelkit.scores import printed_score
from kernelkit.scores.metrics import Metrics
from kernelkit.session_records import proved, session_manifest

RMSE = "CV RMSE"


def printed(folder):
    """The value of the score that the run in a folder printed."""
    return printed_score.find(folder, RMSE).value


def doubt(folder, score):
    return Metrics.of_run(folder, score).doubt(folder)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("CV RMSE: 0.5132\n", 0.5132),
        ("fold 1 CV RMSE 0.6\nfold 2 CV RMSE 0.7\nother 3\n", 0.7),  # the last line that has it
        ("mean CV RMSE over 5 folds = .25 (0.1)", 5),  # the first number after it
        ("CV RMSE = 1,234.5", 1234.5),
        ("CV RMSE: -1e-3", -0.001),
        ("\x1b[1mCV RMSE\x1b[0m: \x1b[32m0.5\x1b[0m\n", 0.5),
        ("CV RMSE 0.9\rCV RMSE 0.4\r\n", 0.4),  # as a terminal shows it
        ("CV RMSE fold5 v2 0.5", 0.5),  # no number is part of a word
        ("CV RMSE: nan - loss: 0.5", None),
        ("CV RMSE: -Inf - loss: 0.5", None),
        ("CV RMSE: 0.5\nthe CV RMSE is good\n", None),  # nor is an earlier line's taken
        ("OOCV RMSE: 0.5, CV RMSEs 0.6, cv rmse 0.7", None),  # the whole name
        ('print(f"CV RMSE {score:.4f}")', None),
        ("", None),
    ],
)
def test_the_score_is_the_first_number_after_the_name_on_the_last_line_that_has_it(
    tmp_path, text, value
):
    log = json.dumps([{"stream_name": "stdout", "time": 1, "data": text}])
    files.write_text(kit_folder.path(tmp_path, kit_folder.LOG), log)
    found = Metrics.of_run(tmp_path, RMSE)
    assert found.values == ({} if value is None else {RMSE: value})
    assert Metrics.of_run(tmp_path) == Metrics()


def executed(folder, *outputs):
    cell = nbformat.v4.new_code_cell("score", outputs=list(outputs), execution_count=1)
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), folder / "run.ipynb")


def test_an_executed_notebooks_streams_count_and_its_error_and_results_do_not(tmp_path):
    new = nbformat.v4.new_output
    logged = new("stream", name="stderr", text="INFO CV RMSE: 0.5\n")
    shown = new("execute_result", data={"text/plain": "CV RMSE 3"}, execution_count=1)
    error = new("error", ename="E", evalue="CV RMSE 4", traceback=["CV RMSE 5"])
    executed(tmp_path, logged, shown, error)
    assert printed(tmp_path) == 0.5


def test_the_traceback_of_a_script_that_failed_does_not_count(tmp_path):
    lines = ["CV RMSE 0.5\n", "Traceback (most recent call last):\n", "  print('CV RMSE', 4)\n"]
    log = [{"stream_name": "stderr", "time": 1, "data": line} for line in [*lines, "E: x\n"]]
    files.write_text(kit_folder.path(tmp_path, kit_folder.LOG), json.dumps(log))
    assert printed(tmp_path) == 0.5


def test_metrics_json_comes_first_even_if_it_lacks_the_score(tmp_path):
    executed(tmp_path, nbformat.v4.new_output("stream", text="CV RMSE 0.5\n"))
    (tmp_path / "metrics.json").write_text('{"f1": 1}')
    assert Metrics.of_run(tmp_path, RMSE).values == {"f1": 1}


def test_a_run_that_is_written_again_is_read_again(tmp_path):
    for value in (0.5, 0.25):
        executed(tmp_path, nbformat.v4.new_output("stream", text=f"CV RMSE {value}\n"))
        assert printed(tmp_path) == value


@pytest.mark.parametrize("text", ["{", "[]", '{"cells": 3}', '{"cells": [3, {"outputs": [1]}]}'])
def test_a_damaged_notebook_has_no_score(tmp_path, text):
    (tmp_path / "run.ipynb").write_text(text)
    assert Metrics.of_run(tmp_path, RMSE) == Metrics()


def test_a_printed_score_is_as_verified_as_the_file_it_stands_in(tmp_path):
    stream = nbformat.v4.new_output("stream", name="stdout", text=f"{RMSE}: 0.5\n")
    executed(tmp_path, stream)
    assert doubt(tmp_path, RMSE) == ""  # of a run at home
    files.write_text(kit_folder.path(tmp_path, kit_folder.MARKER), "{}")
    assert doubt(tmp_path, RMSE) == proved.NO_MANIFEST
    assert doubt(tmp_path, "f1") == ""  # nothing was printed
    listed = {"name": "run.ipynb", "size": 1, "sha256": files.sha256_of(tmp_path / "run.ipynb")}
    session_manifest.keep(tmp_path, json.dumps({"push": "a", "files": [listed]}))
    assert doubt(tmp_path, RMSE) == ""
    stream.text = f"{RMSE}: 0.1\n"
    executed(tmp_path, stream)
    assert doubt(tmp_path, RMSE) == proved.CHANGED.format("run.ipynb")
    (tmp_path / "run.ipynb").unlink()
    log = [{"stream_name": "stdout", "time": 1, "data": f"{RMSE} 0.5"}]
    files.write_text(kit_folder.path(tmp_path, kit_folder.LOG), json.dumps(log))
    assert doubt(tmp_path, RMSE) == proved.NOT_NAMED.format("log.json")


def test_the_printed_score_of_a_push_is_that_which_its_session_recorded(tmp_path):
    executed(tmp_path, nbformat.v4.new_output("stream", name="stdout", text=f"{RMSE}: 0.99\n"))
    files.write_text(kit_folder.path(tmp_path, kit_folder.MARKER), "{}")
    listed = []
    for number, score in (("001", 0.7), ("002", 0.5)):
        record = kit_folder.path(tmp_path, kit_folder.SESSION, f"shown-{number}.jsonl")
        output = {"output_type": "stream", "name": "stdout", "text": f"{RMSE}: {score}\n"}
        files.write_text(record, f"{json.dumps({'cell': 'a'})}\n{json.dumps({'output': output})}\n")
        name, sha256 = f"kernelkit_session/{record.name}", files.sha256_of(record)
        listed.append({"name": name, "size": 1, "sha256": sha256})
    session_manifest.keep(tmp_path, json.dumps({"push": "a", "files": listed}))
    assert (printed(tmp_path), doubt(tmp_path, RMSE)) == (0.5, "")
    record.write_text(record.read_text().replace("0.5", "0.4"))
    assert doubt(tmp_path, RMSE) == proved.CHANGED.format(record.name)


def test_a_cell_that_left_its_line_open_does_not_hide_the_score_of_the_next(tmp_path):
    place = kit_folder.path(tmp_path, kit_folder.SESSION, "shown-001.jsonl")
    lines = []
    for text in ("half a line", f"{RMSE}: 0.5"):
        output = {"output_type": "stream", "name": "stdout", "text": text}
        lines += [json.dumps({"cell": "a"}), json.dumps({"output": output})]
    files.write_text(place, "\n".join(lines) + "\n")
    assert printed(tmp_path) == 0.5
