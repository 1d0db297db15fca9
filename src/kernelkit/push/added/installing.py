"""Install packages missing from the image from attached wheels, without a network.

This source becomes a cell in a pushed notebook, so it imports only the standard library.
"""

import importlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SECONDS = 600.0  # for pip to resolve, and again to install


class WheelsError(RuntimeError):
    """The attached wheels are missing, or do not fit this session's image."""


def install_wheels(requirements: list[str], name: str) -> list[str]:
    """Install the `requirements` that the image lacks; returns their names with versions.

    The wheels are in any attached dataset whose slug is `name`, a hyphen and a hash. Processes
    started later find the packages, too. Raises a one-line `WheelsError`.
    """
    root = Path(os.environ.get("KERNELKIT_INPUT_ROOT", "/kaggle/input"))
    places = [*root.glob(f"datasets/*/{name}-*"), *root.glob(f"{name}-*")]
    folders = sorted({wheel.parent for place in places for wheel in place.rglob("*.whl")})
    # pip compares with the image's packages, and reports only what has to be added.
    report = Path(tempfile.mkdtemp(prefix="report-")) / "report.json"
    _pip(["--dry-run", "--report", str(report), *requirements], folders, requirements)
    chosen = [entry["metadata"] for entry in json.loads(report.read_text("utf-8"))["install"]]
    missing = sorted(f"{entry['name']}=={entry['version']}" for entry in chosen)
    if missing:
        target = tempfile.mkdtemp(prefix="wheels-")
        _pip(["--no-deps", "--target", target, *missing], folders, requirements)
        sys.path.insert(0, target)
        paths = filter(None, [target, os.environ.get("PYTHONPATH")])
        os.environ["PYTHONPATH"] = os.pathsep.join(paths)
        importlib.invalidate_caches()
    return missing


def _pip(arguments: list[str], folders: list[Path], requirements: list[str]) -> None:
    links = [word for folder in folders for word in ("--find-links", str(folder))]
    command = [
        sys.executable,
        "-m",
        "pip",
        "--disable-pip-version-check",
        "--no-input",
        "install",
        "--quiet",
        "--no-index",
        *links,
        *arguments,
    ]
    environment = {**os.environ, "PIP_BREAK_SYSTEM_PACKAGES": "1", "NO_COLOR": "1"}
    environment.pop("FORCE_COLOR", None)  # set by a notebook's kernel
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=SECONDS, env=environment
        )
        failed = bool(done.returncode)
        lines = done.stderr.strip().splitlines()
    except (OSError, subprocess.TimeoutExpired) as error:
        failed = True
        lines = [type(error).__name__]
    if failed:
        reason = lines[-1].removeprefix("ERROR: ") if lines else "pip gave no reason"
        where = " from the attached wheels" if folders else ": no dataset of wheels is attached"
        raise WheelsError(
            f"{', '.join(requirements)} cannot be installed{where}. pip says: {reason}"
        ) from None
