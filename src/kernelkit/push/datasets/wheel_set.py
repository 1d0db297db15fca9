"""Find the wheels for a project's `wheels`: pinned packages and their dependencies.

Packages that the target already has are left out, with the dependencies that only they need. pip's
own resolver cannot do that: it cannot describe an image whose package versions are unknown, and it
evaluates markers for the Python that it runs in, whatever `--python-version` says. So pip downloads
single wheels, and this module follows their requirements. The choice is stored in a folder of
`runs/.wheels`, so that the same pins give the same wheels at the next push.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import platform
import re
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from packaging.metadata import parse_email
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from kernelkit import files, image
from kernelkit.errors import DataError, PreflightError
from kernelkit.kaggle.uploading.contents import Contents
from kernelkit.project import Project
from kernelkit.push.datasets import pip

FOLDER = ".wheels"
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

    @property
    def key(self) -> str:
        """Everything that the choice of wheels depends on."""
        return repr((sys.version, self.flags, sorted(self.installed.items()), sorted(self.modules)))


def kaggles_python(python: tuple[int, int]) -> WheelTarget:
    """A Python of Kaggle's images, with the packages of the smallest one, the TPU image.

    Other packages of a larger image are left alone there: pip installs only what is missing.
    """
    version = ".".join(map(str, python))
    platforms = [f"manylinux_2_{minor}_x86_64" for minor in range(NEWEST_GLIBC, 4, -1)]
    platforms += ["manylinux2014_x86_64", "linux_x86_64"]
    abi = f"--abi=cp{version.replace('.', '')}"
    flags = ["--implementation=cp", f"--python-version={version}", abi]
    flags += [f"--platform={tag}" for tag in platforms]
    environment = {  # the rest is that of the Python here
        "os_name": "posix",
        "platform_machine": "x86_64",
        "platform_system": "Linux",
        "python_full_version": f"{version}.0",
        "python_version": version,
        "sys_platform": "linux",
    }
    return WheelTarget(
        f"Kaggle's Python {version}",
        modules=frozenset(module.lower() for module in image.MODULES["tpu"]),
        flags=tuple(flags),
        environment=environment,
    )


def this_python() -> WheelTarget:
    """The Python that rehearsals run in, with all its installed packages."""
    distributions = importlib.metadata.distributions()
    return WheelTarget(
        f"this machine's Python {platform.python_version()}",
        {canonicalize_name(entry.name): entry.version for entry in distributions if entry.name},
    )


@dataclass(frozen=True)
class WheelFile:
    """A wheel on disk: its canonical `name`, its `version`, and its `Requires-Dist` lines.

    `modules` are the top-level ones; for a namespace folder that several distributions share, the
    modules in it, such as "google.cloud".
    """

    path: Path
    name: str
    version: str
    requires: tuple[str, ...]
    modules: frozenset[str]

    @classmethod
    def read(cls, path: Path) -> WheelFile:
        """Read a wheel's metadata; raises `DataError` for a file that is not one."""
        try:
            with zipfile.ZipFile(path) as archive:
                paths = list(map(Path, archive.namelist()))
                # A package may carry others, with their own metadata.
                at_top = [path for path in paths if len(path.parts) == 2]
                (place,) = (path for path in at_top if path.match("*.dist-info/METADATA"))
                metadata, _ = parse_email(archive.read(place.as_posix()))
        except (OSError, zipfile.BadZipFile, ValueError):
            raise DataError(f"{path} is not a complete wheel: delete it and push again") from None
        name = canonicalize_name(metadata.get("name", ""))
        version = metadata.get("version", "")
        return cls(path, name, version, tuple(metadata.get("requires_dist", ())), _modules(paths))

    def needs(self, extras: Iterable[str], environment: Mapping[str, str]) -> list[Requirement]:
        """Its requirements with these extras, with markers evaluated in `environment`."""
        needed = []
        for line in self.requires:
            try:
                requirement = Requirement(line)
            except InvalidRequirement:  # from an old wheel; pip ignores it, too
                continue
            marker = requirement.marker
            values = [*extras, ""]
            if marker is None or any(
                marker.evaluate({**environment, "extra": extra}) for extra in values
            ):
                requirement.marker = None  # pip would read it for the Python that it runs in
                needed.append(requirement)
        return needed


def _modules(paths: Iterable[Path]) -> frozenset[str]:
    """The modules at the top of a wheel; a folder without an `__init__.py` is a namespace."""
    paths = set(paths)
    modules = set()
    for path in paths:
        top, *below = path.parts
        if top.endswith((".dist-info", ".data")) or top == "__pycache__":
            continue
        if not below and path.suffix in (".py", ".so", ".pyd"):
            modules.add(top.partition(".")[0])
        elif below:
            inside = "" if Path(top, "__init__.py") in paths else f".{below[0].partition('.')[0]}"
            modules.add(top + inside)
    return frozenset(modules)


@dataclass(frozen=True)
class WheelSet:
    """Wheels on disk, chosen for one Python or several, which `words` names.

    `there` are the top-level modules of the pinned packages that this Python has without a wheel.
    """

    wheels: tuple[WheelFile, ...]
    words: str
    there: frozenset[str] = frozenset()

    @property
    def modules(self) -> frozenset[str]:
        """The top-level modules that a session has by them."""
        return self.there.union(*(wheel.modules for wheel in self.wheels))

    @cached_property
    def contents(self) -> Contents:
        """Their files."""
        return Contents.of({wheel.path.name: wheel.path for wheel in self.wheels})

    def dataset_name(self, project: Project) -> str:
        """The slug of the dataset that has them, which never changes; "" if there are none."""
        if not self.wheels:
            return ""
        return f"{project.wheels_name}-{self.contents.digest[:8]}"

    def __str__(self) -> str:
        return ", ".join(dict.fromkeys(f"{wheel.name} {wheel.version}" for wheel in self.wheels))


def pinned(project: Project) -> frozenset[str]:
    """The normalised names of the packages in a project's `wheels`."""
    return frozenset(canonicalize_name(re.split(r"[\[=]", pin)[0]) for pin in project.wheels)


def find_wheels(pins: Sequence[str], target: WheelTarget, runs: Path) -> WheelSet:
    """The wheels of these pinned packages and of their dependencies, for the target.

    Asks the package index only for wheels that were not found before. Raises what `pip.download`
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
    return WheelSet(tuple(map(WheelFile.read, sorted(folder.glob("*.whl")))), target.words)


def _collect(pins: Sequence[Requirement], target: WheelTarget, folder: Path) -> None:
    """Download into the folder a wheel for each requirement that the target does not meet.

    A package is chosen once, for the requirements on it that are known by then.
    """
    pinned = {canonicalize_name(pin.name) for pin in pins}
    chosen: dict[str, WheelFile] = {}
    in_target: set[str] = set()  # packages whose modules the target already has
    waiting = list(pins)
    seen = set[str]()
    while waiting:
        needed = []
        for requirement in waiting:
            if str(requirement) in seen:
                continue
            name = canonicalize_name(requirement.name)
            met = name in in_target or target.holds(requirement, name in pinned)
            if name in chosen or not met:
                needed.append((name, requirement))
        seen.update(str(requirement) for _, requirement in needed)
        missing = [str(requirement) for name, requirement in needed if name not in chosen]
        if missing:
            with tempfile.TemporaryDirectory(dir=folder) as scratch:
                pip.download(missing, target.flags, target.words, Path(scratch))
                for path in Path(scratch).glob("*.whl"):
                    wheel = WheelFile.read(path)
                    public = {each.lower() for each in wheel.modules if not each.startswith("_")}
                    if wheel.name not in pinned and public and public <= target.modules:
                        in_target.add(wheel.name)
                    else:
                        chosen[wheel.name] = WheelFile.read(path.replace(folder / path.name))
        waiting = []
        for name, requirement in needed:
            if own := chosen.get(name):
                if not requirement.specifier.contains(own.version, prereleases=True):
                    raise PreflightError(
                        f"{requirement} is required, too, but {name} {own.version} was chosen: pin "
                        "another version of it in wheels of [tool.kernelkit]"
                    )
                waiting += own.needs(requirement.extras, target.environment)
