"""The versions and the commit of the code, on which a result depends besides its parameters."""

import os
import platform
import subprocess
import sys
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow import keras

IMAGE = Path("/etc/git_commit")  # written when Kaggle's image is built
DISTRIBUTION = "kernelkit"  # pyproject.toml gives both packages this name and version


def versions() -> dict[str, str]:
    """The versions of the kit, of the libraries that compute, and of Python, by name.

    JAX's, and its TPU compiler's (libtpu), where the run has imported JAX; on Kaggle the commit of
    its image.
    """
    keras_version = keras.version() if hasattr(keras, "version") else installed("tf_keras")
    compilers = [name for name in ("jax", "libtpu") if "jax" in sys.modules and find_spec(name)]
    versions = {
        # A session has no kit installed: the bundle records its version.
        "petals": os.environ.get("KERNELKIT_PROJECT_VERSION") or installed(DISTRIBUTION),
        "tensorflow": tf.__version__,
        "keras": keras_version,
        "numpy": np.__version__,
        "python": platform.python_version(),
        **{name: installed(name) for name in compilers},
    }
    if IMAGE.is_file():
        versions["image"] = IMAGE.read_text("utf-8").strip()
    return versions


def installed(distribution: str) -> str:
    """The version of a distribution, "unknown" if none of that name is installed."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "unknown"


def git_state() -> dict[str, Any]:
    """The commit and whether the tree differed from it; the bundle's record comes first."""
    if "KERNELKIT_GIT_SHA" in os.environ:
        dirty = os.environ.get("KERNELKIT_GIT_DIRTY") == "true"
        return {"sha": os.environ["KERNELKIT_GIT_SHA"], "dirty": dirty}

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(Path(__file__).parent), *arguments]
        return subprocess.check_output(
            command, stderr=subprocess.DEVNULL, text=True, timeout=10
        ).strip()

    try:
        return {"sha": git("rev-parse", "HEAD"), "dirty": bool(git("status", "--porcelain"))}
    except (OSError, subprocess.SubprocessError):
        return {"sha": None, "dirty": None}
