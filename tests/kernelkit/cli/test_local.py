"""`kernelkit local` starts the local Kaggle's own command with what the project says."""

import os
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from kernelkit.cli.console import main
from kernelkit.cli.start import local


@pytest.fixture
def started(monkeypatch, tmp_path):
    """Starts the command in a folder of a project; gives its folder and the words it ends in."""
    below = tmp_path / "notebooks"
    below.mkdir()
    monkeypatch.chdir(below)

    def start(catalogue, *options):
        calls = []
        (tmp_path / "pyproject.toml").write_text(f"[tool.kernelkit]\ncatalogue = '{catalogue}'\n")
        monkeypatch.setattr(os, "execv", lambda _, words: calls.append((Path.cwd(), words)))
        result = CliRunner().invoke(local, list(options))
        assert result.exit_code == 0, result.output
        ((folder, words),) = calls
        assert words[:3] == [sys.executable, "-m", "local_kaggle"]
        return folder, set(words[3:])

    return start


def test_an_empty_catalogue_is_filled_by_the_project_from_any_of_its_folders(started, tmp_path):
    fill = "python fill.py {catalogue}"
    root = tmp_path / "runs" / "local_kaggle"
    assert started(fill) == (tmp_path, {f"--root={root}", f"--fill={fill}"})
    os.chdir(tmp_path / "notebooks")
    (root / "catalogue" / "datasets").mkdir(parents=True)
    words = ("--account", "me", "--account", "you", "--token", "t0k3n=you", "--json")
    assert started(fill, *words)[1] >= set(words)


def test_what_the_user_names_comes_before_the_projects_command(started, tmp_path):
    catalogue = "python fill.py {catalogue}"
    assert {"--fill", "true"} <= started(catalogue, "--fill", "true")[1]
    folder, words = started(catalogue, "--catalogue", "inputs")
    assert folder == tmp_path / "notebooks"
    assert not [word for word in words if word.startswith("--fill")]


def test_a_command_that_needs_a_push_is_left_to_the_push(started):
    assert len(started("python fill.py {catalogue} {size}")[1]) == 1


@pytest.mark.parametrize("words", [("local",), ("quota", "--local")])
def test_without_the_local_kaggle_one_line_says_what_to_install(tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "local_kaggle", None)
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1
    assert "pip install local_kaggle" in done.stderr
