"""Reports on what is there already."""

import json
import os
import re

import nbformat
import pytest
from pages import data_of, title_after

from kernelkit import files
from kernelkit.errors import NotebookError, ParameterError
from kernelkit.pages.report import report
from kernelkit.runs import kit_folder, run_folder


@pytest.fixture
def run(tmp_path):
    def write(name):
        folder = tmp_path / "runs" / name
        files.write_text(folder / "run.ipynb", nbformat.writes(nbformat.v4.new_notebook()))
        (folder / "metrics.json").write_text('{"macro_f1": 0.9}')
        return folder

    return write


def test_pages_that_others_wrote_stay(run):
    first, sweep = run("a"), run("sweep/b").parent
    (sweep / "sweep.json").write_text("{}")
    own = [first / "report.html", first / "run.html", sweep / "index.html"]
    for page in own:
        page.write_text("mine")
    index = first.with_name("index.html")
    for paths in ([first, sweep], [sweep], [sweep / "b"]):
        assert report(paths, index=True) == [index]
        made = report([first / "run.ipynb", first])
        assert made == [first / ".kernelkit" / name for name in ("run.html", "report.html")]
    assert '<a href="../../index.html">← all' in made[1].read_text()
    assert {page.read_text() for page in own} == {"mine"}
    index.write_text("mine")
    assert "← all" not in report([first])[0].read_text()
    with pytest.raises(ParameterError, match="rename it"):
        report([first], index=True)


def test_of_a_run_that_was_killed_the_cells_that_ran_are_shown(tmp_path):
    folder = tmp_path / "killed"
    given = nbformat.v4.new_code_cell("rate = 0.5", metadata={"tags": ["injected-parameters"]})
    cells = [
        nbformat.v4.new_code_cell("rate = 0.1", metadata={"tags": ["parameters"]}),
        given,
        nbformat.v4.new_code_cell("train()"),
    ]
    notebook = nbformat.v4.new_notebook(cells=cells)
    files.write_text(folder / run_folder.PART, nbformat.writes(notebook))
    state = json.dumps({"notebook": "train.py", "over": False})
    files.write_text(kit_folder.path(folder, kit_folder.STATE), state)
    page = report([folder])[0].read_text()
    assert "The run did not finish." in page
    assert "-p rate=0.5" in page
    assert "train" in page.partition('id="notebook"')[2]
    assert not (folder / "run.ipynb").exists()


def test_an_index_says_of_a_run_that_is_killed_that_it_no_longer_goes_on(tmp_path):
    folder = tmp_path / "runs" / "now"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("train()")])
    files.write_text(folder / run_folder.PART, nbformat.writes(notebook))
    state = json.dumps({"notebook": "train.py", "over": False})
    files.write_text(kit_folder.path(folder, kit_folder.STATE), state)
    with files.try_lock(kit_folder.path(folder, kit_folder.LOCK)):
        report([folder.parent], index=True)
        assert "The run goes on" in (folder / "report.html").read_text()
    report([folder.parent], index=True)
    assert "The run did not finish." in (folder / "report.html").read_text()


@pytest.mark.parametrize(
    ("name", "index", "error", "message"),
    [
        ("nowhere", False, ParameterError, "no run at"),
        ("runs", False, ParameterError, "--index"),
        ("broken.ipynb", False, NotebookError, r"broken\.ipynb"),
        ("runs/empty", True, ParameterError, "no run folder"),
    ],
)
def test_a_path_that_is_no_run_is_an_error(run, tmp_path, name, index, error, message):
    (run("a").parent / "empty").mkdir()
    (tmp_path / "broken.ipynb").write_text("{")
    with pytest.raises(error, match=message):
        report([tmp_path / name], index)


def test_a_folder_without_a_run_costs_the_others_nothing(run):
    """As `runs/*/` names them: runs, a sweep that was cut off, and folders of the kit's own."""
    first = run("a")
    ended = run("sweep/0123456789ab")
    (ended / "run.ipynb").unlink()  # as after a push
    sweep, empty, cut_off = (first.with_name(n) for n in ("sweep", "local_kaggle", "02_train-1122"))
    for place in ("sweep.json", "ba9876543210/state.json"):
        files.write_text(sweep / place, "{}")
    empty.mkdir()
    files.write_text(cut_off / ".kernelkit" / "run.json", "{}")
    lines = []
    pages = report([first, sweep, empty, cut_off], left_out=lines.append)
    assert pages == [first / "report.html", ended / "report.html"]
    assert [line.partition(" ")[0] for line in lines] == [str(empty), str(cut_off)]


def test_a_page_of_the_kit_among_runs_is_left_out(run):
    """As `runs/*` names it."""
    first = run("a")
    page = report([first.parent], index=True)[0]
    lines = []
    assert report([first, page], left_out=lines.append) == [first / "report.html"]
    assert [line.partition(" is")[0] for line in lines] == [str(page)]
    with pytest.raises(ParameterError, match="is no notebook"):
        report([page])


def test_an_index_says_which_paths_it_has_no_run_of(run):
    """As `runs/*` names them: a run, a notebook, and a page."""
    first = run("a")
    notebook = files.write_text(first.with_name("b.ipynb"), "{}")
    page = files.write_text(first.with_name("notes.html"), "mine")
    lines = []
    report([first, notebook, page], index=True, left_out=lines.append)
    assert [line.partition(" ")[0] for line in lines] == [str(notebook), str(page)]


def test_an_index_makes_the_reports_that_are_missing_old_or_without_a_link_to_it(run, tmp_path):
    folders = [run("a"), run("sweep/b")]
    (folders[1].parent / "sweep.json").write_text("{}")
    pages = [folder / "report.html" for folder in folders]
    report(folders[1:])

    def written():
        assert report([tmp_path / "runs"], index=True) == [tmp_path / "runs" / "index.html"]
        return [page.stat().st_mtime_ns for page in pages]

    first = written()
    assert [re.findall('<a href="([^"]*)">←', page.read_text()) for page in pages] == [
        ["../index.html"],
        ["../../index.html", "../index.html"],
    ]
    assert written() == first
    later = pages[1].stat().st_mtime + 60
    os.utime(folders[1] / "metrics.json", (later, later))
    again = written()
    assert (again[0] == first[0], again[1] == first[1]) == (True, False)


def test_a_damaged_run_costs_no_other_report_and_not_the_page(run, tmp_path):
    good, broken, bad = map(run, ("good", "bad-notebook", "bad-metrics"))
    (broken / "run.ipynb").write_text("{")
    (bad / "metrics.json").write_text("{")
    (bad / "run.ipynb").unlink()
    with pytest.raises(NotebookError, match=r"run\.ipynb"):
        report([broken, good])
    assert (good / "report.html").is_file()
    rows = data_of(report([tmp_path / "runs"], index=True)[0].read_text())["runs"]
    assert [row["report"] for row in rows if row["report"]] == ["good/report.html"]
    notes = {row["id"]: row["note"] for row in rows}
    assert "run.ipynb is not a notebook" in notes["bad-notebook"]
    assert "metrics.json cannot be read" in notes["bad-metrics"]


@pytest.mark.parametrize("state", [{"parameters": [1]}, {"notebook": 3}])
def test_a_run_that_does_not_say_rightly_what_it_ran_has_a_report(run, state):
    folder = run("odd")
    files.write_text(folder / ".kernelkit" / "run.json", json.dumps(state))
    assert (report([folder])[0]).is_file()


@pytest.fixture
def outputs(tmp_path):
    """Write the report of a notebook whose cell has these outputs; returns its text."""

    def outputs(*outputs):
        cell = nbformat.v4.new_code_cell("1", outputs=list(outputs))
        nbformat.write(nbformat.v4.new_notebook(cells=[cell]), tmp_path / "run.ipynb")
        assert report([tmp_path / "run.ipynb"]) == [tmp_path / "run.html"]
        return (tmp_path / "run.html").read_text()

    return outputs


def test_long_outputs_are_shown_from_both_ends(outputs):
    long = "a" * 3_000_000 + "b"
    text = outputs(
        nbformat.v4.new_output("stream", text=long),
        nbformat.v4.new_output("display_data", data={"text/plain": long}),
        nbformat.v4.new_output("error", ename="E", evalue=long, traceback=[long]),
        nbformat.v4.new_output("stream", text="\x1b[31mx\x1b[0m" * 50_000),
    )
    assert len(text) < 3_000_000
    assert text.count("characters omitted: the executed notebook has all of it") == 3


def test_outputs_without_a_picture_are_named_and_a_log_is_one_text(outputs):
    kind = "application/vnd.plotly.v1+json"
    text = outputs(
        *(nbformat.v4.new_output("stream", text=part) for part in ("epo", "ch 1\n")),
        nbformat.v4.new_output("display_data", data={kind: {}}),
        nbformat.v4.new_output("display_data", data={"text/html": "<p><script>draw()</script>"}),
    )
    assert "epoch 1" in text
    assert f"{kind}: the executed notebook" in text
    assert "that a script draws: the notebook" in text


def test_a_widget_of_progress_is_left_out_since_its_text_says_that_nothing_is_done(outputs):
    bar = "Epoch:   0%|          | 0/100 [00:00<?, ?it/s]"
    kind = "application/vnd.jupyter.widget-view+json"
    data = {kind: {"model_id": "a"}, "text/plain": bar}
    assert "0/100" not in outputs(nbformat.v4.new_output("display_data", data=data))
    data["text/plain"] = "IntSlider(value=7)"
    assert "IntSlider(value=7)" in outputs(nbformat.v4.new_output("display_data", data=data))


@pytest.mark.browser
def test_a_table_wider_than_the_page_can_be_scrolled_from_the_keyboard(outputs, tmp_path):
    def table(columns):
        cells = "".join(f"<td>{'x' * 40}</td>" for _ in range(columns))
        return nbformat.v4.new_output(
            "display_data", data={"text/html": f"<table><tr>{cells}</tr></table>"}
        )

    outputs(table(1), table(60))
    steps = """document.title = [...document.querySelectorAll("#notebook .notebook table")]
      .map((table) => table.tabIndex).join();"""
    assert title_after(tmp_path / "run.html", steps) == "-1,0"


def test_colours_stay_and_other_sequences_go(outputs):
    coloured = "\x1b[31mred\x1b[0m\x1b]0;title\x07\x9b5n\r"
    text = outputs(nbformat.v4.new_output("stream", text=coloured))
    assert 'class="ansi-red-fg">red' in text
    assert not [c for c in text if (c < " " and c != "\n" and c != "\t") or "\x7f" <= c <= "\x9f"]


def test_what_a_notebook_writes_to_stderr_is_there_folded_without_notes(outputs):
    noise = "I0000 00:00:1 7 gpu.cc:1] a note of a library\n"
    text = outputs(nbformat.v4.new_output("stream", name="stderr", text=f"{noise}epoch 1 of 3\n"))
    assert "epoch 1 of 3" in text
    assert "a note of a library" not in text


def test_an_estimators_hidden_text_is_not_shown_beside_its_diagram(outputs):
    html = '<div class="sk-text-repr-fallback">rerun this cell</div><div hidden>diagram</div>'
    data = {"text/html": html, "text/plain": "LogisticRegression()"}
    text = outputs(nbformat.v4.new_output("display_data", data=data))
    assert "LogisticRegression()" in text
    assert "rerun this cell" not in text


def test_the_reports_of_many_runs_tell_how_far_they_are(tmp_path):
    for n in range(3):
        (tmp_path / f"run{n}").mkdir()
        (tmp_path / f"run{n}/metrics.json").write_text(f'{{"accuracy": 0.{n}}}')
    told = []
    report([tmp_path], index=True, tell=told.append)
    steps = [f"report {n} of 3" for n in (1, 2, 3)]
    assert told == ["the page over 3 runs", *steps, "the page over 3 runs"]

    told.clear()
    report([tmp_path / "run0", tmp_path / "run1"], tell=told.append)
    assert told == ["report 1 of 2", "report 2 of 2"]
