"""A notebook pulled from a server that means no good: what comes along, and what does not."""

import io
import json
import shlex
from pathlib import Path
from unittest.mock import Mock

import pytest
from click.testing import CliRunner

from kernelkit.cli.console import main
from kernelkit.errors import NotebookError, ParameterError, RefusedError
from kernelkit.kaggle import client
from kernelkit.kaggle.answers import Stored
from kernelkit.kaggle.client import Kaggle
from kernelkit.push.added.added_cells import FIRST
from kernelkit.push.checked.checked_plan import checked_plan
from kernelkit.push.known.push_context import PushContext
from kernelkit.push.planned.request import PushRequest
from kernelkit.start.new_repository import init

EVIL = "<script>alert(1)</script>"
HOSTILE = {
    "cells": [
        {
            "cell_type": "markdown",
            "source": ["# Wheat\n", "by another"],
            "metadata": {},
            "attachments": {"a.png": {"image/png": "AAAA"}},
        },
        {
            "cell_type": "code",
            "source": "%%bash\ntouch ~/pulled-and-run",
            "metadata": {
                "jupyter": {"outputs_hidden": True},
                "tags": ["remove-input", 7, "parameters"],
            },
            "outputs": [
                {"output_type": "display_data", "data": {"text/html": EVIL}, "metadata": {}}
            ],
            "execution_count": 3,
        },
        {"cell_type": "code", "source": "import math\n\nprint(math.pi)", "metadata": None},
        {"cell_type": "__class__", "source": EVIL},
        {"cell_type": ["code"], "source": EVIL},
    ],
    "metadata": {
        "kaggle": {"accelerator": "tpu1vmV38", "dockerImageVersionId": 30186, "isGpuEnabled": True},
        "kernelspec": {"name": "../../sh", "display_name": EVIL, "language": "sh"},
        "jupytext": {"formats": "../../../home//sh"},
    },
    "nbformat": 4,
    "nbformat_minor": 4,
}


@pytest.fixture
def pulled(tmp_path, monkeypatch):
    """Makes a repository of what a server stores; returns its folder, and the metadata in it."""

    def pulled(stored, source="them/wheat"):
        folder = tmp_path / "wheat"
        monkeypatch.setattr(client, "open_connection", Mock())
        monkeypatch.setattr(Kaggle, "stored", lambda kaggle, kernel: stored)
        init(folder, source=source)
        return folder, json.loads((folder / "kernel-metadata.json").read_text())

    return pulled


def test_nothing_but_sources_and_tags_comes_along(pulled):
    valid = {"dataset them/wheat", "competition wheat-harvest"}
    sources = frozenset(valid | {"dataset ../../etc", 'kernel a/b", "docker_image": "x'})
    machine = {"machine_shape": "TpuV5E8", "accelerator": "tpu", "internet": True}
    folder, metadata = pulled(Stored(3, json.dumps(HOSTILE), sources, **machine))
    written = {p: p.read_text() for p in folder.rglob("*") if p.is_file()}
    for word in ("docker", "30186", "script>", "AAAA", "outputs_hidden", "etc"):
        assert not [path for path, content in written.items() if word in content], word
    taken = {
        "dataset_sources": ["them/wheat"],
        "competition_sources": ["wheat-harvest"],
        "kernel_sources": [],
        "machine_shape": "TpuV5E8",
        "enable_tpu": True,
        "enable_internet": True,
    }
    assert metadata | taken == metadata
    notebook = json.loads((folder / "notebooks/notebook.ipynb").read_text())
    assert "kaggle" not in notebook["metadata"]
    assert notebook["metadata"]["kernelspec"]["name"] == "python3"
    tags = {"tags": ["remove-input", "parameters"]}
    assert [cell["metadata"] for cell in notebook["cells"]] == [{}, tags, {}]
    assert "# touch ~/pulled-and-run" in (folder / "notebooks/notebook.py").read_text()
    assert not Path("~/pulled-and-run").expanduser().exists()


def test_a_script_becomes_one_cell(pulled):
    folder, _ = pulled(Stored(1, "print(1)\n# %% [markdown]\nprint(2)\n", kernel_type="script"))
    notebook = json.loads((folder / "notebooks/notebook.ipynb").read_text())
    assert len(notebook["cells"]) == 1
    readme = (folder / "README.md").read_text()
    has_script = (folder / "notebooks/notebook.py").exists()
    assert ("jupytext --sync" in readme) == has_script


@pytest.mark.parametrize(
    ("stored", "error", "words"),
    [
        (None, RefusedError, "no notebook them/wheat that this account may see"),
        (Stored(1, "[]"), NotebookError, "fourth format"),
        (Stored(1, '{"cells": ["not a cell"]}'), NotebookError, "fourth format"),
        (Stored(1, "[" * 100_000), NotebookError, "fourth format"),
        (Stored(1, "x <- 1", language="r"), NotebookError, "not in Python"),
        (Stored(1, f"{FIRST}\nBUNDLE = 1"), NotebookError, "start from its repository"),
    ],
)
def test_a_source_that_is_no_notebook_is_refused_and_nothing_written(
    tmp_path, pulled, stored, error, words
):
    with pytest.raises(error, match=words):
        pulled(stored)
    assert not (tmp_path / "wheat").exists()


@pytest.mark.parametrize("source", ["wheat", "a/b/c", "them/wheat\n"])
def test_a_source_is_owner_and_slug(pulled, source):
    with pytest.raises(ParameterError, match="write OWNER/SLUG"):
        pulled(None, source)


def test_a_machine_that_is_no_more_becomes_the_cpu_and_all_checks_pass(pulled):
    cells = json.dumps({"cells": HOSTILE["cells"][2:]})
    folder, metadata = pulled(Stored(1, cells, machine_shape="Tpu1VmV38"))
    assert (metadata["enable_tpu"], metadata["enable_gpu"]) == (False, False)
    stream = io.StringIO()
    request = PushRequest.of(metadata=folder / "kernel-metadata.json")
    checked_plan(
        PushContext.in_project(request.project, stream=stream), request
    )  # raises on an error
    assert "bundle" in stream.getvalue()


def test_the_commands_that_follow_download_its_inputs_and_rehearse_it(
    serve, connect, quick_sessions, tmp_path, monkeypatch
):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    rows = serve().catalogue / "competitions/wheat-harvest/rows.csv"
    rows.parent.mkdir(parents=True)
    rows.write_text("1,2,3")
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    cell["source"] = "print('rows', open('/kaggle/input/wheat-harvest/rows.csv').read())"
    notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
    connect().kaggle.save(
        {
            "slug": "tester/wheat",
            "new_title": "wheat",
            "language": "python",
            "kernel_type": "notebook",
            "text": json.dumps(notebook),
            "competition_data_sources": ["wheat-harvest"],
        }
    )
    told = CliRunner().invoke(main, ["init", "my wheat", "--from", "tester/wheat"]).output
    commands = told.partition("next")[2].split("\n")
    check, rehearse = [shlex.split(command) for command in commands if command.strip()]
    assert check == ["kernelkit", "check", "my wheat"]
    assert rehearse == ["kernelkit", "rehearse", "my wheat", "--download"]
    assert CliRunner().invoke(main, check[1:]).exit_code == 0
    assert "rows 1,2,3" in CliRunner().invoke(main, rehearse[1:]).output
