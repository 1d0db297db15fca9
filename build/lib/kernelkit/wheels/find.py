"""The wheels behind a project's `wheels`: pinned packages, and what they require in turn.

What the target holds is left out, and so is all that only it requires. What was found is kept in
a folder of `runs/.wheels`, so that the same pins are the same wheels at the next push.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Iterable, Sequence
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
ROUNDS = 30  # of asking the index: one for each step in a chain of requirements


@dataclass(frozen=True)
class WheelSet:
    """Wheels in a folder, chosen for one Python; `words` names that one."""

    folder: Path
    wheels: tuple[WheelFile, ...]
    words: str

    @property
    def modules(self) -> frozenset[str]:
        """The top-level modules that they bring."""
        return frozenset(module for wheel in self.wheels for module in wheel.modules)

    @property
    def bytes(self) -> int:
        """The size of all of them."""
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
        return ", ".join(f"{wheel.name} {wheel.version}" for wheel in self.wheels)


def find_wheels(pins: Sequence[str], target: WheelTarget, runs: Path) -> WheelSet:
    """The wheels of these pinned packages and of what they require, for the target.

    Asks the package index where they were not found before. Raises what `download` raises, and
    `PreflightError` for requirements that contradict each other.
    """
    key = hashlib.sha256("\0".join([*sorted(pins), target.key]).encode()).hexdigest()[:16]
    kept = runs / FOLDER / key
    with files.locked(runs / FOLDER / f"{key}.lock"):
        if not kept.is_dir():
            kept.parent.mkdir(parents=True, exist_ok=True)
            scratch = Path(tempfile.mkdtemp(dir=kept.parent, prefix=f".{key}-"))
            try:
                _Search(pins, target, scratch).run()
                scratch.chmod(0o755)
                scratch.rename(kept)
            finally:
                shutil.rmtree(scratch, ignore_errors=True)
    wheels = tuple(read_wheel(path) for path in sorted(kept.glob("*.whl")))
    return WheelSet(kept, wheels, target.words)


class _Search:
    """Downloads into a folder until every requirement has its wheel."""

    def __init__(self, pins: Sequence[str], target: WheelTarget, folder: Path) -> None:
        self._pins = [Requirement(pin) for pin in pins]
        self._pinned = {canonicalize_name(pin.name) for pin in self._pins}
        self._target, self._folder = target, folder
        self._chosen: dict[str, WheelFile] = {}
        self._held: set[str] = set()  # found out by a wheel's modules, which the target has

    def run(self) -> None:
        for _ in range(ROUNDS):
            wanted = self._wanted()
            asked = [_joined(ones) for name, ones in wanted.items() if not self._suits(name, ones)]
            if not asked:
                self._drop(set(self._chosen) - set(wanted))
                return
            with tempfile.TemporaryDirectory(dir=self._folder) as scratch:
                download(asked, self._target, Path(scratch))
                for path in sorted(Path(scratch).glob("*.whl")):
                    self._take(path)
        pins = ", ".join(map(str, self._pins))
        raise PreflightError(
            f"the requirements of {pins} do not come to an end: name versions of what they "
            "require in wheels of [tool.kernelkit] too"
        )

    def _wanted(self) -> dict[str, list[Requirement]]:
        """Every package that is to come, with all that is required of it so far."""
        wanted: dict[str, list[Requirement]] = {}
        waiting = list(self._pins)
        seen: set[str] = set()
        while waiting:
            requirement = waiting.pop()
            name = canonicalize_name(requirement.name)
            if str(requirement) in seen or self._is_held(name, requirement):
                continue
            seen.add(str(requirement))
            wanted.setdefault(name, []).append(requirement)
            if wheel := self._chosen.get(name):
                waiting += wheel.needs(requirement.extras, self._target.environment)
        return wanted

    def _is_held(self, name: str, requirement: Requirement) -> bool:
        if name in self._chosen:  # for another requirement: its wheel has to serve this one, too
            return False
        held = name in self._held or self._target.holds(requirement)
        return held and (name not in self._pinned or self._target.may_hold_pins)

    def _suits(self, name: str, requirements: Iterable[Requirement]) -> bool:
        wheel = self._chosen.get(name)
        return wheel is not None and all(
            one.specifier.contains(wheel.version, prereleases=True) for one in requirements
        )

    def _take(self, path: Path) -> None:
        wheel = read_wheel(path)
        self._drop({wheel.name} & set(self._chosen))
        if wheel.name not in self._pinned and self._target.holds_modules(wheel.modules):
            self._held.add(wheel.name)
            return
        place = path.replace(self._folder / path.name)
        self._chosen[wheel.name] = read_wheel(place)

    def _drop(self, names: set[str]) -> None:
        for name in names:
            self._chosen.pop(name).path.unlink()


def _joined(requirements: list[Requirement]) -> str:
    """One requirement for pip that asks for all that these ask of one package."""
    extras = sorted({extra for one in requirements for extra in one.extras})
    specifier = requirements[0].specifier
    for one in requirements[1:]:
        specifier &= one.specifier
    return f"{requirements[0].name}{'[' + ','.join(extras) + ']' if extras else ''}{specifier}"
