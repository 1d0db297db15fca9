"""An empty folder becomes a repository: its names, its files, its first rehearsal."""

import io
import json
import re
import subprocess
import sys

import pytest
from click.testing import CliRunner

from kernelkit import files
from kernelkit.cli.console import main
from kernelkit.errors import ParameterError, StorageError
from kernelkit.push.push_kernel import push_kernel
from kernelkit.start.new_repository import init


def pushed(folder, **options):
    """The folder of a rehearsal in a new repository, and what the push told."""
    stream, metadata = io.StringIO(), folder / "kernel-metadata.json"
    return push_kernel(metadata=metadata, local=True, stream=stream, **options), stream.getvalue()


def read(path):
    return json.loads(path.read_text())


@pytest.mark.parametrize("competition", [None, "wheat-harvest"])
def test_it_holds_what_a_push_needs_and_its_own_tests_pass(tmp_path, competition):
    folder = tmp_path / "Wheat yield"
    written = set(init(folder, competition))
    assert written == {path for path in folder.rglob("*") if path.is_file()}
    for name in (".gitattributes", ".gitignore", "README.md", "notebooks/sweeps/first.yaml"):
        assert folder / name in written
    assert not [path for path in written if re.search(r"{{|{%", path.read_text())]
    metadata = read(folder / "kernel-metadata.json")
    assert metadata["id"] == "INSERT_USERNAME/wheat-yield"
    assert metadata["competition_sources"] == ([competition] if competition else [])
    _, told = pushed(folder, dry_run=True)  # which compares the halves of the notebook
    assert "warning" not in told
    assert "train.ipynb with wheat_yield" in told
    if competition:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        subprocess.run(command, cwd=folder, check=True)


@pytest.mark.parametrize(
    ("name", "slug", "package"),
    [
        ("ab", "ab-notebook", "ab"),
        ("2nd try", "2nd-try", "my_2nd_try"),
        ("numpy", "numpy", "my_numpy"),
        ("Größe", "grosse", "grosse"),
        ("class", "class", "my_class"),
    ],
)
def test_names_that_kaggle_and_python_take(tmp_path, name, slug, package):
    init(tmp_path / name)
    assert (tmp_path / name / "src" / package / "__init__.py").is_file()
    assert read(tmp_path / name / "kernel-metadata.json")["id"] == f"INSERT_USERNAME/{slug}"
    pushed(tmp_path / name, dry_run=True)  # raises where slug and title do not agree


def test_what_to_type_next_changes_into_the_folder_only_from_elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "cd wheat && kernelkit rehearse" in CliRunner().invoke(main, ["init", "wheat"]).output
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    told = CliRunner().invoke(main, ["init", "."]).output
    assert "kernelkit rehearse" in told
    assert "cd " not in told


def test_a_folder_that_holds_anything_is_left_alone(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ParameterError, match=r"not empty \(it contains notes.txt\)"):
        init(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    with pytest.raises(ParameterError, match="is a file"):
        init(tmp_path / "notes.txt")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"competition": "https://example.org/c/wheat"}, "write its slug"),
        ({"competition": "a\nb"}, "write its slug"),
        ({"competition": "datasets/wheat"}, "write its slug"),
        ({"competition": "a", "source": "b/c"}, "choose one"),
    ],
)
def test_options_that_are_refused_write_nothing(tmp_path, options, words):
    with pytest.raises(ParameterError, match=words):
        init(tmp_path / "new", **options)
    assert not (tmp_path / "new").exists()


def test_a_disk_that_fills_up_leaves_nothing_behind(tmp_path, monkeypatch):
    write = files.write_text

    def write_text(path, text):
        if path.name == "pyproject.toml":
            raise OSError(28, "No space left on device")
        return write(path, text)

    monkeypatch.setattr(files, "write_text", write_text)
    with pytest.raises(StorageError, match="No space left"):
        init(tmp_path / "new")
    assert not any(path.is_file() for path in tmp_path.rglob("*"))


@pytest.mark.parametrize(
    "form",
    [
        "https://www.kaggle.com/competitions/wheat-harvest/overview",
        "kaggle.com/competitions/wheat-harvest?tab=data",
        "c/wheat-harvest",
    ],
)
def test_a_competitions_address_is_taken_for_its_name_in_an_empty_repository(tmp_path, form):
    for name in (".venv", ".git"):  # made there before, as people do
        (tmp_path / name).mkdir()
    init(tmp_path, form)
    assert read(tmp_path / "kernel-metadata.json")["competition_sources"] == ["wheat-harvest"]
