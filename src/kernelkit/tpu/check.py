"""One command: does this run fit a TPU, and how fast can it be at best?"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

from kernelkit import files
from kernelkit.errors import DoesNotFitError, ParameterError, PreflightError
from kernelkit.notebook.document import read_json
from kernelkit.notebook.interface import parameters as declarations
from kernelkit.notebook.interface.values import Overrides, completed, for_json, resolve
from kernelkit.project import Project, find_project
from kernelkit.terminal.events import PROGRESS, WARNING, Event, EventOptions, Events
from kernelkit.tpu import environment
from kernelkit.tpu.chips import TpuMachine, machine_named
from kernelkit.tpu.compiling import compile_programs
from kernelkit.tpu.figures import PARTS, CompiledProgram

CHECKED = Event("checked")
PROGRAM = Event("program", quiet=True)
REFUSED = Event("refused", quiet=True)
TRIED = Event("tried")
LARGEST = Event("largest", quiet=True)
TRAINING = "training step"  # the program whose batch is searched
CHIPS = ("topology", "bounds", "accelerator_type")  # what the project's command is told of them
FOLDER = ".tpu"  # of the last check of each run, in the folder of runs
STEP = 8  # images for each replica: a TPU's vector registers have eight rows
MOST = 4096  # images for each replica
GUESSES = 6  # after so many batches that did not settle it, the gap is halved
NOTABLE = 1.02  # times the images a second, from which on another batch is worth naming


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


def check_tpu(
    notebook: Path,
    parameters: Overrides = (),
    *,
    machine: str = "v5e-8",
    largest_batch: bool = False,
    libtpu: str = "",
    **output: Unpack[EventOptions],
) -> TpuCheck:
    """Compile the programs of a notebook's run for a TPU, and tell what the compiler says.

    `largest_batch` searches for the largest batch of a replica instead. `libtpu`: the version of
    another compiler than the environment's. Raises `DoesNotFitError` if a program of the run does
    not fit, and `NoCompilerError` if there is no compiler.
    """
    events = Events(**output)
    try:
        project = find_project(notebook)
        run = TpuRun(project, values_of(project, notebook, parameters), machine_named(machine))
        if largest_batch:
            return _search(run, events, libtpu)
        check = run.compiled(events, libtpu)
        tell(check, events)
        return check
    finally:
        events.end()


def values_of(project: Project, notebook: Path, overrides: Overrides) -> dict[str, Any]:
    """All of the notebook's parameters, those given among them."""
    declared = declarations.of_notebook(read_json(notebook), project)
    return completed(declared, resolve(declared, overrides))


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


def tell(check: TpuCheck, events: Events) -> None:
    """Report every program's figures as an event, then what is worth a second look.

    Raises `DoesNotFitError`, which names the programs that the compiler refused.
    """
    for program in check.programs:
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
    for program in check.programs:
        for text in program.warnings():
            events(WARNING, text)
    if check.refused:
        names = ", ".join(program.name for program in check.refused)
        raise DoesNotFitError(
            f"{names}: refused by the compiler of a {check.refused[0].machine.name}. Use a "
            "smaller batch (--largest-batch finds the largest), smaller images or a smaller model"
        )


def _search(run: TpuRun, events: Events, libtpu: str) -> TpuCheck:
    name = run.project.tpu.batch
    if name not in run.values:
        raise PreflightError(
            f"--largest-batch: the notebook has no parameter {name!r}: correct batch in "
            "[tool.kernelkit.tpu]"
        )
    results: dict[int, TpuCheck] = {}
    rates: dict[int, float] = {}

    def memory(batch: int) -> tuple[int, int] | None:
        events(PROGRESS, f"trying {name}={batch}")
        values = {**run.values, name: batch}
        check = TpuRun(run.project, values, run.machine, (TRAINING,)).compiled(events, libtpu)
        if not check.programs:
            raise PreflightError("--largest-batch: this run has no training step")
        program = check.programs[0]
        results[batch] = check
        rate = program.rate(program.estimate)
        speed = f"; {rate:,.0f} images/s as estimated" if rate else ""
        facts = {"batch": batch, "fits": program.fits, "estimated_images_per_second": rate}
        events(TRIED, f"{name}={batch}: {program.verdict}{speed}", **facts)
        if not program.fits:
            return None
        rates[batch] = rate
        fixed = (program.facts.get(PARTS[part], 0) for part in ("parameters", "optimizer"))
        return program.facts["peak_bytes"], sum(fixed)

    good, bad = largest(int(run.values[name]), memory, run.machine.hbm)
    if not good:
        raise DoesNotFitError(f"not even {name}={bad} fits a {run.machine.name}")
    tell(results[good], events)
    text = f"{name}={good} fits"
    if bad in results:
        text += f"; {name}={bad} does not fit"
    fastest = max(rates, key=lambda batch: (rates[batch], batch))
    if rates[fastest] > NOTABLE * rates[good]:
        text += (
            f". By the compiler's estimate {name}={fastest} is faster: {rates[fastest]:,.0f} "
            f"images/s for {rates[good]:,.0f}"
        )
    events(LARGEST, text, batch=good, fastest=fastest)
    return results[good]


def largest(
    begin: int, memory: Callable[[int], tuple[int, int] | None], room: int
) -> tuple[int, int]:
    """(largest batch that fits, smallest that does not) in steps of `STEP`, 0 and `MOST` included.

    `memory(n)` compiles a batch of n images for each replica. It gives (bytes that it takes at
    peak, bytes of these that any batch takes), or None where it does not fit a chip, which has
    `room` bytes. What a batch takes grows evenly, so the edge is estimated by the line through the
    two largest batches that fit.
    """
    good = 0
    bad = MOST + STEP
    tries = 0
    batch = min(max(-(-begin // STEP), 1) * STEP, MOST)
    peaks: dict[int, int] = {}
    while bad - good > STEP:
        tries += 1
        guess = 0.0
        used = memory(batch)
        if used is None:
            bad = batch
        else:
            good = batch
            peaks[batch] = used[0]
            peaks.setdefault(0, used[1])
        if good and tries < GUESSES:
            low, high = sorted(peaks)[-2:]
            growth = (peaks[high] - peaks[low]) / (high - low)
            guess = high + (room - peaks[high]) / growth if growth > 0 else MOST
        else:
            guess = (good + bad) / 2
        batch = int(min(max(guess // STEP * STEP, good + STEP), bad - STEP))
    return good, bad
