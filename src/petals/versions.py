"""What a result depends on besides its parameters: the versions of the code, and its commit."""

from __future__ import annotations

import os
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow import keras

DISTRIBUTION = "kernelkit"  # as the repository's pyproject.toml names and versions both


def versions() -> dict[str, str]:
    """Of the kit, of the libraries that compute, and of Python; by name."""
    import platform

    keras_version = keras.version() if hasattr(keras, "version") else metadata.version("tf_keras")
    return {
        "petals": version(),
        "tensorflow": tf.__version__,
        "keras": keras_version,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }


def version() -> str:
    """The kit's: what a bundle wrote down comes first, as the kit is not installed there."""
    if (told := os.environ.get("KERNELKIT_PROJECT_VERSION")) is not None:
        return told
    try:
        return metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:  # run from its sources
        return "unknown"


def git_state() -> dict[str, Any]:
    """The commit and whether the tree differed from it; what a bundle wrote down comes first."""
    if "KERNELKIT_GIT_SHA" in os.environ:
        dirty = os.environ.get("KERNELKIT_GIT_DIRTY") == "true"
        return {"sha": os.environ["KERNELKIT_GIT_SHA"], "dirty": dirty}
    folder = Path(__file__).parent

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(folder), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
        return done.stdout.strip()

    try:
        return {"sha": git("rev-parse", "HEAD"), "dirty": bool(git("status", "--porcelain"))}
    except (OSError, subprocess.SubprocessError):
        return {"sha": None, "dirty": None}
