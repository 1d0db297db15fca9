"""Read a wheel's metadata: its name and version, its requirements, its modules."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from packaging.metadata import parse_email
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from kernelkit.errors import DataError


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

    def needs(self, extras: Iterable[str], environment: Mapping[str, str]) -> list[Requirement]:
        """Its requirements with these extras, with markers evaluated in `environment`."""
        needed = []
        for line in self.requires:
            try:
                requirement = Requirement(line)
            except InvalidRequirement:  # from an old wheel; pip ignores it, too
                continue
            marker, values = requirement.marker, [*extras, ""]
            if marker is None or any(
                marker.evaluate({**environment, "extra": extra}) for extra in values
            ):
                needed.append(requirement)
        return needed


def read_wheel(path: Path) -> WheelFile:
    """Read a wheel's metadata; raises `DataError` for a file that is not one."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            (place,) = (
                name
                for name in names
                if name.count("/") == 1 and name.endswith(".dist-info/METADATA")
            )
            metadata, _ = parse_email(archive.read(place))
    except (OSError, zipfile.BadZipFile, ValueError):
        raise DataError(f"{path} is not a complete wheel: delete it and push again") from None
    return WheelFile(
        path,
        canonicalize_name(metadata.get("name", "")),
        metadata.get("version", ""),
        tuple(metadata.get("requires_dist", ())),
        _modules(names),
    )


def _modules(names: list[str]) -> frozenset[str]:
    modules = set()
    for name in names:
        top, _, rest = name.partition("/")
        if top.endswith((".dist-info", ".data")) or top == "__pycache__":
            continue
        if not rest:
            if name.endswith((".py", ".so", ".pyd")):
                modules.add(top.partition(".")[0])
        elif f"{top}/__init__.py" in names:
            modules.add(top)
        else:
            modules.add(f"{top}.{rest.partition('/')[0].partition('.')[0]}")
    return frozenset(modules)
