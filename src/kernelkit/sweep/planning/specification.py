"""A sweep as it is to run: its notebook, its runs, and their ids."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from kernelkit import project
from kernelkit.errors import KernelkitError, ParameterError
from kernelkit.notebook import document
from kernelkit.notebook.files.own_files import fingerprint
from kernelkit.notebook.interface.parameters import Parameter
from kernelkit.notebook.interface.values import assignments, for_json, resolve
from kernelkit.sweep.planning.sweep_file import SearchSettings, Values

LIMITS = ("workers", "time_limit", "memory")
OUTPUT = "output"
LENGTH = 12  # hexadecimal digits of a run's id: 48 bits, for thousands of runs


@dataclass(frozen=True)
class PlannedRun:
    """One run: its id, the parameters it sets, and the values of all parameters."""

    id: str
    overrides: Values
    values: Mapping[str, Any]

    def assignments(self, **others: Any) -> str:
        """The source of a cell that sets its parameters, and the `others`."""
        return assignments(self.overrides | others)


@dataclass(frozen=True)
class Specification:
    """A sweep: its name, the notebook, the runs in order, and how to run them.

    `declared` are the notebook's parameters, `base` the values that all runs share, `code` is a
    hash of the code that they execute. `workers` is how many run at a time, 0 if the file does not
    say. `time_limit` is in minutes and `memory` in GB, 0 for no limit; `search` is None for a plain
    sweep, whose runs are known beforehand; a search has no `runs`. `unused` has a sentence for each
    parameter that it sets and nothing seems to read. The others are as in `sweep_file`.
    """

    name: str
    notebook: Path
    declared: Mapping[str, Parameter]
    base: Mapping[str, Any]
    code: str
    runs: tuple[PlannedRun, ...] = ()
    workers: int = 0
    time_limit: float = 0.0
    memory: float = 0.0
    score: str = ""
    minimize: bool = False
    warm: tuple[str, ...] = ()
    search: SearchSettings | None = None
    keep_best: Mapping[str, int] = field(default_factory=dict)
    unused: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in LIMITS:
            if not 0 <= getattr(self, name) < math.inf:  # rejects nan, too
                raise ParameterError(f"{name}={getattr(self, name)} is negative or not a number")

    @property
    def in_own_folders(self) -> bool:
        """Whether each run's folder is also its working directory, as the notebook has no parameter
        `output`, which would name that folder."""
        return OUTPUT not in self.declared

    def is_current(self) -> bool:
        """Whether the notebook and its own files still have the code that the runs' ids name."""
        try:
            return code_hash(self.notebook) == self.code
        except KernelkitError:  # it is gone, or being written
            return False

    @cached_property
    def varying(self) -> list[str]:
        """The parameters that distinguish its runs, in the search's or the notebook's order."""
        if self.search:
            return list(self.search.space)
        varying = []
        for name in self.declared:
            values = {repr(run.values.get(name)) for run in self.runs}
            if len(values) > 1:
                varying.append(name)
        return varying

    def run(self, overrides: Mapping[str, Any]) -> PlannedRun:
        """A run with these values on top of the base; raises `ParameterError` for invalid ones.

        Its id is a hash of the code and the values of all parameters.
        """
        if OUTPUT in self.base or OUTPUT in overrides:
            raise ParameterError("output is set to each run's own folder: leave it out")
        checked = resolve(self.declared, {**self.base, **overrides})
        defaults = {name: p.default for name, p in self.declared.items() if name != OUTPUT}
        values = defaults | checked
        held = sorted(for_json(values).items())
        message = json.dumps([self.code, held], sort_keys=True)
        return PlannedRun(hashlib.sha256(message.encode()).hexdigest()[:LENGTH], checked, values)


def code_hash(notebook: Path) -> str:
    """A hash of the code that a run of this notebook executes: its cells, and its own modules.

    Raises `NotebookError` for a notebook that cannot be read.
    """
    cells = document.read(notebook).cells
    code = [cell.source for cell in cells if cell.cell_type == "code"]
    return fingerprint(notebook, code, project.find_project(notebook))
