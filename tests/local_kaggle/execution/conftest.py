"""An image of Kaggle's environment, made once."""

import os
import subprocess

import pytest

from local_kaggle.execution.image import build_image


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
