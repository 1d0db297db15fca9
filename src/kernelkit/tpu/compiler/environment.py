"""The environment with the TPU's compiler: `.venv-tpu`, made when it is first needed.

It stands apart from the desk's own, which stays light and whose versions need not be Kaggle's.
"""

import hashlib
import os
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from kernelkit import files
from kernelkit.errors import NoCompilerError, ParameterError, PreflightError
from kernelkit.project import LOCKS, Project
from kernelkit.terminal.events import WAITING, Event

ENVIRONMENT = Event("environment")
FOLDER = ".venv-tpu"
MADE = "installed"  # in the folder, with the hash of the requirements it was made of
VERSION = re.compile(r"\d+(\.\w+)*")
KAGGLES_PYTHON = "python3.12"
INSTALL_SECONDS = 3600.0

Tell = Callable[[Event, str], None]


def python_of(project: Project, tell: Tell) -> Path:
    """The Python of the project's `.venv-tpu`, which is made where it is missing or outdated.

    Raises `NoCompilerError` where that fails, or where libtpu does not exist, and `PreflightError`
    without the list of requirements that [tool.kernelkit.tpu] names.
    """
    system, processor = platform.system(), platform.machine()
    if system != "Linux" or processor not in ("x86_64", "AMD64"):
        raise NoCompilerError(
            f"the TPU's compiler (libtpu) exists for Linux on x86-64 only, and this is {system} on "
            f"{processor}: check on such a machine; a CPU session on Kaggle is one"
        )
    requirements = project.root / project.tpu.requirements
    if not requirements.is_file():
        raise PreflightError(
            f"no {requirements}: correct requirements in [tool.kernelkit.tpu] of "
            f"{project.root / 'pyproject.toml'}"
        )
    folder = project.root / FOLDER
    python = folder / "bin" / "python"
    marker = folder / MADE
    digest = hashlib.sha256(requirements.read_bytes()).hexdigest()
    busy = "another command is making the environment of the TPU's compiler: waiting for it"
    lock = project.runs / LOCKS / "venv-tpu.lock"
    with files.locked(lock, lambda: tell(WAITING, busy)):
        if not marker.is_file() or marker.read_text("utf-8").strip() != digest:
            what = f"making {FOLDER} from {requirements.name} (once, a few minutes)"
            tell(ENVIRONMENT, f"{what}: {project.tpu.note}")
            _run(FOLDER, [_interpreter(), "-m", "venv", "--clear", str(folder)])
            _pip(FOLDER, python, "--require-hashes", "--no-deps", "-r", str(requirements))
            files.write_text(marker, digest + "\n")
    return python


def libtpu_folder(python: Path, version: str, tell: Tell) -> Path:
    """The folder of another libtpu, in the environment of `python`; installed when first named.

    Raises `ParameterError` for what is no version, and `NoCompilerError` if there is no such one.
    """
    if not VERSION.fullmatch(version):
        raise ParameterError(f"--libtpu takes a version such as 0.0.17, not {version!r}")
    folder = python.parents[1] / f"libtpu-{version}"
    if not folder.is_dir():
        tell(ENVIRONMENT, f"installing libtpu {version}, once")
        with tempfile.TemporaryDirectory(dir=folder.parent) as place:
            options = ["--no-deps", "--target", f"{place}/packages", f"libtpu=={version}"]
            _pip(f"libtpu {version}", python, *options)
            with suppress(OSError):  # another command was faster
                Path(place, "packages").rename(folder)
    return folder


def _pip(what: str, python: Path, *options: str) -> None:
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _run(what, [*pip, *options])


def _run(what: str, command: list[str]) -> None:
    """Run a command by which `what` is made; raises `NoCompilerError` if it fails."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=INSTALL_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoCompilerError(f"{what} could not be installed: {error}") from None
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "ERROR" in line.upper()]
        last = (lines or done.stderr.splitlines() or ["no reason given"])[-1]
        raise NoCompilerError(
            f"{what} could not be installed ({last.strip()[:300]}). The same command tries again"
        )


def _interpreter() -> str:
    """Kaggle's Python, or this one where there is none: versions are pinned for both."""
    try:  # a name on the PATH may be one that only says that it is not installed
        subprocess.run([KAGGLES_PYTHON, "-c", ""], capture_output=True, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        return sys.executable
    return KAGGLES_PYTHON
