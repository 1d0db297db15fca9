"""What a notebook without a `kernel-metadata.json` is told."""

import re

import nbformat
import pytest
from click.testing import CliRunner

from kernelkit import errors, files
from kernelkit.cli.push import check
from kernelkit.push.bundle import metadata


@pytest.mark.parametrize("name", ["my leaf.ipynb", "ab.ipynb", "Größe_2.ipynb"])
def test_what_it_is_told_to_save_passes_the_check(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("print(1)")])
    files.write_text(tmp_path / name, nbformat.writes(notebook))
    told = []
    for start in (tmp_path, tmp_path / name):
        with pytest.raises(errors.PreflightError) as refused:
            metadata.locate(start)
        told.append(re.search(r"save (\{.*\}) in that file beside", str(refused.value))[1])
    assert told[0] == told[1]
    (tmp_path / "kernel-metadata.json").write_text(told[0])
    done = CliRunner().invoke(check, [])
    assert "nothing to correct" in done.output, done.output


def test_of_several_notebooks_none_is_chosen(tmp_path):
    for name in ("a.ipynb", "b.ipynb"):
        (tmp_path / name).touch()
    with pytest.raises(errors.PreflightError, match="write one with `kaggle kernels init`"):
        metadata.locate(tmp_path)
