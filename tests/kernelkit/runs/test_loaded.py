"""A run notes which files of its repository its process had loaded."""

import json

import nbformat
import pytest

from kernelkit.runs import kit_folder
from kernelkit.runs.loaded import last_loaded
from kernelkit.runs.run_notebook import run_notebook


@pytest.mark.long
def test_a_run_notes_what_its_process_had_loaded_at_its_end(tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "far.py").write_text("X = 1\n")
    (tmp_path / "lib" / "unused.py").write_text("X = 1\n")
    cells = ["rate = 0.1", f"import sys\nsys.path.append({str(tmp_path / 'lib')!r})\nimport far"]
    cells.append("print(sorted(name for name in dir() if 'atexit' in name or 'exec' in name))")
    made = [nbformat.v4.new_code_cell(text) for text in cells]
    made[0].metadata["tags"] = ["parameters"]
    notebook = tmp_path / "n.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=made), notebook)
    folder = tmp_path / "runs" / "one"
    run_notebook(notebook, ["rate=0.5"], output=folder, quiet=True)

    loaded = last_loaded(tmp_path / "runs", notebook)
    assert loaded.folder == folder
    assert loaded.files == (tmp_path / "lib" / "far.py",)
    assert loaded.parameters == {"rate": 0.5}
    assert loaded.code
    executed = nbformat.read(folder / "run.ipynb", as_version=4)
    assert executed.cells[-1].outputs[0].text == "[]\n"  # it leaves no name behind


def test_the_newest_note_of_the_notebook_counts(tmp_path):
    assert last_loaded(tmp_path, tmp_path / "n.ipynb") is None
    for name, notebook in (("a", "n.py"), ("b", "other.ipynb")):
        path = kit_folder.path(tmp_path / name, kit_folder.LOADED)
        path.parent.mkdir(parents=True)
        note = {"notebook": str(tmp_path / notebook), "top": str(tmp_path), "files": ["x.py"]}
        path.write_text(json.dumps(note | {"code": "", "parameters": {}}))
    found = last_loaded(tmp_path, tmp_path / "n.ipynb")
    assert found.folder == tmp_path / "a"
    assert found.files == (tmp_path / "x.py",)


def test_a_note_that_cannot_be_read_is_none(tmp_path):
    path = kit_folder.path(tmp_path / "a", kit_folder.LOADED)
    path.parent.mkdir(parents=True)
    path.write_text("[")
    assert last_loaded(tmp_path, tmp_path / "n.ipynb") is None
