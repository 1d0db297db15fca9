"""A tool that was started by any Python goes on with the one that the kit is installed for."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOLS = sorted(path.name for path in (ROOT / "tools").glob("[!_]*.py"))
WRONG = [sys.executable, "-S", "-E"]  # no package is found: as good as another Python


@pytest.fixture
def checkout(tmp_path):
    shutil.copytree(ROOT / "tools", tmp_path / "tools")
    return tmp_path


def run(checkout, tool, *arguments):
    command = [*WRONG, str(checkout / "tools" / tool), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("tool", TOOLS)
def test_the_kits_own_python_takes_over(checkout, tool):
    own = checkout / ".venv" / "bin" / "python"
    own.parent.mkdir(parents=True)
    own.write_text('#!/bin/sh\nprintf "%s|" "$@"\nexit 7\n')
    own.chmod(0o755)
    done = run(checkout, tool, "-p", "a b", "--json")
    assert done.stdout == f"{checkout / 'tools' / tool}|-p|a b|--json|"
    assert done.returncode == 7


def test_a_tool_is_silent_about_what_tensorflow_notes(checkout, monkeypatch):
    monkeypatch.delenv("TF_CPP_MIN_LOG_LEVEL", raising=False)
    code = "import os, _python; print(os.environ['TF_CPP_MIN_LOG_LEVEL'])"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=checkout / "tools", capture_output=True, text=True)
    assert done.stdout == "3\n"


@pytest.mark.parametrize("tool", TOOLS)
def test_without_it_one_line_says_what_to_do(checkout, tool):
    done = run(checkout, tool, "--help")
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: the kit is not installed for ")
    assert "make run" in line
