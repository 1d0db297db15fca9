"""A run on a TPU, and what the compiler said of it: asked once, and kept until the run changes."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelkit import files
from kernelkit.errors import DoesNotFitError, ParameterError, PreflightError
from kernelkit.notebook.interface.values import for_json
from kernelkit.project import Project
from kernelkit.terminal.events import WARNING, Event, Events
from kernelkit.tpu.chips import TpuMachine, machine_named
from kernelkit.tpu.compiler import environment
from kernelkit.tpu.compiler.compiling import compile_programs
from kernelkit.tpu.figures import CompiledProgram

CHECKED = Event("checked")
PROGRAM = Event("program", quiet=True)
REFUSED = Event("refused", quiet=True)
TRAINING = "training step"  # the program whose time is estimated, and whose batch is searched
CHIPS = ("topology", "bounds", "accelerator_type")  # what the project's command is told of them
FOLDER = ".tpu"  # of the last check of each run, in the folder of runs


@dataclass(frozen=True)
class TpuCheck:
    """What the compiler said of a run's programs, and when, in seconds since 1970.

    `libtpu`: the version that was asked for, "" for the environment's; `current`: whether the
    sources are still those that were compiled.
    """

    programs: tuple[CompiledProgram, ...]
    when: float
    libtpu: str
    current: bool

    @property
    def refused(self) -> tuple[CompiledProgram, ...]:
        """The programs that were not compiled."""
        return tuple(program for program in self.programs if not program.fits)

    @property
    def date(self) -> str:
        """The day and time of it, here."""
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(self.when))

    def tell(self, events: Events) -> None:
        """Report every program's figures as an event, then what is worth a second look.

        Raises `DoesNotFitError`, which names the programs that the compiler refused.
        """
        for program in self.programs:
            event = REFUSED
            computed = {}
            if program.fits:
                event = PROGRAM
                bound = program.bound
                computed = {
                    "bound_seconds": bound,
                    "binds": program.binds,
                    "images_per_second_at_best": program.rate(bound),
                }
            events(event, "\n".join(program.lines()), **program.facts, **computed)
        for program in self.programs:
            for text in program.warnings():
                events(WARNING, text)
        if self.refused:
            names = ", ".join(program.name for program in self.refused)
            raise DoesNotFitError(
                f"{names}: refused by the compiler of a {self.refused[0].machine.name}. Use a "
                "smaller batch (--largest-batch finds the largest), smaller images or a smaller "
                "model"
            )


@dataclass(frozen=True)
class TpuRun:
    """A notebook's run on a TPU: all of its parameters, and the machine.

    `programs`: the names of those that are compiled; none means all.
    """

    project: Project
    values: Mapping[str, Any]
    machine: TpuMachine
    programs: tuple[str, ...] = ()

    @classmethod
    def on_kaggle(cls, project: Project, values: Mapping[str, Any], shape: str) -> TpuRun | None:
        """A run on Kaggle's machine of a shape; None if no TPU is known by it."""
        try:
            return cls(project, values, machine_named(shape))
        except ParameterError:
            return None

    def compiled(self, events: Events, libtpu: str = "") -> TpuCheck:
        """What the compiler says of it: as it said before, where nothing changed since.

        Raises `PreflightError` where the project does not say how its programs are built.
        """
        if not self.project.tpu.command:
            raise PreflightError(
                "the project does not say how its programs are compiled: name the command in "
                f"[tool.kernelkit.tpu] of {self.project.root / 'pyproject.toml'}"
            )
        last = self.last_check()
        if last and last.current and last.libtpu == libtpu:
            events(CHECKED, f"on {last.date}, and nothing changed since")
            return last
        python = environment.python_of(self.project, events)
        other = environment.libtpu_folder(python, libtpu, events) if libtpu else None
        request = {
            "parameters": self._parameters,
            "chips": {name: getattr(self.machine, name) for name in CHIPS},
            "programs": self.programs,
        }
        sources = self._sources()  # they may be edited while they are compiled
        facts = compile_programs(self.project, python, request, events, other)
        content = {"when": time.time(), "libtpu": libtpu, "sources": sources, "programs": facts}
        files.write_text(self._path, json.dumps(content, indent=1) + "\n")
        return self._check(content)

    def last_check(self) -> TpuCheck | None:
        """The last check of it; None if there is none that can be read."""
        try:
            return self._check(files.read_object(self._path))
        except (ValueError, KeyError, TypeError):
            return None

    def estimate(self) -> dict[str, Any]:
        """What the compiler said of the training step, to compare with the run.

        The dictionary has the `seconds` and `peak_bytes` of a chip, and the compiler's `versions`.
        It is empty without a check since the sources changed last.
        """
        last = self.last_check()
        if last is None or not last.current:
            return {}
        for program in last.programs:
            if program.name == TRAINING and program.estimate:
                return {
                    "seconds": program.estimate,
                    "peak_bytes": program.facts.get("peak_bytes"),
                    "versions": program.facts.get("versions"),
                }
        return {}

    def _check(self, content: Mapping[str, Any]) -> TpuCheck:
        programs = tuple(CompiledProgram(facts, self.machine) for facts in content["programs"])
        current = content["sources"] == self._sources()
        return TpuCheck(programs, float(content["when"]), content["libtpu"], current)

    @property
    def _parameters(self) -> dict[str, Any]:
        """The parameters as a push to a TPU has them, which names the machine it asks for."""
        auto = self.values.get("accelerator") == "auto"
        return for_json({**self.values, "accelerator": "tpu"} if auto else self.values)

    @property
    def _path(self) -> Path:
        text = json.dumps(
            [self._parameters, self.machine.name, self.programs], sort_keys=True, default=str
        )
        name = hashlib.sha256(text.encode()).hexdigest()[:32]
        return self.project.runs / FOLDER / f"{name}.json"

    def _sources(self) -> str:
        """A hash of all that the compiled programs may depend on besides the parameters."""
        digest = hashlib.sha256(self.project.tpu.command.encode())
        paths = [self.project.root / self.project.tpu.requirements]
        for package in self.project.packages:
            paths += sorted(self.project.package_folder(package).rglob("*.py"))
        for path in paths:
            if path.is_file():
                digest.update(self.project.name(path).encode() + b"\0" + path.read_bytes() + b"\0")
        return digest.hexdigest()
