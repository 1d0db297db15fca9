"""What Kaggle's image holds and this machine lacks, installed for the sessions of rehearsals."""

from __future__ import annotations

import importlib.machinery
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from kernelkit import machines
from kernelkit.machines import Kind
from kernelkit.wheels.download import install


def lacking(modules: Iterable[str], kind: Kind, folder: Path) -> list[str]:
    """The modules that such a session imports at Kaggle, and neither this Python nor `folder` has.

    `folder` is as `pip install --target` leaves one.
    """
    held = machines.modules(kind) - sys.stdlib_module_names
    places = [str(folder), *sys.path]
    finder = importlib.machinery.PathFinder
    finder.invalidate_caches()  # which may know the folder as it was
    return [name for name in modules if name in held and not finder.find_spec(name, places)]


def install_lacking(modules: Iterable[str], versions: Mapping[str, str], folder: Path) -> list[str]:
    """Install the modules' distributions into `folder`, in these versions where they are known.

    Returns the requirements. Raises `PreflightError` or `NetworkError`, as `download.install` does.
    """
    names = list(map(machines.distribution, modules))
    requirements = [f"{name}=={versions[name]}" if name in versions else name for name in names]
    install(requirements, folder)
    return requirements
