"""A tool that was started by any Python goes on with the one that the kit is installed for."""

import os
import shutil
import subprocess
import sys

import pytest
from checkouts import ROOT

TOOLS = sorted(path.name for path in (ROOT / "tools").glob("[!_]*.py"))
WRONG = [sys.executable, "-S", "-E"]  # no package is found: as good as another Python


@pytest.mark.parametrize("name", TOOLS)
def test_the_kits_own_python_takes_over_and_without_one_a_line_says_what_to_do(tmp_path, name):
    path = shutil.copytree(ROOT / "tools", tmp_path / "tools") / name

    def run(*arguments):
        return subprocess.run(
            [*WRONG, path, *arguments], capture_output=True, text=True, timeout=60
        )

    done = run("--help")
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: the kit is not installed for ")
    assert "make run" in line

    own = tmp_path / ".venv" / "bin" / "python"
    own.parent.mkdir(parents=True)
    own.write_text('#!/bin/sh\nprintf "%s|" "$@"\nexit 7\n')
    own.chmod(0o755)
    done = run("-p", "a b", "--json")
    assert (done.returncode, done.stdout) == (7, f"{path}|-p|a b|--json|")

    own.write_text(f'#!/bin/sh\nexec {" ".join(WRONG)} "$@"\n')  # it lacks the kit, too
    assert (run().returncode, run().stderr) == (2, f"{line}\n")


def test_a_tool_is_silent_about_what_tensorflow_notes(tool, monkeypatch):
    monkeypatch.delenv("TF_CPP_MIN_LOG_LEVEL", raising=False)
    tool("_python")
    assert os.environ["TF_CPP_MIN_LOG_LEVEL"] == "3"
