"""Find the wheels for a project's `wheels`: pinned packages and their dependencies.

Packages that the target already has are left out, with the dependencies that only they need. pip's
own resolver cannot do that: it cannot describe an image whose package versions are unknown, and it
evaluates markers for the Python that it runs in, whatever `--python-version` says. So pip downloads
single wheels, and this module follows their requirements. The choice is stored in a folder of
`runs/.wheels`, so that the same pins give the same wheels at the next push.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from kernelkit import files
from kernelkit.errors import PreflightError
from kernelkit.wheels.download import download
from kernelkit.wheels.targets import WheelTarget
from kernelkit.wheels.wheel_file import WheelFile, read_wheel

FOLDER = ".wheels"
ROUNDS = 30  # of requests to the index: one for each step in a chain of requirements


@dataclass(frozen=True)
class WheelSet:
    """Wheels on disk, chosen for one Python or several, which `words` names."""

    wheels: tuple[WheelFile, ...]
    words: str

    @property
    def modules(self) -> frozenset[str]:
        """The top-level modules that they provide."""
        return frozenset(module for wheel in self.wheels for module in wheel.modules)

    @property
    def bytes(self) -> int:
        """Their total size."""
        return sum(wheel.path.stat().st_size for wheel in self.wheels)

    @property
    def digest(self) -> str:
        """A hash of their names and contents."""
        digest = hashlib.sha256()
        for wheel in self.wheels:
            content = hashlib.sha256(wheel.path.read_bytes()).hexdigest()
            digest.update(f"{wheel.path.name}\0{content}\0".encode())
        return digest.hexdigest()

    def __str__(self) -> str:
        return ", ".join(dict.fromkeys(f"{wheel.name} {wheel.version}" for wheel in self.wheels))

    def __or__(self, other: WheelSet) -> WheelSet:
        """These wheels and the other's."""
        by_file = {wheel.path.name: wheel for wheel in (*self.wheels, *other.wheels)}
        wheels = tuple(by_file[name] for name in sorted(by_file))
        return WheelSet(wheels, f"{self.words} and {other.words}")


def find_wheels(pins: Sequence[str], target: WheelTarget, runs: Path) -> WheelSet:
    """The wheels of these pinned packages and of their dependencies, for the target.

    Asks the package index only for wheels that were not found before. Raises what `download`
    raises, and `PreflightError` for conflicting requirements.
    """
    key = hashlib.sha256("\0".join([*sorted(pins), target.key]).encode()).hexdigest()[:16]
    folder = runs / FOLDER / key
    with files.locked(runs / FOLDER / f"{key}.lock"):
        if not folder.is_dir():
            scratch = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{key}-"))
            try:
                _collect([Requirement(pin) for pin in pins], target, scratch)
                scratch.chmod(0o755)
                scratch.rename(folder)
            finally:
                shutil.rmtree(scratch, ignore_errors=True)
    wheels = tuple(read_wheel(path) for path in sorted(folder.glob("*.whl")))
    return WheelSet(wheels, target.words)


def _collect(pins: Sequence[Requirement], target: WheelTarget, folder: Path) -> None:
    """Download into the folder until it has a wheel for every requirement, and no others."""
    chosen: dict[str, WheelFile] = {}
    in_target: set[str] = set()  # packages whose modules the target already has
    for _ in range(ROUNDS):
        wanted = _wanted(pins, target, chosen, in_target)
        missing = [
            requirement
            for name, requirement in wanted.items()
            if not (wheel := chosen.get(name))
            or not requirement.specifier.contains(wheel.version, prereleases=True)
        ]
        if not missing:
            for name in set(chosen) - set(wanted):
                chosen[name].path.unlink()
            return
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            download(list(map(str, missing)), target, Path(scratch))
            for path in Path(scratch).glob("*.whl"):
                wheel = read_wheel(path)
                if earlier := chosen.pop(wheel.name, None):
                    earlier.path.unlink()
                pinned = any(canonicalize_name(pin.name) == wheel.name for pin in pins)
                if not pinned and target.holds_modules(wheel.modules):
                    in_target.add(wheel.name)
                else:
                    chosen[wheel.name] = read_wheel(path.replace(folder / path.name))
    raise PreflightError(
        f"the requirements of {', '.join(map(str, pins))} cannot be resolved: also pin the "
        "packages that they require in wheels of [tool.kernelkit]"
    )


def _wanted(
    pins: Sequence[Requirement],
    target: WheelTarget,
    chosen: dict[str, WheelFile],
    in_target: set[str],
) -> dict[str, Requirement]:
    """Every package to download, with all requirements on it so far merged into one."""
    pinned = {canonicalize_name(pin.name) for pin in pins}
    wanted: dict[str, Requirement] = {}
    waiting = list(pins)
    seen: set[str] = set()
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        # A package that is downloaded for one requirement has to satisfy the others, too.
        unneeded = name not in chosen and (
            name in in_target or target.holds(requirement, name in pinned)
        )
        if unneeded or str(requirement) in seen:
            continue
        seen.add(str(requirement))
        whole = wanted.setdefault(name, Requirement(requirement.name))
        whole.extras |= requirement.extras
        whole.specifier &= requirement.specifier
        if wheel := chosen.get(name):
            waiting += wheel.needs(requirement.extras, target.environment)
    return wanted
