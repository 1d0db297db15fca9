"""What makes two runs the same: the notebook's code, the packages it imports, its parameters."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelkit import project
from kernelkit.bundle import packages

if TYPE_CHECKING:
    import nbformat

LENGTH = 12  # hexadecimal digits of a run's id: 48 bits, for thousands of runs


@dataclass(frozen=True)
class Fingerprint:
    """A hash of the code that a sweep's runs share."""

    digest: str

    def run(self, values: Mapping[str, Any]) -> str:
        """The id of a run of this code with all of these parameters."""
        message = json.dumps([self.digest, sorted(values.items())], sort_keys=True)
        return hashlib.sha256(message.encode()).hexdigest()[:LENGTH]


def fingerprint(notebook: Path, source: nbformat.NotebookNode) -> Fingerprint:
    """Hash a notebook's code cells and the packages of the project it lies in."""
    here = project.find_project(notebook)
    digest = hashlib.sha256()
    for cell in source.cells:
        if cell.cell_type == "code":
            digest.update(cell.source.encode() + b"\0")
    for package in here.packages:
        for file in packages.files(here.package_folder(package), here.leave_out):
            digest.update(f"{file.path}\0{file.sha256}\0".encode())
    return Fingerprint(digest.hexdigest())
