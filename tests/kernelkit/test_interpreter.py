"""A command of the settings runs with the project's own Python."""

import sys

from kernelkit.interpreter import with_python


def test_a_leading_python_is_the_projects_own_where_it_has_one(tmp_path):
    own = tmp_path / ".venv/bin/python"
    own.parent.mkdir(parents=True)
    own.touch()
    assert with_python(["python3", "-m", "leaves"], tmp_path) == [str(own), "-m", "leaves"]
    assert with_python(["python3", "-m", "leaves"], tmp_path / "kaggle")[0] == sys.executable
    assert with_python(["make", "python"], tmp_path) == ["make", "python"]
