"""A library that a session's image lacks, installed from a dataset of wheels, without a network."""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path

from kernelkit.errors import RunFailedError

SECONDS = 300.0  # for pip to unpack a dozen wheels


def provide(module: str, dataset: str, inputs: Path) -> None:
    """Make a module importable, if need be from the wheels of an attached dataset.

    `dataset`: "owner/slug", or empty. Raises `RunFailedError` where the module is not there, or
    what pip says of the wheels.
    """
    if importlib.util.find_spec(module) is not None:
        return
    owner, _, slug = dataset.partition("/")
    places = [inputs / "datasets" / owner / slug, inputs / slug] if slug else []
    folders = {wheel.parent for place in places for wheel in place.rglob("*.whl")}
    if not folders:
        raise RunFailedError(
            f"this image holds no {module}, and "
            + (f"{dataset} no wheels" if dataset else "no dataset of wheels is attached")
        )
    target = tempfile.mkdtemp(prefix="wheels-")
    links = [word for folder in sorted(folders) for word in ("--find-links", str(folder))]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
         "--no-index", *links, "--target", target, module],
        capture_output=True, text=True, timeout=SECONDS,
    )  # fmt: skip
    if done.returncode:
        message = (done.stderr.strip().splitlines() or ["pip gave no reason"])[-1]
        raise RunFailedError(f"{module} could not be installed from {dataset}: {message}")
    # Last on the path, so that the image's own packages come first.
    sys.path.append(target)
    importlib.invalidate_caches()
