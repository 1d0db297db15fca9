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


@pytest.mark.parametrize(
    "words",
    [
        ("make_tfrecords.py", "write", "nowhere", "out"),
        ("make_tfrecords.py", "inspect", "nowhere"),
        ("predict.py", "auto", "nowhere.jpg"),
    ],
)
def test_a_mistake_is_told_before_tensorflow_is_imported(tmp_path, words):
    tool, *arguments = words
    program = (
        f"import runpy, sys; sys.argv = {[tool, *arguments]!r}\n"
        f"sys.path.insert(0, {str(ROOT / 'tools')!r})\n"
        "try:\n"
        f"    runpy.run_path({str(ROOT / 'tools' / tool)!r}, run_name='__main__')\n"
        "finally:\n"
        "    print('tensorflow' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout) == (11, "False\n")
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("name", ["make_tfrecords", "predict", "push_kernel", "pictures"])
def test_the_short_option_for_help(call, name):
    done = call(name, "-h")
    assert done.exit_code == 0
    assert done.output == call(name, "--help").output
