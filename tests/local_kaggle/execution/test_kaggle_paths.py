from __future__ import annotations

import json
import os
import subprocess

import pytest

from local_kaggle.execution import kaggle_paths
from local_kaggle.execution.image import build_image


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    return build_image(tmp_path_factory.mktemp("image") / "image")


@pytest.fixture
def mounts(tmp_path):
    folder = tmp_path / "Übung"
    (folder / "titanic").mkdir(parents=True)
    (folder / "titanic" / "train.csv").write_text("a,b\n")
    return {"/kaggle/input": str(folder), "/kaggle/working": str(tmp_path)}


def run(python, mounts, *arguments):
    variables = {**os.environ, kaggle_paths.MOUNTS: json.dumps(mounts)}
    done = subprocess.run(
        [python, *arguments], env=variables, capture_output=True, text=True, timeout=60
    )
    return done.stdout + done.stderr


def test_a_module_that_names_kaggles_paths_finds_the_sessions_files(python, mounts, tmp_path):
    (tmp_path / "reader.py").write_text(
        'import os\nDATA = "/kaggle/input/titanic"\nname = "train"\n'
        'print(open(f"/kaggle/input/titanic/{name}.csv").read().strip())\n'
        'print([f for _, _, fs in os.walk("/kaggle/input") for f in fs])\n'
        'print(os.path.isdir("/kaggle/working"), "see /kaggle/input", "/kaggle/inputs")\n'
    )
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import reader; print(reader.DATA)"
    told = run(python, mounts, "-c", code).splitlines()
    assert told[:2] == ["a,b", "['train.csv']"]
    assert told[2:] == [
        f"True see {mounts['/kaggle/input']} /kaggle/inputs",
        mounts["/kaggle/input"] + "/titanic",
    ]


def test_a_cell_and_its_shell_lines_do_too(python, mounts):
    cell = (
        "from IPython.core.interactiveshell import InteractiveShell as S; "
        'S.instance().run_cell("!ls /kaggle/input/titanic\\nprint(open('
        "'/kaggle/input/titanic/train.csv').read())\")"
    )
    told = run(python, mounts, "-c", cell)
    assert "train.csv" in told
    assert "a,b" in told


def test_nothing_is_changed_outside_a_session(python):
    code = "exec(compile('print(\"/kaggle/input\")', 'x', 'exec'))"
    variables = {k: v for k, v in os.environ.items() if k != kaggle_paths.MOUNTS}
    done = subprocess.run([python, "-c", code], env=variables, capture_output=True, text=True)
    assert done.stdout == "/kaggle/input\n"


def test_installed_packages_are_left_as_they_are(python, mounts):
    code = (
        "exec(compile('print(\"/kaggle/input\")', '/x/site-packages/y.py', 'exec')); "
        "exec(compile('print(\"/kaggle/input\")', 'y.py', 'exec'))"
    )
    assert run(python, mounts, "-c", code).split("\n")[:2] == [
        "/kaggle/input",
        mounts["/kaggle/input"],
    ]
