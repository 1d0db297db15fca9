from __future__ import annotations

import os
import subprocess

import pytest

from local_kaggle.execution.image import build_image
from local_kaggle.execution.sandbox import Sandbox


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    return build_image(tmp_path_factory.mktemp("image") / "image")


def outcome(python, code: str, **variables: str) -> str:
    environment = os.environ | variables
    done = subprocess.run(
        [python, "-c", code], env=environment, capture_output=True, text=True, timeout=60
    )
    return done.stdout + done.stderr


def test_what_is_installed_is_there(python):
    code = "import numpy, sklearn, sys; print('here', 'image' in numpy.__file__, sys.prefix)"
    assert outcome(python, code).startswith("here True")


def test_packages_that_are_laid_beside_it_come_first(tmp_path):
    (tmp_path / "packages" / "numpy").mkdir(parents=True)
    (tmp_path / "packages" / "numpy" / "__init__.py").write_text("laid = True")
    python = build_image(tmp_path / "image")
    assert outcome(python, "import numpy; print(numpy.laid)") == "True\n"


@pytest.mark.parametrize("name", ["petals", "kernelkit"])
def test_the_projects_own_packages_are_not(python, name):
    assert f"No module named '{name}'" in outcome(python, f"import {name}")


def test_no_entry_leads_elsewhere(python):
    site = next((python.parent.parent / "lib").glob("python*/site-packages"))
    names = {path.name for path in site.iterdir()}
    assert {name for name in names if name.endswith(".pth")} == {
        "_kaggle_paths.pth",
        "_server_errors.pth",
    }
    assert not [name for name in names if name.startswith(("__editable__", "kaggle_tpu_kit"))]


def test_a_notebook_is_converted_there_as_at_the_desk(python, tmp_path):
    code = (
        "import nbformat, nbconvert; "
        "print(nbconvert.HTMLExporter(template_name='basic').from_notebook_node("
        "nbformat.v4.new_notebook())[0] is not None)"
    )
    box = Sandbox(tmp_path, python.parent.parent)
    path = box.environment()["JUPYTER_PATH"]
    box.discard()
    assert outcome(python, code, JUPYTER_PATH=path).endswith("True\n")
