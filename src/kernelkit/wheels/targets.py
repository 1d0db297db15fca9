"""The Pythons to choose wheels for: Kaggle's, and this machine's for a rehearsal."""

from __future__ import annotations

import hashlib
import importlib.metadata
import platform
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from kernelkit import machines

NEWEST_GLIBC = 35  # 2.35, the version in Kaggle's images; wheels for older ones work, too


@dataclass(frozen=True)
class WheelTarget:
    """A Python on a machine, and the packages that it already has.

    words         its name in messages
    installed     versions by canonical name, if known
    modules       top-level modules of packages with unknown versions, in lower case
    flags         the options of pip that describe it
    environment   the values for markers such as `python_version < "3.12"`
    """

    words: str
    installed: Mapping[str, str] = field(default_factory=dict)
    modules: frozenset[str] = frozenset()
    flags: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)

    def holds(self, requirement: Requirement, pinned: bool) -> bool:
        """Whether it needs no wheel of this package.

        A `pinned` package must have its exact version; any other may have an unknown version.
        """
        name = canonicalize_name(requirement.name)
        if version := self.installed.get(name):
            return requirement.specifier.contains(version, prereleases=True)
        return not pinned and name.replace("-", "_") in self.modules

    def holds_modules(self, modules: Iterable[str]) -> bool:
        """Whether a wheel with these modules adds nothing new."""
        public = {module.lower() for module in modules if not module.startswith("_")}
        return bool(public) and public <= self.modules

    @property
    def key(self) -> str:
        """A hash of everything that the choice of wheels depends on."""
        parts = (sys.version, self.flags, sorted(self.installed.items()), sorted(self.modules))
        return hashlib.sha256(repr(parts).encode()).hexdigest()


def kaggles_python(python: tuple[int, int]) -> WheelTarget:
    """A Python of Kaggle's images, with the packages of the smallest one, the TPU image.

    Other packages of a larger image are left alone there: pip installs only what is missing.
    """
    version = ".".join(map(str, python))
    platforms = [f"manylinux_2_{minor}_x86_64" for minor in range(NEWEST_GLIBC, 4, -1)]
    options = {
        "--implementation": "cp",
        "--python-version": version,
        "--abi": f"cp{version.replace('.', '')}",
    }
    flags = [f"{name}={value}" for name, value in options.items()]
    flags += [f"--platform={tag}" for tag in (*platforms, "manylinux2014_x86_64", "linux_x86_64")]
    environment = {
        "implementation_name": "cpython",
        "implementation_version": f"{version}.0",
        "os_name": "posix",
        "platform_machine": "x86_64",
        "platform_release": "",
        "platform_python_implementation": "CPython",
        "platform_system": "Linux",
        "platform_version": "",
        "python_full_version": f"{version}.0",
        "python_version": version,
        "sys_platform": "linux",
    }
    return WheelTarget(
        f"Kaggle's Python {version}",
        modules=frozenset(module.lower() for module in machines.modules("tpu")),
        flags=tuple(flags),
        environment=environment,
    )


def this_python() -> WheelTarget:
    """The Python that rehearsals run in, with all its installed packages."""
    words = f"this machine's Python {platform.python_version()}"
    if sys.version_info[:2] not in machines.PYTHONS:
        kaggles = " or ".join(".".join(map(str, python)) for python in machines.PYTHONS)
        words += f" (a push chooses for Kaggle's Python {kaggles})"
    distributions = importlib.metadata.distributions()
    return WheelTarget(
        words,
        {canonicalize_name(entry.name): entry.version for entry in distributions if entry.name},
    )
