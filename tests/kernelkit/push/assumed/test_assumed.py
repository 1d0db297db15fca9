"""What is assumed of a notebook that has no `kernel-metadata.json`."""

import json

import nbformat
import pytest
from click.testing import CliRunner

from kernelkit import errors
from kernelkit.cli.commands.check import check
from kernelkit.cli.commands.push import push
from kernelkit.push.assumed.assumed import assume, notebook_in
from kernelkit.push.described.metadata import described_by, locate


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder, *code, heading="# Leaves of spring", name="leaves.ipynb"):
    cells = [nbformat.v4.new_markdown_cell(heading), *map(nbformat.v4.new_code_cell, code)]
    (folder / name).write_text(nbformat.writes(nbformat.v4.new_notebook(cells=cells)))
    return folder / name


def sources(notebook):
    kernel = assume(notebook).metadata
    kinds = ("competition", "dataset", "kernel", "model")
    return {kind: kernel.sources[kind] for kind in kinds if kernel.sources[kind]}


def test_a_machine_that_is_assumed_can_be_another(folder):
    write(folder, "import torch_xla")
    done = CliRunner().invoke(check, [])
    assert "assumed: a TPU" in done.output
    assert "--accelerator names another machine" in done.output
    done = CliRunner().invoke(check, ["--accelerator", "gpu"])
    assert "assumed: a GPU" in done.output


def test_a_check_and_a_push_of_it(folder):
    write(folder, "print(1)")
    done = CliRunner().invoke(check, [])
    assert "no kernel-metadata.json; assumed: no accelerator, no internet" in done.output
    assert "`kernelkit init .` writes it" in done.output
    assert done.exit_code == 0
    assert [path.name for path in folder.iterdir()] == ["leaves.ipynb"]
    refused = CliRunner().invoke(push, [])
    assert refused.exit_code == 3
    assert "`kernelkit init .` writes it from what the notebook says" in refused.stderr


@pytest.mark.parametrize(
    ("heading", "title"),
    [
        ("# Leaves: a *first* <b>model</b> 🍁", "Leaves: a first model"),
        ("## 🍁", "my leaves"),
        ("no heading", "my leaves"),
        (f"# {'long ' * 20}", "long long long long long long long long long long"),
    ],
)
def test_its_title_is_the_first_heading_or_the_files_name(folder, heading, title):
    notebook = write(folder, "print(1)", heading=heading, name="my_leaves.ipynb")
    assert assume(notebook).metadata.settings.title == title


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("import pandas", "cpu"),
        ("import torch", "gpu"),
        ("from tensorflow import keras", "gpu"),
        ("import torch, torch_xla", "tpu"),
        ("import tensorflow as tf; tf.distribute.cluster_resolver.TPUClusterResolver()", "tpu"),
    ],
)
def test_its_machine_is_that_of_what_it_imports(folder, code, kind):
    assert assume(write(folder, code)).metadata.machine.kind == kind


def from_kaggle(path, **values):
    """Write into a notebook what Kaggle writes into one that is downloaded."""
    content = json.loads(path.read_text())
    content["metadata"]["kaggle"] = values
    path.write_text(json.dumps(content))


@pytest.mark.parametrize(
    ("accelerator", "online", "words"),
    [
        ("none", True, "no accelerator, internet"),
        ("nvidiaTeslaT4", False, "a GPU, no internet"),
        ("tpu1vmV38", False, "a TPU, no internet"),
    ],
)
def test_one_from_kaggle_has_the_settings_that_kaggle_wrote_into_it(
    folder, accelerator, online, words
):
    path = write(folder, "import torch")
    from_kaggle(path, accelerator=accelerator, isInternetEnabled=online)
    assert assume(path).words == words


def test_it_says_how_many_of_the_sources_that_it_had_on_kaggle_its_code_names(folder):
    path = write(folder, "open('/kaggle/input/competitions/leaves/train.csv')")
    from_kaggle(path, dataSources=[{"sourceType": "competition"}])
    assert assume(path).words == "no accelerator, no internet; competition leaves"
    from_kaggle(path, dataSources=[{"sourceType": "competition"}, {"sourceType": "kernelVersion"}])
    assert assume(path).words.endswith(
        "competition leaves; 1 of the 2 inputs that it had on Kaggle"
    )


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("!pip install -q some-package", "no accelerator, internet"),
        (
            "!pip install -q --no-index --find-links /kaggle/input/w x",
            "no accelerator, no internet",
        ),
        ("import requests; requests.get('https://example.org')", "no accelerator, internet"),
    ],
)
def test_it_has_internet_if_its_code_calls_for_it(folder, code, words):
    write(folder, code)
    assert f"assumed: {words}" in CliRunner().invoke(check, []).output


def test_its_sources_are_those_that_its_code_names(folder):
    notebook = write(
        folder,
        "import kagglehub\nkagglehub.dataset_download('anna/seeds')",
        "open('/kaggle/input/competitions/leaves/train.csv')",
        "open('/kaggle/input/datasets/bert/soil/rows.csv')",
        "open('/kaggle/input/notebooks/anna/features/x.csv')",
        "open('/kaggle/input/models/anna/net/pytorch/small/3/w.bin')",
        "open('../input/leaves/test.csv')\nopen('../input/rows.csv')",
    )
    assert sources(notebook) == {
        "competition": ["leaves"],
        "dataset": ["bert/soil", "anna/seeds"],
        "kernel": ["anna/features"],
        "model": ["anna/net/pytorch/small/3"],
    }
    assert assume(notebook).unknown == ()


@pytest.mark.parametrize(
    "code",
    [
        "%%writefile train.py\nopen('/kaggle/input/leaves/train.csv')",
        "from kaggle_datasets import KaggleDatasets\nKaggleDatasets().get_gcs_path('leaves')",
    ],
    ids=["in a file that a cell writes", "by its slug"],
)
def test_a_source_is_also_named(folder, code):
    assert assume(write(folder, code)).unknown == ("leaves",)


def test_a_file_that_a_cell_writes_also_tells_the_machine(folder):
    assert (
        assume(write(folder, "%%writefile train.py\nimport torch")).metadata.machine.kind == "gpu"
    )


@pytest.mark.parametrize(
    ("call", "kind", "found"),
    [
        (
            "dataset_load(KaggleDatasetAdapter.PANDAS, 'anna/seeds', 'a.csv')",
            "dataset",
            "anna/seeds",
        ),
        (
            "load_dataset(KaggleDatasetAdapter.PANDAS, 'anna/seeds', 'a.csv')",
            "dataset",
            "anna/seeds",
        ),
        ("dataset_load(adapter=PANDAS, handle='anna/seeds')", "dataset", "anna/seeds"),
        ("dataset_download('anna/seeds/versions/3')", "dataset", "anna/seeds/3"),
        ("notebook_output_download('anna/features/versions/3')", "kernel", "anna/features/3"),
        ("model_download('anna/net/keras/small/3')", "model", "anna/net/keras/small/3"),
    ],
)
def test_a_handle_of_kagglehub_is_a_source(folder, call, kind, found):
    notebook = write(folder, f"import kagglehub\nkagglehub.{call}")
    assert sources(notebook)[kind] == [found]


def test_a_handle_of_a_model_without_a_version_names_no_source(folder):
    notebook = write(folder, "import kagglehub\nkagglehub.model_download('anna/net/keras/small')")
    assert not any(sources(notebook).values())


def test_an_input_folder_tells_the_kind_that_a_former_path_leaves_open(folder):
    (folder / "input/datasets/anna/seeds").mkdir(parents=True)
    code = "open('/kaggle/input/seeds/x.csv')\nopen('/kaggle/input/leaves/x.csv')"
    notebook = write(folder, code)
    assert sources(notebook) == {"competition": ["leaves"], "dataset": ["anna/seeds"]}
    assert assume(notebook).unknown == ("leaves",)


def test_of_the_places_where_code_looks_those_in_the_input_folder_are_attached(folder):
    code = """
for place in ["/kaggle/input/leaves", "/kaggle/input/leaves-of-2026"]:
    if os.path.exists(place):
        print(place)
"""
    notebook = write(folder, f"import os{code}")
    assert sources(notebook) == {"competition": ["leaves", "leaves-of-2026"]}
    (folder / "input/competitions/leaves").mkdir(parents=True)
    assert sources(notebook) == {"competition": ["leaves"]}


@pytest.mark.parametrize(
    "code", ["import os\nfor _ in os.walk('/kaggle/input'): pass", "open('../input/rows.csv')"]
)
def test_code_that_names_no_source_has_what_lies_in_the_input_folder(folder, code):
    for place in ("competitions/leaves", "models/anna/net/pytorch/small/3", "soil"):
        (folder / "input" / place).mkdir(parents=True)
    assert sources(write(folder, code)) == {
        "competition": ["leaves", "soil"],
        "model": ["anna/net/pytorch/small/3"],
    }


def test_a_script_is_one_and_half_of_a_pair_is_none(folder):
    (folder / "leaves.py").write_text("print(1)\n")
    assert assume(notebook_in(folder)).metadata.is_script
    write(folder, "print(1)")
    assert notebook_in(folder).name == "leaves.ipynb"


HEADER = "# ---\n# jupyter:\n#   jupytext:\n#     formats: ipynb,py:percent\n# ---\n\n# %%\n"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("print(1)\n", "script"),
        ("# needs: pip install jupytext\nprint(1)\n", "script"),
        ("import jupytext\nnotebook = jupytext.read('a.py')\n", "script"),
        (f"{HEADER}print(1)\n", "notebook"),
    ],
)
def test_a_py_is_a_notebook_if_jupytexts_header_says_so(folder, text, kind):
    (folder / "leaves.py").write_text(text)
    assert assume(folder / "leaves.py").metadata.settings.kernel_type == kind


def test_of_several_notebooks_none_is_chosen(folder):
    for name in ("a.ipynb", "b.ipynb"):
        write(folder, "print(1)", name=name)
    with pytest.raises(errors.PreflightError, match="several notebooks"):
        notebook_in(folder)


def above(folder, code_file="train.ipynb"):
    """A folder below one that has metadata, and what it holds."""
    values = {"id": "tester/soil-of-may", "title": "Soil of May", "code_file": code_file}
    (folder / "kernel-metadata.json").write_text(json.dumps(values))
    below = folder / "leaves"
    below.mkdir()
    return below


def test_a_folder_of_notebooks_is_not_described_by_metadata_above_that_name_none_of_them(folder):
    below = above(folder)
    write(below, "print(1)")
    assert described_by(below) is None
    with pytest.raises(errors.PreflightError, match="at or above"):
        locate(below)


def test_a_folder_whose_notebook_they_name_is_described_by_metadata_above(folder):
    below = above(folder, "leaves/leaves.ipynb")
    write(below, "print(1)")
    write(below, "print(2)", name="other.ipynb")
    assert locate(below) == folder / "kernel-metadata.json"


def test_a_folder_without_notebooks_is_described_by_metadata_above(folder):
    below = above(folder)
    assert locate(below) == folder / "kernel-metadata.json"


def test_a_folder_does_not_take_the_metadata_of_a_notebook_of_its_name_beside_it(folder):
    below = above(folder)
    beside = folder / "leaves.kernel-metadata.json"
    beside.write_text(json.dumps({"id": "tester/leaves-of-may", "code_file": "leaves.ipynb"}))
    assert locate(below) == folder / "kernel-metadata.json"
    write(folder, "print(1)")
    assert locate(folder / "leaves.ipynb") == locate(folder / "leaves.py") == beside


def test_metadata_above_a_git_repository_describe_nothing_in_it(folder):
    below = above(folder)
    (below / ".git").mkdir()
    assert described_by(below) is None


def test_another_notebook_beside_one_that_has_metadata_has_assumed_settings_of_its_own(folder):
    write(folder, "print(1)", name="first.ipynb")
    values = {"id": "me/first-one", "title": "First one", "code_file": "first.ipynb"}
    (folder / "kernel-metadata.json").write_text(json.dumps(values))
    write(folder, "print(2)", name="second.ipynb")
    done = CliRunner().invoke(check, ["second.ipynb"])
    assert "no second.kernel-metadata.json; assumed" in done.output
    assert "`kernelkit init second.ipynb` writes it" in done.output
