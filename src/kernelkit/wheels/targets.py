"""The Pythons that wheels are chosen for: Kaggle's image, and this machine's for a rehearsal."""

from __future__ import annotations

import hashlib
import importlib.metadata
import platform
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from kernelkit import machines

NEWEST_GLIBC = 35  # 2.35: that of Kaggle's images, and wheels built for an older one suit it


class WheelTarget(ABC):
    """A Python on a machine: what pip has to be told of it, and what it holds already."""

    words: str
    flags: tuple[str, ...] = ("--only-binary=:all:",)
    environment: dict[str, str]  # what markers such as `python_version < "3.12"` are read with
    may_hold_pins = False  # whether its own version of a pinned package is known, and may serve

    @abstractmethod
    def holds(self, requirement: Requirement) -> bool:
        """Whether it needs no wheel of this package."""

    @abstractmethod
    def holds_modules(self, modules: Iterable[str]) -> bool:
        """Whether a wheel with these modules brings nothing new."""

    @property
    @abstractmethod
    def key(self) -> str:
        """What the choice of wheels depends on, as a hash."""


class KagglesPython(WheelTarget):
    """The Python of Kaggle's images, with what the smallest of them, the TPU's, holds.

    What a larger image holds besides is left alone there: pip installs what is missing.
    """

    def __init__(self) -> None:
        major, minor = machines.PYTHON
        self.words = f"Kaggle's Python {major}.{minor}"
        platforms = [f"manylinux_2_{n}_x86_64" for n in range(NEWEST_GLIBC, 4, -1)]
        platforms += ["manylinux2014_x86_64", "linux_x86_64"]
        self.flags = (
            *WheelTarget.flags,
            "--implementation",
            "cp",
            "--python-version",
            f"{major}.{minor}",
            "--abi",
            f"cp{major}{minor}",
            *(f"--platform={name}" for name in platforms),
        )
        self.environment = {
            "implementation_name": "cpython",
            "implementation_version": f"{major}.{minor}.0",
            "os_name": "posix",
            "platform_machine": "x86_64",
            "platform_release": "",
            "platform_python_implementation": "CPython",
            "platform_system": "Linux",
            "platform_version": "",
            "python_full_version": f"{major}.{minor}.0",
            "python_version": f"{major}.{minor}",
            "sys_platform": "linux",
        }
        self._held = {module.lower() for module in machines.modules("tpu")}

    def holds(self, requirement: Requirement) -> bool:
        return canonicalize_name(requirement.name).replace("-", "_") in self._held

    def holds_modules(self, modules: Iterable[str]) -> bool:
        public = {module.lower() for module in modules if not module.startswith("_")}
        return bool(public) and public <= self._held

    @property
    def key(self) -> str:
        return _hash([*self.flags, *sorted(self._held)])


class ThisPython(WheelTarget):
    """The Python that rehearsals run in, with all that is installed beside it."""

    may_hold_pins = True

    def __init__(self) -> None:
        self.words = f"this machine's Python {platform.python_version()}"
        if sys.version_info[:2] != machines.PYTHON:
            self.words += f" (a push chooses for {KagglesPython().words})"
        self.environment = {}
        self._held = {
            canonicalize_name(found.name): found.version
            for found in importlib.metadata.distributions()
            if found.name
        }

    def holds(self, requirement: Requirement) -> bool:
        version = self._held.get(canonicalize_name(requirement.name))
        return version is not None and requirement.specifier.contains(version, prereleases=True)

    def holds_modules(self, modules: Iterable[str]) -> bool:
        return False

    @property
    def key(self) -> str:
        held = [f"{name}=={version}" for name, version in sorted(self._held.items())]
        return _hash([sys.version, *self.flags, *held])


def _hash(parts: list[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
