"""The executed notebook of a push comes home: what its session showed is in the report."""

import json

import nbformat
import pytest

from kernelkit import errors, project
from kernelkit.runs import kit_folder
from kernelkit.session.places import FOLDER
from kernelkit.shown import Shown
from kernelkit.watching.status import tell_status

DRAW = """
import matplotlib.pyplot as plt
for number in range(3):
    plt.plot([number, 1])
    plt.show()
"""
MUCH = """
import sys, time
from IPython.display import HTML, display
for step in range(3000):
    print(f"\\rstep {step}", end="", flush=True)
print("\\nended with SECRET-KEY-OF-THE-ACCOUNT")
display(HTML("<table><tr><td>12.5<script>document.title = 'attacked'</script></td></tr></table>"))
display({"application/vnd.jupyter.widget-view+json": {"model_id": "a"}, "text/plain": "Slider()"},
        raw=True)
"""
FLOOD = """
import sys, time
from tqdm import tqdm
for step in tqdm(range(5000), mininterval=0, miniters=1):
    pass
line = "x" * 99 + "\\n"
for part in range(400):
    print(line * 100, end="")
print("all is printed")
"""
FAILS = "print('before')\nraise ValueError('withered')"


@pytest.fixture
def kaggle(serve):
    return serve()


def executed(folder):
    return nbformat.read(folder / "run.ipynb", as_version=4)


def outputs_of(folder, source):
    (cell,) = (c for c in executed(folder).cells if c.source.strip() == source.strip())
    return cell.outputs


@pytest.mark.long
def test_a_notebooks_pictures_tables_and_error_come_home_and_a_resumed_push_has_them_too(
    repository, kaggle
):
    repository.on_cpu()
    repository.sources(DRAW, MUCH, FAILS)
    with pytest.raises(errors.RunFailedError, match="withered"):
        repository.push()
    folder = repository.runs / "rehearsal-blossom-train-v1"
    pictures = outputs_of(folder, DRAW)
    assert ["image/png" in output.data for output in pictures] == [True] * 3
    stream, table, widget = outputs_of(folder, MUCH)
    assert stream.text.rpartition("\r")[2].startswith("step 2999\nended")
    assert "12.5" in table.data["text/html"]
    assert widget.data["text/plain"] == "Slider()"
    assert [output.output_type for output in outputs_of(folder, FAILS)] == ["stream", "error"]
    page = (folder / "report.html").read_text()
    assert page.count('src="data:image/png;base64,') == 3
    assert "document.title = 'attacked'" not in page.partition('class="code"')[0]
    assert not (folder / FOLDER).exists()
    manifest = json.loads(kit_folder.path(folder, kit_folder.MANIFEST).read_text())
    assert [file["name"] for file in manifest["files"]] == [f"{FOLDER}/shown-001.jsonl"]
    assert manifest["files"][0]["sha256"]

    before = executed(folder)
    (folder / "run.ipynb").unlink()
    with pytest.raises(errors.RunFailedError, match="withered"):
        repository.resume()
    assert executed(folder) == before


@pytest.mark.long
def test_much_output_ends_no_session_and_both_ends_of_it_come_home(repository, kaggle):
    repository.on_cpu()
    repository.sources(FLOOD)
    repository.push()
    folder = repository.runs / "rehearsal-blossom-train-v1"
    texts = {output.name: output.text for output in outputs_of(folder, FLOOD)}
    assert "5000/5000" in texts["stderr"]
    assert len(texts["stderr"]) < 10_000  # a bar's last state
    assert texts["stdout"].startswith("x" * 99)
    assert "characters omitted: the session's log has them" in texts["stdout"]
    assert texts["stdout"].endswith("x\nall is printed\n")
    assert len(texts["stdout"]) < 600_000
    assert "did not finish" not in (folder / "report.html").read_text()


def test_a_scripts_session_keeps_no_more_than_its_figures(repository, kaggle):
    repository.on_cpu()
    script = repository.root / "job.py"
    script.write_text("print('trained')\n")
    repository.describe(kernel_type="script", code_file="job.py")
    folder = repository.push()
    page = (folder / "report.html").read_text()
    assert "trained" in page
    assert "FAILED" not in repository.message


TELLS = """
import json, os
os.makedirs("kernelkit_session", exist_ok=True)
told = {"kind": "tpu", "minutes": 135, "held_minutes": 0}
with open("kernelkit_session/machine.json", "w") as file:
    json.dump(told, file)
print("CV RMSE: 0.25")
"""


def test_the_result_and_status_say_that_the_tpu_was_not_used(
    repository, kaggle, quick_sessions, monkeypatch
):
    monkeypatch.setenv(project.SHOWN, Shown(score="CV RMSE").as_json())
    repository.sources(TELLS)
    repository.push()
    words = "asked for a TPU, and no process opened it in 2 h 15 min"
    assert words in repository.message
    assert "CV RMSE 0.2500" in repository.message
    assert repository.run(tell_status) == "complete"
    assert words in repository.message


def test_a_name_that_no_line_has_is_said(repository, kaggle, quick_sessions, monkeypatch):
    monkeypatch.setenv(project.SHOWN, Shown(score="CV RMSE").as_json())
    repository.on_cpu()
    repository.sources("print('OOCV RMSE 0.5')")
    repository.push()
    assert "no score: there is no metrics.json, and no printed line has 'CV RMSE'" in (
        repository.message
    )


@pytest.mark.long
def test_a_kernel_that_is_killed_leaves_what_was_shown_until_then_and_the_error_says_so(
    repository, kaggle
):
    repository.on_cpu()
    repository.sources("print('before')", "import os\nos.kill(os.getpid(), 9)")
    with pytest.raises(errors.RunFailedError, match="ended in error: the notebook's process ended"):
        repository.push()
    folder = repository.runs / "rehearsal-blossom-train-v1"
    assert outputs_of(folder, "print('before')")[0].text == "before\n"
    assert "did not finish" in (folder / "report.html").read_text()
