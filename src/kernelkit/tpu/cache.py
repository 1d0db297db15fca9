"""The last check of a run, found again by its parameters and machine."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelkit import files
from kernelkit.project import Project
from kernelkit.tpu.chips import TpuMachine
from kernelkit.tpu.figures import CompiledProgram

FOLDER = ".tpu"  # in the folder of runs
PROGRAMS = "programs"  # in that: what the project's command keeps for itself, by program
ACCELERATOR = "accelerator"


@dataclass(frozen=True)
class TpuCheck:
    """What the compiler said of a run's programs, and when, in seconds since 1970.

    `libtpu`: the version that was asked for, "" for the environment's; `current`: whether the
    sources are still those that were compiled.
    """

    programs: tuple[CompiledProgram, ...]
    when: float
    libtpu: str = ""
    current: bool = True

    @property
    def fits(self) -> bool:
        """Whether every program was compiled."""
        return all(program.fits for program in self.programs)

    @property
    def date(self) -> str:
        """The day and time of it, here."""
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(self.when))


def for_tpu(values: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters as a push to a TPU has them, which names the machine it asks for."""
    auto = values.get(ACCELERATOR) == "auto"
    return {**values, ACCELERATOR: "tpu"} if auto else dict(values)


def folder(project: Project) -> Path:
    """Where results are kept."""
    return project.runs / FOLDER


def last(project: Project, path: Path, machine: TpuMachine) -> TpuCheck | None:
    """The check in the file `path`; None if there is none that can be read."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        compiled = tuple(CompiledProgram(facts, machine) for facts in content["programs"])
        current = content["sources"] == _sources(project)
        return TpuCheck(compiled, float(content["when"]), content["libtpu"], current)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def keep(project: Project, path: Path, check: TpuCheck) -> None:
    """Keep a check in the file `path`, as the last one of its run."""
    facts = [dict(program.facts) for program in check.programs]
    content = {"when": check.when, "libtpu": check.libtpu, "sources": _sources(project)}
    files.write_text(path, json.dumps({**content, "programs": facts}, indent=1) + "\n")


def path_of(
    project: Project,
    values: Mapping[str, Any],
    machine: TpuMachine,
    programs: Sequence[str] = (),
) -> Path:
    """The file of the last check of a run with these parameters, whether or not there is one.

    `programs`: all by default.
    """
    run = [for_tpu(values), machine.name, list(programs)]
    text = json.dumps(run, sort_keys=True, default=str)
    return folder(project) / f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.json"


def _sources(project: Project) -> str:
    """A hash of all that the compiled programs may depend on besides the parameters."""
    digest = hashlib.sha256(project.tpu.command.encode())
    paths = [project.root / project.tpu.requirements]
    for package in project.packages:
        paths += sorted(project.package_folder(package).rglob("*.py"))
    for path in paths:
        if path.is_file():
            digest.update(project.name(path).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()
