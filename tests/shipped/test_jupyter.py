"""Jupyter leaves no dirt: opening, running and saving a notebook changes nothing that git sees."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).parents[2]
FILTER = [sys.executable, "-m", "nbstripout", "--keep-id", "--extra-keys", "metadata.language_info"]


def git(folder, *arguments):
    config = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"]
    return subprocess.check_output(["git", "-C", folder, *config, *arguments], text=True)


@pytest.fixture
def clone(tmp_path):
    """A clone's notebooks and git's attributes, with the filter that `make lab` installs."""
    (tmp_path / "notebooks").mkdir()
    for path in ROOT.glob("notebooks/*.*py*"):
        shutil.copy(path, tmp_path / "notebooks")
    for name in (".gitattributes", ".gitignore", "Makefile", "pyproject.toml", "requirements.lock"):
        shutil.copy(ROOT / name, tmp_path)
    environment = tmp_path / ".venv"  # as `make` finds it: made, and newer than the lock
    (environment / "bin").mkdir(parents=True)
    (environment / "bin" / "python").symlink_to(sys.executable)
    (environment / ".gitignore").write_text("*\n")
    shutil.copy(Path(sys.prefix) / "pyvenv.cfg", environment)
    for folder in ("lib", "lib64"):
        (environment / folder).symlink_to(Path(sys.prefix) / "lib")
    git(tmp_path, "init", "-q")
    command = ["make", "-o", ".venv/installed", "lab-filter"]
    subprocess.run(command, cwd=tmp_path, env={**os.environ, "MAKEFLAGS": ""}, check=True)
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "as cloned")
    return tmp_path


def save_as_jupyter_does(notebooks: Path, name: str, source: str | None = None):
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
