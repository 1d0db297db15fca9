"""From the wheels to a report, in an environment of its own and away from this checkout."""

import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernelkit.errors import KernelkitError

ROOT = Path(__file__).parents[2]
TIMEOUT = 1800  # seconds for one command; an idle machine takes a tenth of it
HELPS = 5
ABSENT = ("tensorflow", "keras", "jax", "sklearn", "petals")


def run(python: Path) -> dict[str, Any]:
    """Seconds for each step, from building the wheels to a page over all runs.

    `python` makes the environment, which gets both wheels and what they ask for and nothing else;
    `total` is from `init` to `report`, without build and installation, which load from the
    network. Raises `KernelkitError` where a step fails, with what it said.
    """
    with tempfile.TemporaryDirectory(prefix="kernelkit-wheel-") as scratch:
        folder = Path(scratch)
        figures: dict[str, Any] = {}
        wheels = folder / "dist"
        figures["build"] = _build(folder, wheels)
        environment = _environment(folder)
        figures["install"] = _timed([python, "-m", "venv", folder / "env"], folder, environment)
        own = folder / "env/bin/python"
        install = [own, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        figures["install"] += _timed([*install, *wheels.glob("*.whl")], folder, environment)
        _check_absent(own, folder, environment)
        figures |= _work(folder, environment)
        figures["python"] = _said([own, "--version"], folder, environment).split()[1]
    return {key: round(v, 2) if isinstance(v, float) else v for key, v in figures.items()}


def _build(folder: Path, wheels: Path) -> float:
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check"]
    build += ["--no-deps", "--no-build-isolation", "--wheel-dir", wheels]
    return _timed([*build, ROOT, ROOT / "src" / "local_kaggle"], folder, os.environ)


def _environment(folder: Path) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("KAGGLE", "PYTHON"))}
    (folder / "home").mkdir()
    return kept | {"HOME": str(folder / "home"), "PATH": f"{folder}/env/bin:{os.environ['PATH']}"}


def _check_absent(python: Path, folder: Path, environment: Mapping[str, str]) -> None:
    code = f"from importlib.util import find_spec as f; print([m for m in {ABSENT!r} if f(m)])"
    if (held := _said([python, "-c", code], folder, environment).strip()) != "[]":
        raise KernelkitError(f"the environment was to be without {held}")


def _work(folder: Path, environment: Mapping[str, str]) -> dict[str, Any]:
    """The seconds that a stranger's first steps take."""
    walls, used = [], []
    for _ in range(HELPS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        walls.append(_timed(["kernelkit", "--help"], folder, environment))
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    figures: dict[str, Any] = {
        "help": statistics.median(walls),
        "help_cpu": statistics.median(used),
    }
    repository = folder / "soil-moisture"
    steps = {
        "init": (folder, "init soil-moisture --competition some-competition"),
        "rehearse": (repository, "rehearse --quiet"),
        "sweep": (repository, "sweep notebooks/sweeps/first.yaml --workers 2 --quiet"),
        "report": (repository, "report runs --index --quiet"),
    }
    for name, (where, words) in steps.items():
        figures[name] = _timed(["kernelkit", *words.split()], where, environment)
    figures["total"] = sum(figures[name] for name in steps)
    runs = repository / "runs"
    figures["runs"] = len(list(runs.glob("first/*/metrics.json")))
    if figures["runs"] != 4 or not (runs / "index.html").is_file():
        raise KernelkitError(f"a sweep of four runs left {figures['runs']}, or no page over them")
    return figures


def _timed(command: list[Any], folder: Path, environment: Mapping[str, str]) -> float:
    began = time.monotonic()
    _said(command, folder, environment)
    return time.monotonic() - began


def _said(command: list[Any], folder: Path, environment: Mapping[str, str]) -> str:
    words = list(map(str, command))
    words[0] = shutil.which(words[0], path=environment["PATH"]) or words[0]
    done = subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, timeout=TIMEOUT
    )
    if done.returncode:
        raise KernelkitError(
            f"{' '.join(words)} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
        )
    return done.stdout
