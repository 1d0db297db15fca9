import json

import pytest

from local_kaggle.execution import kaggle_paths


@pytest.fixture
def root(tmp_path):
    """The session's folder of inputs."""
    folder = tmp_path / "Übung"
    (folder / "titanic").mkdir(parents=True)
    (folder / "titanic" / "train.csv").write_text("a,b\n")
    return folder


@pytest.fixture
def run(output_of, root, tmp_path):
    """Runs code in a session without walls; the lines that it says."""
    mounts = json.dumps({"/kaggle/input": str(root), "/kaggle/working": str(tmp_path)})
    return lambda code: output_of(code, **{kaggle_paths.MOUNTS: mounts}).splitlines()


def test_a_module_that_names_kaggles_paths_finds_the_sessions_files(run, root, tmp_path):
    (tmp_path / "reader.py").write_text(
        'import os\nDATA = "/kaggle/input/titanic"\nname = "train"\n'
        'print(open(f"/kaggle/input/titanic/{name}.csv").read().strip())\n'
        'print([f for _, _, fs in os.walk("/kaggle/input") for f in fs])\n'
        'print(os.path.isdir("/kaggle/working"), "see /kaggle/input", "/kaggle/inputs")\n'
    )
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import reader; print(reader.DATA)"
    lines = ["a,b", "['train.csv']", f"True see {root} /kaggle/inputs", f"{root}/titanic"]
    assert run(code) == lines


def test_a_cell_and_its_shell_lines_do_too(run):
    lines = run(
        "from IPython.core.interactiveshell import InteractiveShell as S; "
        'S.instance().run_cell("!ls /kaggle/input/titanic\\nprint(open('
        "'/kaggle/input/titanic/train.csv').read())\")"
    )
    assert {"train.csv", "a,b"} <= set(lines)


def test_nothing_is_changed_outside_a_session_and_in_installed_packages(output_of, run, root):
    code = "exec(compile('print(\"/kaggle/input\")', '{}', 'exec'))"
    assert output_of(code) == "/kaggle/input\n"
    assert run(code.format("/x/site-packages/y.py")) == ["/kaggle/input"]
    assert run(code.format("y.py")) == [str(root)]
