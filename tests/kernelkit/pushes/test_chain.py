"""Kernels of one repository that read what others of it left, rehearsed on one local Kaggle."""

import io
import json
import subprocess

import pytest

from kernelkit.pushes.command import push_kernel

READ = """\
import os, pathlib
inputs = pathlib.Path(os.environ["KERNELKIT_INPUT_ROOT"]) / "notebooks"
text = "".join((inputs / place / "out.txt").read_text() for place in {places!r})
"""
WRITE = "import pathlib\npathlib.Path('out.txt').write_text(text + {letter!r})\n"


class Kernels:
    """A git repository with a folder for each kernel, and what the last command wrote."""

    def __init__(self, root, timing, cell):
        self.root, self._timing, self._cell = root, timing, cell
        root.mkdir()
        subprocess.run(["git", "init", "-q"], cwd=root, check=True)

    def write(self, letter, *needs, owner="INSERT_USERNAME", code="", **metadata):
        """Write the kernel `OWNER/letter-LETTER`, which reads `needs` ("owner/slug") as mounted."""
        folder = self.root / letter
        folder.mkdir(exist_ok=True)
        places = [need.replace("INSERT_USERNAME", "tester") for need in needs]
        cells = [code, READ.format(places=places), WRITE.format(letter=letter)]
        spec = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
        notebook = {"cells": [self._cell(each) for each in cells if each], "metadata": spec}
        (folder / "nb.ipynb").write_text(
            json.dumps(notebook | {"nbformat": 4, "nbformat_minor": 4})
        )
        values = {
            "id": f"{owner}/letter-{letter}",
            "title": f"Letter {letter}",
            "code_file": "nb.ipynb",
            "language": "python",
            "kernel_type": "notebook",
            "is_private": True,
            "enable_internet": False,
            "kernel_sources": list(needs),
        }
        (folder / "kernel-metadata.json").write_text(json.dumps(values | metadata))

    def rehearse(self, letter, **options):
        """Rehearse in a kernel's folder; returns the text that its run wrote."""
        stream = io.StringIO()
        metadata = self.root / letter / "kernel-metadata.json"
        try:
            folder = push_kernel(
                metadata=metadata, local=True, timing=self._timing, stream=stream, **options
            )
            return (folder / "out.txt").read_text()
        finally:
            self.message = stream.getvalue()


@pytest.fixture
def kernels(tmp_path, timing, notebook_code, quick_sessions):
    return Kernels(tmp_path / "repository", timing, notebook_code)


def test_a_rehearsal_finds_what_one_in_another_folder_left(kernels):
    kernels.write("a")
    kernels.write("b", "INSERT_USERNAME/letter-a")
    assert kernels.rehearse("a") == "a"
    assert kernels.rehearse("b") == "ab"
    assert (kernels.root / "runs/local_kaggle/kaggle.sqlite").is_file()


def test_folders_that_are_projects_of_their_own_share_the_repositorys_kaggle(kernels):
    kernels.write("a")
    kernels.write("b", "INSERT_USERNAME/letter-a")
    for letter in "ab":
        (kernels.root / letter / "pyproject.toml").touch()
        kernels.rehearse(letter)
    assert sorted(path.name for path in (kernels.root / "runs").iterdir()) == ["local_kaggle"]
    assert (kernels.root / "b/runs/rehearsal-letter-b-v1/out.txt").read_text() == "ab"
    asked = ["git", "status", "--porcelain", "--untracked-files=all", "runs"]
    assert subprocess.check_output(asked, cwd=kernels.root) == b""  # it holds keys, and data
