"""Jupyter leaves no dirt: opening, running and saving a notebook changes nothing that git sees."""

import os
import subprocess
import sys

import nbformat
import pytest
from checkouts import ROOT, check_out, git

FILTER = [sys.executable, "-m", "nbstripout", "--keep-id", "--extra-keys", "metadata.language_info"]


@pytest.fixture
def clone(tmp_path):
    """A clone, with the filter that `make lab` installs."""
    git(check_out(tmp_path), "init", "-q")
    command = ["make", "-o", ".venv/installed", "lab-filter"]
    subprocess.run(command, cwd=tmp_path, env={**os.environ, "MAKEFLAGS": ""}, check=True)
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "as cloned")
    return tmp_path


def save_as_jupyter_does(notebooks, name, source=None):
    """Open a notebook, run its first code cell, and save it with what JupyterLab adds.

    Returns what Jupyter reads and writes notebooks with.
    """
    from jupyter_server.services.contents.largefilemanager import LargeFileManager
    from jupytext.sync_contentsmanager import build_sync_jupytext_contents_manager_class
    from traitlets.config import PyFileConfigLoader

    config = PyFileConfigLoader("jupyter_server_config.py", str(ROOT / ".jupyter")).load_config()
    manager = build_sync_jupytext_contents_manager_class(LargeFileManager)(config=config)
    manager.root_dir = str(notebooks)
    model = manager.get(name)
    content = model["content"]
    kernel = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
    content.metadata["kernelspec"] = kernel
    content.metadata["language_info"] = {"name": "python", "version": "3.11.4"}
    cell = next(cell for cell in content.cells if cell.cell_type == "code")
    cell.execution_count = 3
    cell.outputs = [nbformat.v4.new_output("stream", text="a picture of mine\n")]
    if source is not None:
        content.cells[0].source = source
    manager.save(model, name)
    return manager


@pytest.mark.long
def test_a_notebook_that_was_run_and_saved_is_unchanged_for_git_but_for_an_edit(clone):
    notebooks, name = clone / "notebooks", "01_explore.ipynb"
    save_as_jupyter_does(notebooks, name)
    assert "a picture of mine" in (notebooks / name).read_text()
    assert git(clone, "status", "--porcelain") == ""

    jupyter = save_as_jupyter_does(notebooks, name, "# Edited in Jupyter")
    changed = git(clone, "diff")
    assert "+# # Edited in Jupyter" in changed  # the .py
    assert '"# Edited in Jupyter"' in changed  # the .ipynb
    assert "a picture of mine" not in changed
    assert "display_name" not in changed
    script = notebooks / "01_explore.py"
    script.write_text(script.read_text().replace("Edited in Jupyter", "Edited as text"))
    assert jupyter.get(name)["content"].cells[0].source == "# Edited as text"


def test_committed_notebooks_are_as_the_filter_writes_them():
    notebooks = sorted(ROOT.glob("notebooks/*.ipynb"))
    assert len(notebooks) > 5
    done = subprocess.run([*FILTER, "--verify", *notebooks], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
