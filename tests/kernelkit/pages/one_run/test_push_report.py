"""The report of what came home, which leaves the run's own files alone."""

import json
import math

import nbformat
import pytest
from pages import title_after

from kernelkit import files, project
from kernelkit.pages.one_run import push_report
from kernelkit.pages.shown_first import pictures
from kernelkit.runs import kit_folder, run_folder, run_state
from kernelkit.runs.fetched import FetchedFiles
from kernelkit.runs.submitted import Submitted
from kernelkit.session.recording import mark
from kernelkit.session_records import log as logs
from kernelkit.session_records import shown_outputs
from kernelkit.shown import Shown
from kernelkit.terminal.events import Events

PIXEL = b"a picture"


def notebook_of(*sources):
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    cells[0].metadata["tags"] = ["bundle"]
    return nbformat.writes(nbformat.v4.new_notebook(cells=cells))


def fetched(folder, **texts):
    """A folder into which a push fetched these files."""
    record = FetchedFiles(folder)
    for name, text in texts.items():
        name = name.replace("_", ".")
        record.add(name, files.write_text(folder / name, text))
    return folder


def report(folder, title, *rest):
    page, reason = push_report.report_or_why(folder, title, *rest)
    assert not reason
    return page


def test_the_report_is_put_together_from_what_came_home_and_anew_from_what_came_later(tmp_path):
    folder = fetched(tmp_path)
    (folder / "curves.png").write_bytes(PIXEL)
    ran = notebook_of("carried", "print('words')")
    for score, line in ("0.5", "epoch 1"), ("0.125", "a later log"):
        (folder / "metrics.json").write_text(f'{{"macro_f1": {score}}}')
        logs.keep(folder, json.dumps([{"data": line}]), ran)
        page = report(folder, "me/blossom version 1").read_text()
        for part in ("me/blossom version 1", "data:image/png", line, "words", "macro F1", score):
            assert part in page
        assert page.index(f"<b>{score}") < page.index('id="pictures"')
        assert "carried" not in page
    nbformat.validate(nbformat.read(folder / "run.ipynb", as_version=4))


def test_a_run_that_failed_says_so_in_its_report(tmp_path):
    raised = "Traceback (most recent call last):\n  x\nValueError: withered"
    logs.keep(fetched(tmp_path), json.dumps([{"data": raised}]), notebook_of("", "look()"))
    page = report(tmp_path, "a run").read_text()
    assert "did not finish.</strong> ValueError: withered" in page


@pytest.mark.parametrize("complete", [True, False])
def test_the_report_takes_kaggles_word_for_how_the_session_ended(tmp_path, complete):
    logs.keep(fetched(tmp_path), "", notebook_of("carried", "look()"))
    run_state.note(tmp_path, run_state.RunState(over=complete))
    page = report(tmp_path, "a run").read_text()
    assert ("The run did not finish." not in page) == complete


def test_a_kernel_without_a_heading_is_named_once(tmp_path):
    logs.keep(fetched(tmp_path), "", notebook_of("carried", "look()"))
    push = {"kernel": "me/blossom", "version": 1, "rehearsal": True}
    files.write_text(kit_folder.path(tmp_path, kit_folder.MARKER), json.dumps(push))
    page = report(tmp_path, "me/blossom version 1 (rehearsal)").read_text()
    assert page.partition("<main")[0].count("me/blossom version 1 (rehearsal)") == 1


def test_the_report_of_a_script_calls_it_one(tmp_path):
    raised = "Traceback (most recent call last):\n  x\nValueError: withered"
    logs.keep(fetched(tmp_path), json.dumps([{"data": raised}]), "look()\n")
    page = report(tmp_path, "a run").read_text()
    assert '<h2 style="display:inline">The script</h2>' in page
    assert '<a href="#failed">What failed</a>' in page


def test_the_score_of_a_submission_comes_into_the_report(tmp_path):
    page = report(fetched(tmp_path, metrics_json='{"macro_f1": 0.5}'), "a run")
    assert "garden" not in page.read_text()
    submitted = Submitted(
        "garden",
        reference=7,
        message="first try",
        file="submission.csv",
        sha256="0123456789abcdef",
        when="2026-11-27T05:00:00+00:00",
        git="1a2b3c",
        parameters={"seed": 3},
        score="0.94321",
        rank=12,
        teams=1345,
        rehearsal=True,
    )
    push_report.keep_submission(tmp_path, submitted, Events(rehearsal=True))
    card = "<b>0.94321</b><span>score in garden (rehearsal)</span>"
    assert card in page.read_text()
    again = report(tmp_path, "a run").read_text()  # made anew, as after `fetch`
    assert card in again
    for text in ("first try", "0123456789ab", "1a2b3c", "seed=3", "12/1,345", "2026-11-27 05:00"):
        assert text in again


def test_figures_come_home_with_their_captions(tmp_path):
    """The report after a push says of each figure what the report at home says."""
    for name in ("curves.png", "a.png", "other.png"):
        (tmp_path / name).write_bytes(PIXEL)
    captions = {
        "curves.png": {"caption": "The <loss>.", "text": 'The loss "falls".'},
        "a.png": {"caption": "All of it.", "text": ""},
    }
    (tmp_path / "figures.json").write_text(json.dumps(captions))
    page = report(tmp_path, "a run").read_text()
    assert "<figcaption>The &lt;loss&gt;.</figcaption>" in page
    assert 'alt="The loss &#34;falls&#34;."' in page
    assert page.index("The &lt;loss&gt;.") < page.index('alt="All of it."')  # as they were drawn
    for damaged in ("{", '{"curves.png": 3}'):
        (tmp_path / "figures.json").write_text(damaged)
        assert "data:image/png" in report(fetched(tmp_path), "a run").read_text()


def test_figures_of_a_run_that_also_left_a_history_come_home(tmp_path):
    (tmp_path / "curves.png").write_bytes(PIXEL)
    (tmp_path / "history.csv").write_text("epoch,loss,val_loss\n1,3,3.5\n2,2,2.5\n")
    page = report(tmp_path, "a run").read_text()
    assert "Learning curves" in page
    assert "data:image/png" in page


def test_half_a_character_in_a_log_costs_nothing(tmp_path):
    logs.keep(tmp_path, json.dumps([{"data": "half \ud83c\n"}]), "")
    text = kit_folder.path(tmp_path, kit_folder.LOG_TEXT)
    assert text.read_text() == "half \\ud83c\n"
    logs.keep(tmp_path, "not JSON \ud83c", "")
    assert "half \\ud83c" in report(tmp_path, "half \ud83c").read_text()


def test_metrics_of_any_shape_have_a_report_and_a_broken_one_does_not_cost_the_run(tmp_path):
    odd = {"device": ["tpu"], "git": {"sha": 3}, "versions": None, "f1": math.nan, "seconds": True}
    (tmp_path / "metrics.json").write_text(json.dumps(odd))
    report(tmp_path, "title")
    (tmp_path / "run.ipynb").write_text('{"cells": 3}')
    path, why = push_report.report_or_why(tmp_path, "title")
    assert (path, bool(why)) == (None, True)


def test_a_runs_own_report_and_notebook_stay_as_they_are(tmp_path):
    folder = fetched(tmp_path, report_html="its own", run_ipynb="no notebook", log_txt="its log")
    logs.keep(folder, '[{"data": "printed"}]', "")
    made = report(folder, "me/blossom version 1")
    assert made == run_folder.report_place(folder) == folder / ".kernelkit" / "report.html"
    assert "printed" in made.read_text()
    assert "its log" not in made.read_text()
    texts = [(folder / name).read_text() for name in ("report.html", "run.ipynb", "log.txt")]
    assert texts == ["its own", "no notebook", "its log"]


def test_secrets_are_cleared_from_all_that_is_written(tmp_path):
    def clear(text):
        return text.replace("s3cr3t-key", "[secret]")

    log = json.dumps([{"data": "s3cr3t-key\n"}, {"data": "s3cr3t"}, {"data": "-key\n"}])
    ran = notebook_of("", "print('s3cr3t-key')")
    folder = fetched(tmp_path)
    logs.keep(folder, log, ran, clear)
    report(folder, "a run", clear)
    (folder / "run.ipynb").unlink()
    report(folder, "a run", clear)
    written = [path for path in folder.rglob("*") if path.is_file()]
    assert {path.name for path in written} >= {"log.json", "log.txt", "run.ipynb", "report.html"}
    assert not [path for path in written if "s3cr3t-key" in path.read_text()]
    assert (folder / ".kernelkit" / "log.txt").read_text() == "[secret]\n[secret]\n"


ATTACK = """<script>document.title = "owned"</script><img src=x onerror="document.title = 'owned'">
<iframe srcdoc="<script>parent.document.title = 'owned'</script>"></iframe>
<style>body { display: none } @import url(https://attacker.example/a.css);</style>
<a href="javascript:document.title='owned'">click</a><form action="https://attacker.example"></form>
<table onclick="document.title = 'owned'" style="background: url(https://attacker.example/b.png)">
<tr><td>42</td></tr></table>"""


def recorded(folder, source, *entries):
    """A session's record of one cell with these entries."""
    lines = [{"cell": mark(source)}, *entries]
    file = kit_folder.path(folder, kit_folder.SESSION, "shown-001.jsonl")
    files.write_text(file, "".join(json.dumps(line) + "\n" for line in lines))


@pytest.mark.browser
def test_markup_scripts_and_escapes_in_a_sessions_outputs_stay_harmless(tmp_path):
    svg = '<svg xmlns="http://www.w3.org/2000/svg" onload="document.title = \'owned\'"></svg>'
    shown = [
        {"text/html": ATTACK},
        {"text/markdown": f"# heading\n{ATTACK}"},
        {"image/svg+xml": svg, "text/plain": "<Figure>"},
        {"image/png": '" onerror="document.title = \'owned\'"', "text/plain": ATTACK},
        {"application/javascript": "document.title = 'owned'", "text/plain": "x"},
        {"text/latex": f"${ATTACK}$"},
        {"text/plain": "\x1b]0;owned\x07 plain"},
    ]
    sizes = {"image/png": {"width": "1 onerror=document.title='owned'"}, "kernelkit_picture": 1}
    entries = [
        {"output": {"output_type": "display_data", "data": data, "metadata": sizes}}
        for data in shown
    ]
    stream = {"output_type": "stream", "name": f"x{ATTACK}", "text": f"{ATTACK}\x1b[2J"}
    error = {"output_type": "error", "ename": ATTACK, "evalue": ATTACK, "traceback": [ATTACK]}
    entries += [{"output": stream}, {"output": error}]
    logs.keep(fetched(tmp_path), json.dumps([{"data": ATTACK}]), notebook_of("", "look()"))
    recorded(tmp_path, "look()", *entries)
    page = report(tmp_path, "a run")
    text = page.read_text()
    assert "\x1b" not in text
    assert "42" in text
    steps = (
        "const scripts = document.querySelectorAll('script').length;"
        "const loads = document.querySelectorAll("
        "'iframe, object, embed, form, link[rel=stylesheet], [onclick], [onerror], [onload],"
        " a[href^=javascript], img[src^=http]').length;"
        "document.title = `${document.title === 'owned'} ${loads}`;"
    )
    assert title_after(page, steps) == "false 0"


WIDGET = "application/vnd.jupyter.widget-view+json"


@pytest.mark.parametrize(
    "data",
    [
        {WIDGET: "no object", "text/plain": "shown"},
        {WIDGET: [1], "text/html": "<b>shown</b>"},
        {"text/markdown": "shown" + "<div " * 10_000},  # for mistune 10 s
        {"te\ud800xt": "x", "text/plain": "\udfff shown"},
        {"application/json": float("nan"), "text/plain": "shown\0"},
        {"image/jpeg": [["AAAA"]], "text/plain": "shown"},
    ],
)
def test_a_hostile_record_costs_no_report(tmp_path, data):
    logs.keep(fetched(tmp_path), "", notebook_of("", "look()"))
    sizes = {"image/png": {"width": 10**3000}, WIDGET: 3}
    output = {"output_type": "display_data", "data": data, "metadata": sizes}
    recorded(tmp_path, "look()", {"output": output})
    with kit_folder.path(tmp_path, kit_folder.SESSION, "shown-001.jsonl").open("a") as file:
        file.write('{"output": {"output_type": "stream", "text": "cut o')
    assert "shown" in report(tmp_path, "a run").read_text()


def test_a_record_larger_than_any_is_removed_and_the_report_has_the_cells(tmp_path, monkeypatch):
    monkeypatch.setattr(shown_outputs, "LARGEST", 1000)
    logs.keep(fetched(tmp_path), "", notebook_of("", "look()"))
    recorded(tmp_path, "look()", {"output": {"output_type": "stream", "text": "x" * 1000}})
    assert "xxx" not in report(tmp_path, "a run").read_text()
    shown_outputs.clear_secrets(tmp_path, str)
    assert not any(kit_folder.path(tmp_path, kit_folder.SESSION).iterdir())


def test_what_a_session_recorded_of_a_secret_is_masked(tmp_path):
    def clear(text):
        return text.replace("s3cr3t-key", "[secret]")

    logs.keep(fetched(tmp_path), "", notebook_of("", "look()"), clear)
    texts = ("s3cr3t", "-key\n")  # split over two entries
    outputs = [{"output_type": "stream", "name": "stdout", "text": text} for text in texts]
    table = {"output_type": "display_data", "data": {"text/html": "<b>s3cr3t-key</b>"}}
    recorded(tmp_path, "look()", *[{"output": output} for output in [*outputs, table]])
    deeper = kit_folder.path(tmp_path, kit_folder.SESSION) / "deeper" / "notes.txt"
    files.write_text(deeper, "s3cr3t-key")
    shown_outputs.clear_secrets(tmp_path, clear)
    report(tmp_path, "a run", clear)
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {"run.ipynb", "shown-001.jsonl", "report.html"} <= {path.name for path in written}
    assert not [path for path in written if "s3cr3t-key" in path.read_text()]


def test_a_table_that_only_a_style_sheet_uncovers_does_not_come_first():
    uncovered = "<pre>Ridge()</pre><div hidden><table><td>alpha</td></table></div>"
    cell = nbformat.v4.new_code_cell("Ridge()")
    for html in (uncovered, "<table><td>7</td></table>"):
        cell.outputs.append(nbformat.v4.new_output("display_data", {"text/html": html}))
    _, tables = pictures.of_notebook(nbformat.v4.new_notebook(cells=[cell]))
    assert ["7" in table.html for table in tables] == [True]


def test_the_report_of_a_push_shows_what_its_session_recorded_pictures_first(tmp_path, monkeypatch):
    monkeypatch.setenv(project.SHOWN, Shown().as_json())
    cells = [
        nbformat.v4.new_markdown_cell("# Garden\n\n<h2>The <b>loss</b></h2>"),
        nbformat.v4.new_code_cell("draw()"),
    ]
    logs.keep(fetched(tmp_path), "", nbformat.writes(nbformat.v4.new_notebook(cells=cells)))
    picture = {"output_type": "display_data", "data": {"image/png": "AAAA", "text/plain": "x"}}
    table = {"output_type": "display_data", "data": {"text/html": "<table><td>7</td></table>"}}
    outputs = [{"output": output} for output in (picture, table, table)]
    recorded(tmp_path, "draw()", *outputs)
    page = report(tmp_path, "a run").read_text()
    assert page.count("<h3>The loss</h3>") == 2  # once for the picture, once for both tables
    assert page.count("data:image/png;base64,AAAA") == 1  # the script shows it again below
    assert page.index("<h3>The loss</h3>") < page.index("data:image/png;base64,AAAA")
    assert page.index('id="pictures"') < page.index('id="tables"') < page.index('id="notebook"')
    assert "no metrics.json" not in page  # nothing that is missing is mourned
    assert 'aria-label="Verdict"' not in page
