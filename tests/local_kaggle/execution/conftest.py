"""An image of Kaggle's environment, made once, and sandboxes with each program that builds one."""

import os
import shutil
import subprocess

import pytest

from local_kaggle.execution import walls
from local_kaggle.execution.image import build_image
from local_kaggle.execution.sandbox import Sandbox


@pytest.fixture(scope="session")
def python(tmp_path_factory):
    """The interpreter of an image."""
    return build_image(tmp_path_factory.mktemp("kaggle") / "image")


@pytest.fixture(scope="session")
def output_of(python):
    """What the image's Python says when it runs some code with further variables."""

    def output_of(code, program=python, **variables):
        command, environment = [program, "-c", code], os.environ | variables
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
        return done.stdout + done.stderr

    return output_of


@pytest.fixture(params=["bubblewrap", "unshare"])
def box(request, python, tmp_path):
    """A sandbox whose walls this program builds."""
    if not walls.builder() or (request.param == "bubblewrap" and not shutil.which("bwrap")):
        pytest.skip(f"{request.param} builds no walls here: apt-get install bubblewrap, as root")
    made = Sandbox(tmp_path / "session", python.parent.parent)
    made.builder = request.param
    yield made
    made.discard()
