"""What a wheel says of itself: its name and version, what it requires, its modules."""

from __future__ import annotations

import email.parser
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from kernelkit.errors import DataError


@dataclass(frozen=True)
class WheelFile:
    """A wheel on disk: its canonical `name`, its `version`, and its `Requires-Dist` lines.

    `modules` are the top-level ones; a folder that several distributions share gives the modules
    in it, such as "google.cloud".
    """

    path: Path
    name: str
    version: str
    requires: tuple[str, ...]
    modules: frozenset[str]

    def needs(self, extras: Iterable[str], environment: Mapping[str, str]) -> list[Requirement]:
        """What it requires with these extras, where markers have the values of `environment`."""
        found = []
        for line in self.requires:
            try:
                requirement = Requirement(line)
            except InvalidRequirement:  # of old wheels; pip passes over those it cannot read, too
                continue
            marker, among = requirement.marker, [*extras, ""]
            if marker is None or any(
                marker.evaluate({**environment, "extra": extra}) for extra in among
            ):
                found.append(requirement)
        return found


def read_wheel(path: Path) -> WheelFile:
    """Read a wheel's metadata; raises `DataError` for a file that is not one."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            place = next(
                n for n in names if n.count("/") == 1 and n.endswith(".dist-info/METADATA")
            )
            text = archive.read(place).decode("utf-8", "replace")
    except (OSError, zipfile.BadZipFile, StopIteration):
        raise DataError(f"{path} is not a whole wheel: delete it, and push again") from None
    facts = email.parser.Parser().parsestr(text, headersonly=True)
    return WheelFile(
        path,
        canonicalize_name(facts["Name"] or ""),
        facts["Version"] or "",
        tuple(facts.get_all("Requires-Dist") or ()),
        _modules(names),
    )


def _modules(names: list[str]) -> frozenset[str]:
    found = set()
    for name in names:
        parts = name.split("/")
        top = parts[0]
        if top.endswith((".dist-info", ".data")) or top == "__pycache__":
            continue
        if len(parts) == 1:
            if name.endswith((".py", ".so", ".pyd")):
                found.add(top.partition(".")[0])
        elif f"{top}/__init__.py" in names:
            found.add(top)
        else:
            found.add(f"{top}.{parts[1].partition('.')[0]}")
    return frozenset(found)
