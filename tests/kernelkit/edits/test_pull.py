"""What was edited on Kaggle, merged into the project's own files."""

import json
import re
import shlex

import jupytext
import nbformat
import pytest
from jupytext.cli import jupytext as jupytext_main

from kernelkit import errors
from kernelkit.edits.pull import pull_edits
from kernelkit.kaggle.kernel import Kernel
from kernelkit.push.bundle.read_back import own_cells, own_script
from kernelkit.watching.status import tell_status
from kernelkit.watching.stop import stop_push

RESCORED = "F1 = 0.75", "F1 = 0.5"
REWORDED = 'print("working on"', 'print("busy on"'


@pytest.fixture
def pushed(repository, busy_kaggle):
    """The repository after a push of a notebook that is paired with a `.py`."""
    content = json.loads(repository.notebook.read_text())
    for number, cell in enumerate(content["cells"]):
        cell["id"] = f"own-{number}"
    notebook = nbformat.from_dict(content)
    notebook.metadata["jupytext"] = {"formats": "ipynb,py:percent"}
    jupytext.write(notebook, repository.notebook)
    jupytext.write(notebook, repository.notebook.with_suffix(".py"), fmt="py:percent")
    repository.push("files=1", wait=False)
    return repository


@pytest.fixture
def edit_on_kaggle(busy_kaggle, connect):
    """Saves the newest version anew with texts changed, as Kaggle's editor does."""

    def edit_on_kaggle(*changes):
        client, kernel = connect().kaggle, Kernel("tester", "blossom-train")
        stored = client.stored(kernel)
        text = stored.text
        for change in changes:
            if stored.kernel_type == "notebook":
                change = [json.dumps(each)[1:-1] for each in change]
            assert text.count(change[0]) == 1, change
            text = text.replace(*change)
        fields = {"slug": str(kernel), "new_title": "Blossom train", "text": text}
        client.save(fields | {"language": "python", "kernel_type": stored.kernel_type})

    return edit_on_kaggle


def test_edits_of_cells_and_modules_come_back_beside_ones_own(pushed, edit_on_kaggle):
    script, module = pushed.notebook.with_suffix(".py"), pushed.package / "petals.py"
    edit_on_kaggle(RESCORED, REWORDED)
    script.write_text(script.read_text().replace('ValueError("withered")', 'ValueError("dry")'))
    before = script.read_text()

    assert pushed.run(pull_edits) == [module, script]
    assert module.read_text() == "from __future__ import annotations\n\nF1 = 0.5\n"
    assert script.read_text() == before.replace(*REWORDED)
    sources = [cell.source for cell in nbformat.read(pushed.notebook, as_version=4).cells]
    assert sources == [cell.source for cell in jupytext.read(script).cells]
    assert "injected" not in pushed.notebook.read_text()
    assert '+print("busy on", accelerator)' in pushed.message
    (copies,) = pushed.runs.glob("pulled/rehearsal-blossom-train-v2/*")
    assert (copies / "notebooks/train.py").read_text() == before
    assert (copies / "src/blossom/petals.py").read_text().endswith("F1 = 0.75\n")

    assert pushed.run(pull_edits) == []
    assert "has no edits that your files lack" in pushed.message


def test_edits_of_the_same_line_stand_between_marks_until_one_side_is_kept(pushed, edit_on_kaggle):
    module, notebook = pushed.package / "petals.py", pushed.notebook.read_bytes()
    edit_on_kaggle(RESCORED, ('ValueError("withered")', "ValueError(1)"))
    module.write_text("F1 = 0.25\n")
    script = pushed.notebook.with_suffix(".py")
    script.write_text(script.read_text().replace('ValueError("withered")', "ValueError(2)"))

    with pytest.raises(errors.PreflightError, match=r"petals\.py.*train\.py: both sides"):
        pushed.run(pull_edits)
    assert "<<<<<<< here\nF1 = 0.25\n=======\n" in module.read_text()
    assert ">>>>>>> version 2" in script.read_text()
    assert pushed.notebook.read_bytes() == notebook, "its JSON has no room for marks"
    module.write_text("F1 = 0.3\n")
    script.write_text(script.read_text().replace("<<<<<<< here\n", ""))
    kept = script.read_text()
    assert pushed.run(pull_edits) == []
    assert "--base N merges it again" in pushed.message
    edit_on_kaggle(("F1 = 0.5", "F1 = 0.6"))  # of version 2, which these files have
    with pytest.raises(errors.PreflightError, match=r"petals\.py: both sides"):
        pushed.run(pull_edits)
    assert script.read_text() == kept


def test_every_pull_keeps_copies_of_its_own(pushed, edit_on_kaggle):
    module = pushed.package / "petals.py"
    before = module.read_text()
    edit_on_kaggle(RESCORED)
    assert pushed.run(pull_edits) == [module]
    module.write_text(f"# taken back\n{before}")
    assert pushed.run(pull_edits, base=1) == [module]
    first, second = sorted(pushed.runs.glob("pulled/*/*/src/blossom/petals.py"))
    assert (first.read_text(), second.read_text()) == (before, f"# taken back\n{before}")


def test_a_file_that_still_has_marks_is_not_merged_again(pushed, edit_on_kaggle):
    module = pushed.package / "petals.py"
    edit_on_kaggle(RESCORED)
    module.write_text("F1 = 0.25\n")
    with pytest.raises(errors.PreflightError, match="both sides"):
        pushed.run(pull_edits)
    marked = module.read_text()
    edit_on_kaggle(("F1 = 0.5", "F1 = 0.6"))
    with pytest.raises(
        errors.PreflightError, match=r"petals\.py still has the marks of a conflict"
    ):
        pushed.run(pull_edits)
    assert module.read_text() == marked


def test_a_notebook_without_a_script_takes_the_cells_or_has_the_marks_beside_it(
    pushed, edit_on_kaggle
):
    pushed.notebook.with_suffix(".py").unlink()
    notebook = nbformat.read(pushed.notebook, as_version=4)
    notebook.cells[2].outputs = [nbformat.v4.new_output("stream", text="kept")]
    nbformat.write(notebook, pushed.notebook)
    edit_on_kaggle(REWORDED)

    assert pushed.run(pull_edits) == [pushed.notebook]
    cells = nbformat.read(pushed.notebook, as_version=4).cells
    assert 'print("busy on"' in cells[1].source
    assert cells[2].outputs[0].text == "kept"

    text = pushed.notebook.read_text().replace("busy on", "idle on")
    pushed.notebook.write_text(text)
    edit_on_kaggle(("busy on", "lazy on"))
    with pytest.raises(errors.PreflightError, match=r"train\.conflict\.py: both sides.*") as raised:
        pushed.run(pull_edits)
    assert "copies in" not in pushed.message.rpartition("train.conflict.py")[2], "there are none"
    assert not (pushed.runs / "pulled/rehearsal-blossom-train-v3").exists(), "it is not here yet"
    beside = pushed.notebook.with_suffix(".conflict.py")
    assert "<<<<<<< here" in beside.read_text()
    assert pushed.notebook.read_text() == text

    kept = re.sub(r"<<<<<<< .*\n|=======\n(.*\n)*?>>>>>>> .*\n", "", beside.read_text())
    beside.write_text(kept)
    command = shlex.split(str(raised.value).partition("then run: ")[2])
    assert jupytext_main(command[1:]) == 0
    assert "idle on" in pushed.notebook.read_text()
    assert "kept" in pushed.notebook.read_text()


def test_a_dry_run_shows_the_difference_and_writes_nothing(pushed, edit_on_kaggle):
    edit_on_kaggle(("F1 = 0.75", "F1 = 0.5\x1b[31m"))
    assert pushed.run(pull_edits, dry_run=True) == []
    assert "+F1 = 0.5" in pushed.message
    assert "\x1b" not in pushed.message
    assert "0.75" in (pushed.package / "petals.py").read_text()
    assert not (pushed.runs / "pulled").exists()


@pytest.mark.parametrize("path", ["../../../evil.py", "../.git/hooks/evil.py", "/evil.py"])
def test_a_path_outside_the_project_or_hidden_in_it_is_refused(
    pushed, edit_on_kaggle, tmp_path, path
):
    edit_on_kaggle(('"blossom/petals.py"', json.dumps(path)))
    with pytest.raises(errors.NotebookError, match="outside the project or hidden"):
        pushed.run(pull_edits)
    assert not list(tmp_path.rglob("evil.py"))


def test_line_ends_of_windows_are_no_edits_and_stay(pushed, edit_on_kaggle):
    module = pushed.package / "petals.py"
    before = module.read_bytes().replace(b"\n", b"\r\n")
    module.write_bytes(b"\xef\xbb\xbf" + before)
    pushed.push("files=1", wait=False, force=True, accelerator="cpu")
    edit_on_kaggle(("F1 = 0.75\\u000d", "F1 = 0.5\\u000d"))
    assert pushed.run(pull_edits) == [module]
    assert module.read_bytes() == before.replace(b"0.75", b"0.5")


def test_without_a_push_of_before_the_base_is_named(pushed, edit_on_kaggle):
    edit_on_kaggle(RESCORED)
    (pushed.runs / "pushes.sqlite").unlink()
    with pytest.raises(errors.ParameterError, match="--base N"):
        pushed.run(pull_edits)
    assert len(pushed.run(pull_edits, 2, base=1)) == 1
    with pytest.raises(errors.ParameterError, match="Kaggle has no tester/blossom-train/9"):
        pushed.run(pull_edits, 9)


def test_a_script_comes_back_without_what_was_carried(repository, edit_on_kaggle):
    script = repository.root / "work.py"
    script.write_text("from __future__ import annotations\n\nfrom blossom import petals\n\nx = 1\n")
    repository.describe(code_file="work.py", kernel_type="script")
    repository.push(wait=False)
    edit_on_kaggle(("\nx = 1\n", "\nx = 2\n"))
    assert repository.run(pull_edits) == [script]
    assert script.read_text().startswith("from __future__ import annotations\n")
    assert script.read_text().endswith("x = 2\n")


@pytest.mark.parametrize("text", ["print(1)", '{"cells": [1]}', "{"])
def test_a_text_that_no_push_made_is_refused_in_a_line(text):
    read = own_cells if text.startswith("{") else own_script
    with pytest.raises(errors.NotebookError, match="that version"):
        read(text)


@pytest.fixture(params=["last", "tester/blossom-train/1", "on the site"])
def delete(request, pushed, connect):
    """Deletes the kernel: by stopping a push of it, or on the site."""

    def delete():
        if request.param == "on the site":
            connect().kaggle.kernels.delete_kernel(Kernel("tester", "blossom-train"))
        else:
            pushed.run(stop_push, request.param, confirm=lambda loss: True)

    return delete


def test_the_versions_of_a_kernel_that_was_deleted_hide_no_edits(pushed, edit_on_kaggle, delete):
    pushed.push("files=2", wait=False, force=True, accelerator="cpu")
    delete()
    pushed.push("files=3", wait=False)  # the new kernel's version 1
    edit_on_kaggle(RESCORED)
    pushed.run(tell_status)
    assert "tester/blossom-train/2 was saved on Kaggle since the last push" in pushed.message
    assert pushed.run(pull_edits) == [pushed.package / "petals.py"]


def test_a_pulled_version_of_a_kernel_that_was_deleted_hides_no_edits(
    pushed, edit_on_kaggle, delete
):
    edit_on_kaggle(RESCORED)
    assert pushed.run(pull_edits) == [pushed.package / "petals.py"]
    delete()
    pushed.push("files=3", wait=False)  # the new kernel's version 1
    edit_on_kaggle(("F1 = 0.5", "F1 = 0.6"))
    words = "tester/blossom-train/2 was saved on Kaggle since the last push"
    pushed.run(tell_status)
    assert words in pushed.message
    assert pushed.run(pull_edits) == [pushed.package / "petals.py"]
    pushed.run(tell_status)
    assert words not in pushed.message
