"""Check a push without an account, and on request with the TPU's own compiler."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Unpack

from kernelkit.errors import ParameterError
from kernelkit.kaggle.context.kaggle_context import CommandOptions
from kernelkit.notebook.interface.values import Overrides
from kernelkit.push.checked.check_repository import (
    check_kernels,
    kernels_in,
    kernels_of_root,
    tell_others,
)
from kernelkit.push.checked.checked_plan import checked_plan
from kernelkit.push.checks.findings import conclusion
from kernelkit.push.described import metadata as kernel_metadata
from kernelkit.push.known.push_context import PushContext
from kernelkit.push.planned.request import PushRequest
from kernelkit.terminal.events import WARNING, Event
from kernelkit.tpu.check import check_tpu

CHECKED = Event("checked")
V5E = "v5e-8"  # what Kaggle's TPU sessions have


def check_push(
    notebook: Path | None = None,
    parameters: Overrides = (),
    *,
    every: bool = False,
    tpu: bool = False,
    machine: str | None = None,
    libtpu: str | None = None,
    largest_batch: bool = False,
    metadata: Path | None = None,
    accelerator: str | None = None,
    timeout: float | None = None,
    ignore: Sequence[str] = (),
    as_json: bool = False,
    quiet: bool = False,
) -> None:
    """Check a push without asking Kaggle; with `tpu`, compile its run's programs for a TPU, too.

    notebook       the notebook, or the folder of a kernel-metadata.json, by default its code_file;
                   of a folder without metadata at or above it, every kernel below is checked, or
                   else its only notebook, with the settings that this says
    parameters     `name=value` strings, or a mapping of typed values
    every          check every kernel of that folder and below, also if it has metadata itself
    tpu            compile
    machine        the TPU: v5e-8 (default), v6e-8 or v3-8
    libtpu         the version of another compiler than the environment's
    largest_batch  search for the largest batch of a replica instead
    metadata, accelerator, timeout, ignore  as in `PushRequest`
    as_json, quiet  as in `KaggleContext.in_project`

    Raises `PreflightError` for errors that the checks find, `DoesNotFitError` if a program does not
    fit, `NoCompilerError` without a compiler, `ParameterError` for a value that is of no use here.
    """
    _refuse_without_tpu(tpu, {"machine": machine, "libtpu": libtpu, "largest-batch": largest_batch})
    here = notebook or Path.cwd()
    of_one = bool(tpu or parameters or metadata)  # what is meant for one kernel
    if every and of_one:
        raise ParameterError(
            "--all checks the kernels of a folder: drop -p, --metadata and --tpu, which are for one"
        )
    if every and not kernels_in(here):
        raise ParameterError(
            f"--all found no {kernel_metadata.FILE_NAME} in or below {here}: give a folder that "
            "has some, or write one with `kernelkit init NOTEBOOK`"
        )
    kernels: Sequence[Path] = ()
    if not of_one:
        kernels = kernels_in(here) if every else kernels_of_root(here)
    wishes = {"accelerator": accelerator, "timeout": timeout, "ignore": ignore}
    if kernels:
        check_kernels(kernels, wishes, as_json=as_json, quiet=quiet)
        return
    request = PushRequest.of(
        notebook,
        parameters,
        metadata=metadata,
        accelerator=accelerator,
        timeout=timeout,
        ignore=ignore,
        assume=True,
    )
    code_file = request.metadata.code_file
    try:
        _check_one(request, compiles=not tpu, as_json=as_json, quiet=quiet)
    finally:
        if not of_one and here.is_dir():
            tell_others(here, as_json=as_json, quiet=quiet)
    if tpu:
        check_tpu(
            notebook if notebook and notebook.is_file() else code_file,
            parameters,
            machine=machine or V5E,
            largest_batch=largest_batch,
            libtpu=libtpu or "",
            as_json=as_json,
            quiet=quiet,
        )


def _check_one(request: PushRequest, *, compiles: bool, **options: Unpack[CommandOptions]) -> None:
    """Check one push, by the stages before Kaggle is asked; `compiles`: as in `checked_plan`."""
    context = PushContext.in_project(request.project, **options)
    with context.announcing_errors():
        checked_plan(context, request, compiles=compiles)
        count = context.events.told[WARNING]
        context.events(CHECKED, conclusion(context.events), warnings=count)


def _refuse_without_tpu(tpu: bool, of_compiler: Mapping[str, object]) -> None:
    """Raise `ParameterError` for an option of the compiler that is given without `tpu`."""
    for name, given in of_compiler.items():
        if given and not tpu:
            raise ParameterError(f"--{name} is for the TPU's compiler: add --tpu, or leave it out")
