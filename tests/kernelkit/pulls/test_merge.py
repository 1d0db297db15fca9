"""Notebooks merged by git itself, with the driver that `kernelkit init` names."""

from __future__ import annotations

import subprocess
import sys

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output


@pytest.fixture
def repository(tmp_path):
    """`repository("merge", "theirs")` calls git; a notebook of three cells is on two branches."""

    def git(*words):
        return subprocess.run(["git", "-C", tmp_path, *words], capture_output=True, text=True)

    git("init", "-q", "-b", "ours")
    for name, value in {
        "user.name": "A gardener",
        "user.email": "gardener@example.org",
        "merge.notebook.driver": f"{sys.executable} -m kernelkit.pulls.merge %O %A %B",
    }.items():
        git("config", name, value)
    (tmp_path / ".gitattributes").write_text("*.ipynb merge=notebook\n")
    git.notebook = tmp_path / "train.ipynb"
    write(git.notebook, "a = 1", "b = 1", "c = 1")
    commit(git)
    git("branch", "theirs")
    return git


def write(path, *sources, outputs=()):
    cells = [new_code_cell(text, id=f"cell-{n}") for n, text in enumerate(sources)]
    cells[0].outputs = list(outputs)
    nbformat.write(new_notebook(cells=cells), path)


def commit(git):
    git("add", "-A")
    assert git("commit", "-qm", "a change").returncode == 0


def test_cells_of_both_branches_come_together_and_outputs_stay(repository):
    write(repository.notebook, "a = 1", "b = 1", "c = 2", outputs=[new_output("stream", text="1")])
    commit(repository)
    repository("checkout", "-q", "theirs")
    write(repository.notebook, "a = 1", "a = 2", "b = 1", "c = 1")
    commit(repository)
    repository("checkout", "-q", "ours")
    done = repository("merge", "theirs")
    assert done.returncode == 0, done.stdout
    merged = nbformat.read(repository.notebook, as_version=4)
    assert [cell.source for cell in merged.cells] == ["a = 1", "a = 2", "b = 1", "c = 2"]
    assert merged.cells[0].outputs[0].text == "1"


def test_cells_that_conflict_leave_ours_and_are_told(repository):
    write(repository.notebook, "a = 2", "b = 1", "c = 1")
    commit(repository)
    ours = repository.notebook.read_bytes()
    repository("checkout", "-q", "theirs")
    write(repository.notebook, "a = 3", "b = 1", "c = 1")
    commit(repository)
    repository("checkout", "-q", "ours")
    done = repository("merge", "theirs")
    assert done.returncode == 1
    assert "merge the .py half" in done.stderr
    assert repository.notebook.read_bytes() == ours
