"""One command: does this run fit a TPU, and how fast can it be at best?"""

from pathlib import Path
from typing import Any, Unpack

from kernelkit.notebook.document import read_json
from kernelkit.notebook.interface import parameters as declarations
from kernelkit.notebook.interface.values import Overrides, completed, resolve
from kernelkit.project import Project, find_project
from kernelkit.terminal.events import EventOptions, Events
from kernelkit.tpu.chips import machine_named
from kernelkit.tpu.largest_batch import find_largest_batch
from kernelkit.tpu.tpu_run import TpuCheck, TpuRun


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
            return find_largest_batch(run, events, libtpu)
        check = run.compiled(events, libtpu)
        check.tell(events)
        return check
    finally:
        events.end()


def values_of(project: Project, notebook: Path, overrides: Overrides) -> dict[str, Any]:
    """All of the notebook's parameters, those given among them."""
    declared = declarations.of_notebook(read_json(notebook), project)
    return completed(declared, resolve(declared, overrides))
