"""The two halves of a pair are compared, and an edit is told with the commands that join them."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import jupytext
import nbformat
import pytest

from kernelkit.errors import NotebookError
from kernelkit.notebook import document, pairs, scripts

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
    """A pair; returns the notebook."""
    (tmp_path / "train.py").write_text(SCRIPT)
    jupytext.write(jupytext.read(tmp_path / "train.py"), tmp_path / "train.ipynb")
    return tmp_path / "train.ipynb"


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_a_pair_with_magics_agrees(notebook):
    assert pairs.difference(notebook) == ""


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
    text = pairs.difference(notebook)
    assert f"differ from cell {cell} on" in text
    assert f"jupytext --to ipynb --update {notebook.with_suffix('.py')}" in text
    assert f"jupytext --to py:percent {notebook}" in text


@pytest.mark.long
@pytest.mark.parametrize(("half", "place"), [(".py", 1), (".ipynb", 3)])
def test_what_is_advised_brings_the_halves_together(notebook, half, place):
    edit(notebook.with_suffix(half), "print(rate)", "print(3 * rate)")
    command = pairs.difference(notebook).split("`")[place]
    line = [sys.executable, "-m", *shlex.split(command)]
    subprocess.run(line, check=True, capture_output=True)
    assert pairs.difference(notebook) == ""
    assert "3 * rate" in notebook.read_text()
    assert "3 * rate" in notebook.with_suffix(".py").read_text()


def test_what_an_editor_of_windows_saves_is_read(notebook):
    for half in (notebook, notebook.with_suffix(".py")):
        half.write_bytes(b"\xef\xbb\xbf" + half.read_bytes())
        for read in (document.read, document.read_json):
            (cell,) = document.parameters_cells(read(half))
            assert cell.source == "rate = 0.1"
    assert "\ufeff" not in scripts.read_script(half)["cells"][0]["source"]


def test_a_script_that_is_no_jupytext_text_is_no_half(notebook):
    notebook.with_suffix(".py").write_text("# ---\n# A script with a rule\n# ---\n")
    assert pairs.text_half(notebook) is None
    assert pairs.difference(notebook) == ""


@pytest.mark.parametrize("form", ["py:light", "py:hydrogen", "md", "md:myst", "Rmd"])
@pytest.mark.parametrize("folder", ["", "texts//"])
def test_a_half_in_another_format_or_folder_is_found(tmp_path, form, folder):
    notebook = tmp_path / "train.ipynb"
    book = jupytext.reads(SCRIPT, "py:percent")
    book.metadata["jupytext"] = {"formats": f"ipynb,{folder}{form}"}
    jupytext.write(book, notebook)
    half = tmp_path / folder.strip("/") / f"train.{form.partition(':')[0]}"
    half.parent.mkdir(exist_ok=True)
    jupytext.write(jupytext.read(notebook), half, fmt=form)
    assert pairs.text_half(notebook).path == half
    assert pairs.difference(notebook) == ""
    edit(half, "print(rate)", "print(7 * rate)")
    advice = pairs.difference(notebook)
    assert f"jupytext --to {form}" in advice
    assert str(half) in advice


def test_a_configuration_file_pairs_notebooks(notebook, tmp_path):
    book = jupytext.read(notebook)
    del book.metadata["jupytext"]
    jupytext.write(book, notebook)
    script = tmp_path / "train.py"
    script.write_text(SCRIPT.partition("# ---\n\n")[2])  # no header: no half by itself
    assert pairs.text_half(notebook) is None
    (tmp_path / "jupytext.toml").write_text('formats = "ipynb,py:percent"\n')
    assert pairs.text_half(notebook).path == script


def test_an_older_format_is_refused_with_the_command_that_converts_it(tmp_path):
    old = tmp_path / "old.ipynb"
    old.write_text('{"nbformat": 3, "worksheets": [], "metadata": {}}')
    with pytest.raises(NotebookError, match="jupyter nbconvert --to notebook --nbformat 4"):
        document.read_json(old)


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ({"cell_type": "code", "source": 3}, "cell 2: it has no text as its source"),
        ({"cell_type": "code", "source": ["a", 3]}, "cell 2: it has no text as its source"),
        ({"cell_type": "code", "source": "\ud800"}, "cell 2: it contains half a character"),
        ({"cell_type": "code", "source": ["a", "\udfff"]}, "cell 2: it contains half a character"),
        ({"cell_type": "cod", "source": ""}, "cell 2: its type is none of code, markdown, raw"),
        ({"source": ""}, "cell 2: its type is none of"),
        (3, "cell 2: its type is none of"),
    ],
)
def test_what_is_wrong_with_a_cell_is_told_with_its_number(tmp_path, cell, message):
    path = tmp_path / "odd.ipynb"
    cells = [{"cell_type": "markdown", "source": ["# One\n", "two"]}, cell]
    path.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}))
    with pytest.raises(NotebookError, match=f"is not a notebook: {message}"):
        document.read_json(path)


def test_every_reader_of_a_notebook_refuses_the_same(tmp_path):
    cells = [{"cell_type": "code", "source": "\ud800", "metadata": {}, "outputs": []}]
    texts = {
        "convert it: jupyter nbconvert": {"nbformat": 3, "worksheets": [], "metadata": {}},
        "contains half a character": {"nbformat": 4, "cells": cells, "metadata": {}},
        "is R, and kernelkit": {
            "nbformat": 4,
            "cells": [],
            "metadata": {"kernelspec": {"language": "R"}},
        },
    }
    for message, content in texts.items():
        path = tmp_path / "odd.ipynb"
        path.write_text(json.dumps(content))
        for read in (document.read, document.read_json):
            with pytest.raises(NotebookError, match=f"(?i){message}"):
                read(path)


def test_a_file_that_may_not_be_read_is_named(tmp_path, monkeypatch):
    path = tmp_path / "train.ipynb"
    path.write_text('{"nbformat": 4, "cells": [], "metadata": {}}')

    def refused(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_text", refused)
    for read in (document.read, document.read_json):
        with pytest.raises(NotebookError, match=r"train.ipynb cannot be read: Permission denied"):
            read(path)


def test_cells_without_metadata_are_read(tmp_path):
    path = tmp_path / "train.ipynb"
    path.write_text('{"nbformat": 4, "cells": [{"cell_type": "code", "source": ["a\\n", "b"]}]}')
    (cell,) = document.read(path).cells
    assert (cell.source, cell.metadata) == ("a\nb", {})


def test_a_stripped_notebook_keeps_its_pictures():
    pictures = {"a.png": {"image/png": "AAAA"}}
    cell = nbformat.v4.new_markdown_cell("![a](attachment:a.png)", attachments=pictures)
    stripped = document.strip(nbformat.v4.new_notebook(cells=[cell]))
    assert stripped.cells[0].attachments == pictures


@pytest.mark.parametrize("text", [None, 3, ["a", None, "b"], "ab"])
def test_of_what_a_killed_run_printed_what_is_damaged_is_left_out(text):
    output = {"output_type": "stream", "text": text}
    printed = document.printed({"cells": [{"outputs": [output]}]})
    assert printed in ("\n", "ab\n")
    assert ("ab" in printed) == ("a" in str(text))


def test_settings_above_the_repository_pair_no_notebook(notebook, tmp_path):
    (tmp_path / "jupytext.toml").write_text('formats = "ipynb,py:percent"\n')
    repository = tmp_path / "repository"
    (repository / ".git").mkdir(parents=True)
    (repository / "about_jupytext.md").write_text("how we use it")
    inner = repository / "train.ipynb"
    book = jupytext.read(notebook)
    del book.metadata["jupytext"]
    jupytext.write(book, inner)
    inner.with_suffix(".py").write_text(SCRIPT.partition("# ---\n\n")[2])
    assert pairs.text_half(inner) is None


@pytest.mark.parametrize("formats", ["ipynb,auto:percent", "ipynb,py:percent", "ipynb,auto"])
def test_the_ending_of_python_may_be_left_open(notebook, formats):
    book = jupytext.read(notebook)
    book.metadata |= {"jupytext": {"formats": formats}, "kernelspec": document.KERNELSPEC}
    jupytext.write(book, notebook)
    assert pairs.text_half(notebook).path == notebook.with_suffix(".py")
