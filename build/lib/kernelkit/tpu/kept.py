"""What was checked before, found again by content: parameters, machine, versions and sources."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelkit import files
from kernelkit.project import RUNS, Project
from kernelkit.tpu.chips import TpuMachine
from kernelkit.tpu.figures import CompiledProgram

FOLDER = ".tpu"  # in the folder of runs
PROGRAMS = "programs"  # in that: what the project's command keeps for itself, by program
ACCELERATOR = "accelerator"


@dataclass(frozen=True)
class TpuCheck:
    """What the compiler said of a run's programs, and when, in seconds since 1970."""

    programs: tuple[CompiledProgram, ...]
    when: float
    stored: bool = False

    @property
    def fits(self) -> bool:
        """Whether every program was compiled."""
        return all(program.fits for program in self.programs)

    @property
    def date(self) -> str:
        """The day and time of it, here."""
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(self.when))


def told_machine(values: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters as a push to a TPU has them: it tells the notebook what it asks for."""
    found = dict(values)
    if found.get(ACCELERATOR) == "auto":
        found[ACCELERATOR] = "tpu"
    return found


def key(
    project: Project, values: Mapping[str, Any], machine: TpuMachine, programs: Sequence[str]
) -> str:
    """The name of a check's result: another where anything differs that it may depend on."""
    digest = hashlib.sha256()
    asked = [dict(values), machine.name, list(programs), project.tpu.command]
    digest.update(json.dumps(asked, sort_keys=True, default=str).encode())
    sources = [project.root / project.tpu.requirements]
    for package in project.packages:
        sources += sorted(project.package_folder(package).rglob("*.py"))
    for path in sources:
        if path.is_file():
            digest.update(project.name(path).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:32]


def last_key(values: Mapping[str, Any], machine: TpuMachine) -> str:
    """The name of the last check of a run with these parameters, whatever the sources were."""
    asked = json.dumps([dict(values), machine.name], sort_keys=True, default=str)
    return f"last-{hashlib.sha256(asked.encode()).hexdigest()[:32]}"


def folder(project: Project) -> Path:
    """Where results are kept."""
    return project.root / RUNS / FOLDER


def find(project: Project, name: str, machine: TpuMachine) -> TpuCheck | None:
    """The result of this key; None where there is none that can be read."""
    try:
        held = json.loads((folder(project) / f"{name}.json").read_text(encoding="utf-8"))
        programs = tuple(CompiledProgram(facts, machine) for facts in held["programs"])
        return TpuCheck(programs, float(held["when"]), stored=True)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def keep(project: Project, name: str, found: TpuCheck) -> None:
    """Keep a result under its key."""
    facts = [dict(program.facts) for program in found.programs]
    text = json.dumps({"when": found.when, "programs": facts}, indent=1)
    files.write_text(folder(project) / f"{name}.json", text + "\n")
