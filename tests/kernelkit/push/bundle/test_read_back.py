"""A bundle, read back from what Kaggle stores."""

import pytest

from kernelkit import project
from kernelkit.notebook import scripts
from kernelkit.notebook.document import literal, read_json
from kernelkit.push.bundle.build import build
from kernelkit.push.bundle.read_back import bundled_files, own_cells


@pytest.mark.parametrize("text", ["\nx = 1\n", "\n\n", "x = 1", "", "'''\\n\"\"\"\t\x0c\n"])
def test_a_carried_file_comes_back_as_it_was(text):
    stored = f'_carry("a.py", "hash", {literal(text)})\n{scripts.BEGINS}\n'
    assert bundled_files(stored) == {"a.py": text}


@pytest.mark.parametrize("kind", ["code", "markdown"])
def test_a_cell_with_the_tag_of_those_that_a_push_adds_is_the_notebooks_own(
    repository, notebook_code, kind
):
    cell = {"cell_type": kind, "source": "two words", "metadata": {"tags": ["bundle", "mine"]}}
    repository.cells(notebook_code("import blossom"), cell)
    here = project.find_project(repository.root)

    text = build(repository.notebook, read_json(repository.notebook), {}, here).text

    assert [each.source for each in own_cells(text)] == ["import blossom", "two words"]
    assert own_cells(text)[1].tags == ("mine",)
    assert list(bundled_files(text)) == ["blossom/__init__.py"]
