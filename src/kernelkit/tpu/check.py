"""One command: does this run fit a TPU, and how fast can it be at best?"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

from kernelkit.errors import DoesNotFitError, KernelkitError, NotebookError, PreflightError
from kernelkit.notebooks import parameters as declarations
from kernelkit.notebooks.document import parameters_source, read_json
from kernelkit.project import Project, find_project
from kernelkit.terminal.events import EventOptions, Events
from kernelkit.tpu import cache, environment
from kernelkit.tpu.cache import TpuCheck
from kernelkit.tpu.chips import TpuMachine, machine_named
from kernelkit.tpu.compiling import compile_programs
from kernelkit.tpu.figures import CompiledProgram
from kernelkit.tpu.largest_batch import largest

TRAINING = "training step"  # the program whose batch is searched
NOTABLE = 1.02  # times the images a second, from which on another batch is worth naming


def check_tpu(
    notebook: Path,
    parameters: Sequence[str] | Mapping[str, Any] = (),
    *,
    machine: str = "v5e-8",
    largest_batch: bool = False,
    libtpu: str = "",
    **output: Unpack[EventOptions],
) -> TpuCheck:
    """Compile the programs of a notebook's run for a TPU, and tell what the compiler says.

    `largest_batch` searches for the largest batch a replica as well. `libtpu`: the version of
    another compiler than the environment's. Raises `DoesNotFitError`
    where a program of the run does not fit, and `NoCompilerError` where there is no compiler.
    """
    events = Events(**output)
    try:
        project = find_project(notebook)
        values = values_of(project, notebook, parameters)
        tpu = machine_named(machine)
        if largest_batch:
            return _search(project, values, tpu, events, libtpu)
        check = compiled(project, values, tpu, events, libtpu=libtpu)
        tell(check, events)
        stop_where_it_does_not_fit(check)
        return check
    except KernelkitError as error:
        if events.as_json:
            events("error", str(error), exit_code=error.exit_code)
            error.announced = True
        raise
    finally:
        events.end()


def compiled(
    project: Project,
    values: Mapping[str, Any],
    machine: TpuMachine,
    events: Events,
    programs: Sequence[str] = (),
    libtpu: str = "",
) -> TpuCheck:
    """What the compiler says of a run: as it said before, where nothing changed since.

    `values` are all of the notebook's parameters. Raises `PreflightError` where the project
    does not say how its programs are built.
    """
    if not project.tpu.command:
        raise PreflightError(
            "the project does not say how its programs are compiled: name the command in "
            f"[tool.kernelkit.tpu] of {project.root / 'pyproject.toml'}"
        )
    path = cache.path_of(project, values, machine, programs)
    last = cache.last(project, path, machine)
    if last and last.current and last.libtpu == libtpu:
        events("checked", f"on {last.date}, and nothing changed since")
        return last
    python = environment.python_of(project, events)
    other = [environment.libtpu_folder(python, libtpu, events)] if libtpu else []
    request = {
        "parameters": cache.for_tpu(values),
        "chips": machine.request(),
        "programs": list(programs),
        "kept": str(cache.folder(project) / cache.PROGRAMS),
    }
    facts = compile_programs(project, python, request, events, other)
    check = TpuCheck(tuple(CompiledProgram(fact, machine) for fact in facts), time.time(), libtpu)
    cache.keep(project, path, check)
    return check


def tell(check: TpuCheck, events: Events) -> None:
    """Report every program's figures as an event, then what is worth a second look."""
    for program in check.programs:
        event, computed = "refused", {}
        if program.fits:
            event, bound = "program", program.bound
            computed = {
                "bound_seconds": bound.seconds,
                "binds": bound.binds,
                "images_per_second_at_best": bound.images_per_second,
            }
        events(event, "\n".join(program.lines()), **program.facts, **computed)
    for program in check.programs:
        for text in program.warnings():
            events("warning", text)


def stop_where_it_does_not_fit(check: TpuCheck) -> None:
    """Raise `DoesNotFitError` that names the programs the compiler refused."""
    refused = [program for program in check.programs if not program.fits]
    if refused:
        machine = refused[0].machine.name
        names = ", ".join(program.name for program in refused)
        raise DoesNotFitError(
            f"{names}: refused by the compiler of a {machine}. Take a smaller batch "
            "(--largest-batch finds the largest), smaller images or a smaller model"
        )


def _search(
    project: Project, values: Mapping[str, Any], machine: TpuMachine, events: Events, libtpu: str
) -> TpuCheck:
    name = project.tpu.batch
    if name not in values:
        raise PreflightError(
            f"--largest-batch: the notebook has no parameter {name!r}: correct batch in "
            "[tool.kernelkit.tpu]"
        )
    results: dict[int, TpuCheck] = {}

    def memory(batch: int) -> tuple[int, int] | None:
        events("progress", f"trying {name}={batch}")
        changed = {**values, name: batch}
        check = results[batch] = compiled(project, changed, machine, events, [TRAINING], libtpu)
        if not check.programs:
            raise PreflightError("--largest-batch: this run has no training step")
        program = check.programs[0]
        rate = program.estimated_rate
        speed = f"; {rate:,.0f} images/s as estimated" if rate else ""
        events(
            "tried",
            f"{name}={batch}: {program.verdict}{speed}",
            batch=batch,
            fits=check.fits,
            estimated_images_per_second=rate,
        )
        return program.memory if check.fits else None

    good, bad = largest(int(values[name]), memory, machine.hbm)
    if not good:
        tell(results[bad], events)
        raise DoesNotFitError(f"not even {name}={bad} fits a {machine.name}")
    tell(results[good], events)
    beyond = f"; {name}={bad} does not fit" if bad else ", the largest that was tried"
    rates = {n: check.programs[0].estimated_rate for n, check in results.items() if check.fits}
    fastest = max(rates, key=lambda batch: (rates[batch], batch))
    if rates[fastest] > NOTABLE * rates[good]:
        beyond += (
            f". By the compiler's estimate {name}={fastest} is faster: {rates[fastest]:,.0f} "
            f"images/s for {rates[good]:,.0f}"
        )
    events("largest", f"{name}={good} fits{beyond}", batch=good, fastest=fastest)
    return results[good]


def values_of(
    project: Project, notebook: Path, overrides: Sequence[str] | Mapping[str, Any]
) -> dict[str, Any]:
    """All of the notebook's parameters, those given among them."""
    if not notebook.is_file():
        raise NotebookError(f"no notebook at {notebook}")
    source = parameters_source(read_json(notebook))
    declared = declarations.declared(source, project) if source else {}
    values = {name: parameter.default for name, parameter in declared.items()}
    return values | declarations.resolve(declared, overrides)
