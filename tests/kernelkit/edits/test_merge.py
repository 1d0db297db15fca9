"""Notebooks merged by git itself, with the driver that `kernelkit init` names."""

import json
import subprocess
import sys

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from kernelkit.edits.merge import into_notebook


@pytest.fixture
def merge(tmp_path):
    """Merges two branches' edits of a notebook of three cells; git's answer, and the path."""
    notebook = tmp_path / "train.ipynb"

    def git(*words):
        return subprocess.run(["git", "-C", tmp_path, *words], capture_output=True, text=True)

    def commit(branch, *sources, outputs=()):
        git("checkout", "-q", branch)
        cells = [new_code_cell(text, id=f"cell-{n}") for n, text in enumerate(sources)]
        cells[0].outputs = list(outputs)
        nbformat.write(new_notebook(cells=cells), notebook)
        git("add", "-A")
        assert git("commit", "-qm", "a change").returncode == 0

    git("init", "-q", "-b", "ours")
    for name, value in {
        "user.name": "A gardener",
        "user.email": "gardener@example.org",
        "merge.notebook.driver": f"{sys.executable} -m kernelkit.edits.merge %O %A %B",
    }.items():
        git("config", name, value)
    (tmp_path / ".gitattributes").write_text("*.ipynb merge=notebook\n")
    commit("ours", "a=1", "b=1", "c=1")
    git("branch", "theirs")

    def merge(ours, theirs):
        commit("theirs", *theirs)
        commit("ours", *ours, outputs=[new_output("stream", text="1")])
        return git("merge", "theirs"), notebook

    return merge


@pytest.mark.parametrize(
    ("ours", "theirs", "conflicts", "together"),
    [
        ("a=1 b=1 c=2", "a=1 a=2 b=1 c=1", False, "a=1 a=2 b=1 c=2"),
        ("a=2 b=1 c=1", "a=3 b=1 c=1", True, "a=2 b=1 c=1"),
    ],
)
def test_cells_come_together_or_ours_stay_and_outputs_do(merge, ours, theirs, conflicts, together):
    done, notebook = merge(ours.split(), theirs.split())
    assert done.returncode == conflicts, done.stdout
    assert ("merge the .py half" in done.stderr) is conflicts
    merged = nbformat.read(notebook, as_version=4)
    assert [cell.source for cell in merged.cells] == together.split()
    assert merged.cells[0].outputs[0].text == "1"


@pytest.mark.filterwarnings("error::nbformat.warnings.MissingIDFieldWarning")
def test_a_notebook_that_was_downloaded_from_kaggle_takes_edits_without_a_warning(tmp_path):
    without_id = {"cell_type": "markdown", "metadata": {}, "source": "# Kaggle's link"}
    content = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("x = 1")])
    content["cells"].insert(0, without_id)
    (tmp_path / "a.ipynb").write_text(json.dumps(content))
    text = "# %% [markdown]\n# # Kaggle's link\n\n# %%\nx = 2\n"
    merged = json.loads(into_notebook(text, tmp_path / "a.ipynb"))
    assert [cell["source"] for cell in merged["cells"]] == [["# Kaggle's link"], ["x = 2"]]
