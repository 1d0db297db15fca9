"""The examples as a stranger has them: copied out of this repository, and used from there."""

import shutil

import pytest
from checkouts import ROOT

EXAMPLES = ROOT / "examples"


@pytest.fixture
def copied(tmp_path, monkeypatch):
    """Copies an example, and makes the copy the working directory; gives its folder."""

    def copied(name):
        ignored = shutil.ignore_patterns("runs", "__pycache__", ".*_cache", ".ipynb_checkpoints")
        folder = shutil.copytree(EXAMPLES / name, tmp_path / "copied", ignore=ignored)
        monkeypatch.chdir(folder)
        return folder

    return copied
