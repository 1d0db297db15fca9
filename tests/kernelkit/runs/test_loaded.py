"""A run notes which files of its repository its process had loaded."""

import json

import nbformat
import pytest

from kernelkit.running.run_notebook import run_notebook
from kernelkit.runs import kit_folder, run_state
from kernelkit.runs.loaded import last_loaded
from kernelkit.runs.run_state import RunState


@pytest.mark.long
def test_a_run_notes_what_its_process_had_loaded_at_its_end(tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "far.py").write_text("X = 1\n")
    (tmp_path / "lib" / "unused.py").write_text("X = 1\n")
    prompt = "x" * 200_000  # more than an argument of a process may have
    cells = [
        f"rate = 0.1\nprompt = {prompt!r}",
        f"import sys\nsys.path.append({str(tmp_path / 'lib')!r})\nimport far",
    ]
    cells.append("print(sorted(name for name in dir() if 'atexit' in name or 'exec' in name))")
    made = [nbformat.v4.new_code_cell(text) for text in cells]
    made[0].metadata["tags"] = ["parameters"]
    notebook = tmp_path / "n.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=made), notebook)
    folder = tmp_path / "runs" / "one"
    run_notebook(notebook, ["rate=inf"], output=folder, quiet=True)

    loaded = last_loaded(tmp_path / "runs", notebook)
    assert loaded.folder == folder
    assert loaded.files == (tmp_path / "lib" / "far.py",)
    executed = nbformat.read(folder / "run.ipynb", as_version=4)
    assert executed.cells[-1].outputs[0].text == "[]\n"  # it leaves no name behind


def test_the_newest_note_of_the_notebook_counts(tmp_path):
    assert last_loaded(tmp_path, tmp_path / "n.ipynb") is None
    for name, notebook in (("a", "n.py"), ("b", "other.ipynb")):
        run_state.note(tmp_path / name, RunState(str(tmp_path / notebook)))
        path = kit_folder.path(tmp_path / name, kit_folder.LOADED)
        path.write_text(json.dumps({"top": str(tmp_path), "files": ["x.py"]}))
    found = last_loaded(tmp_path, tmp_path / "n.ipynb")
    assert found.folder == tmp_path / "a"
    assert found.files == (tmp_path / "x.py",)


def test_a_note_that_cannot_be_read_is_none(tmp_path):
    run_state.note(tmp_path / "a", RunState(str(tmp_path / "n.py")))
    kit_folder.path(tmp_path / "a", kit_folder.LOADED).write_text("[")
    assert last_loaded(tmp_path, tmp_path / "n.ipynb") is None
