from __future__ import annotations

import shlex
import subprocess
import sys

import jupytext
import pytest

from kernelkit.errors import NotebookError
from kernelkit.notebooks import pairs

SCRIPT = """\
# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
# ---

# %% [markdown]
# # Title

# %% tags=["parameters"]
rate = 0.1

# %%
# %matplotlib inline
# !ls
print(rate)
"""


@pytest.fixture
def notebook(tmp_path):
    """A committed pair; returns the notebook."""
    (tmp_path / "train.py").write_text(SCRIPT)
    jupytext.write(jupytext.read(tmp_path / "train.py"), tmp_path / "train.ipynb")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "Add a pair")
    return tmp_path / "train.ipynb"


def git(folder, *words):
    who = ["-c", "user.name=tester", "-c", "user.email=tester@example.invalid"]
    subprocess.run(["git", *who, *words], cwd=folder, check=True)


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_a_pair_with_magics_agrees(notebook):
    assert pairs.difference(notebook) is None


@pytest.mark.parametrize(
    ("old", "new", "cell"),
    [
        ("print(rate)\n", "print(rate)\nprint('added')\n", 3),
        ("print(rate)\n", "print(rate)\n\n# %%\nprint('added')\n", 4),
        ("# # Title", "# # Another title", 1),
        ("# !ls", "# !rm -r data", 3),
        (' tags=["parameters"]', "", 2),
    ],
    ids=["line", "cell", "markdown", "magic", "tag"],
)
def test_an_edited_script_is_seen_and_named(notebook, old, new, cell):
    edit(notebook.with_suffix(".py"), old, new)
    place = pairs.difference(notebook)
    assert (place.cell, place.edited) == (cell, "text")
    assert f"jupytext --to ipynb --update {notebook.with_suffix('.py')}" in pairs.advice(
        notebook, place
    )


def test_cells_in_another_order_are_a_difference(notebook):
    script = notebook.with_suffix(".py")
    head, first, second = (
        script.read_text().partition("# %% tags")[0],
        "# %%\na = 1\n",
        "# %%\nb = 2\n",
    )
    script.write_text(head + first + second)
    jupytext.write(jupytext.read(script), notebook)
    script.write_text(head + second + first)
    assert pairs.difference(notebook).cell == 2


def test_an_edited_notebook_is_named(notebook):
    edit(notebook, "print(rate)", "print(2 * rate)")
    place = pairs.difference(notebook)
    assert place.edited == "notebook"
    assert f"jupytext --to py:percent {notebook}" in pairs.advice(notebook, place)


def test_when_both_halves_were_edited_a_copy_is_advised(notebook):
    edit(notebook, "print(rate)", "print(2 * rate)")
    edit(notebook.with_suffix(".py"), "rate = 0.1", "rate = 0.2")
    advice = pairs.advice(notebook, pairs.difference(notebook))
    assert "both were edited: copy one half to another name, then" in advice
    assert "--sync" not in advice


def test_without_git_no_side_is_blamed(tmp_path):
    (tmp_path / "train.py").write_text(SCRIPT)
    jupytext.write(jupytext.read(tmp_path / "train.py"), tmp_path / "train.ipynb")
    edit(tmp_path / "train.py", "rate = 0.1", "rate = 0.2")
    place = pairs.difference(tmp_path / "train.ipynb")
    assert place.edited == ""
    assert "copy one half" in pairs.advice(tmp_path / "train.ipynb", place)


@pytest.mark.long
@pytest.mark.parametrize("advised", ["text", "notebook"])
def test_what_is_advised_brings_the_halves_together(notebook, advised):
    side = notebook.with_suffix(".py") if advised == "text" else notebook
    edit(side, "print(rate)", "print(3 * rate)")
    command = pairs.advice(notebook, pairs.difference(notebook)).split("`")[1]
    line = [sys.executable, "-m", *shlex.split(command)]
    subprocess.run(line, check=True, capture_output=True)
    assert pairs.difference(notebook) is None
    assert "3 * rate" in notebook.read_text()
    assert "3 * rate" in notebook.with_suffix(".py").read_text()


@pytest.mark.parametrize("text", ["import sys\n", "# ---\n# A script with a rule\n# ---\n"])
def test_a_script_that_is_no_jupytext_text_is_no_half(notebook, text):
    notebook.with_suffix(".py").write_text(text)
    assert pairs.text_half(notebook) is None
    assert pairs.difference(notebook) is None


def test_a_broken_half_is_named(notebook):
    notebook.write_text("{")
    with pytest.raises(NotebookError, match=r"train\.ipynb is not a notebook"):
        pairs.difference(notebook)
