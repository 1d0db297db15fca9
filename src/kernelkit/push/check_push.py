"""Check a push without an account, and on request with the TPU's own compiler."""

from pathlib import Path
from typing import Unpack

from kernelkit.errors import ParameterError, PreflightError
from kernelkit.notebook.parameters import Overrides
from kernelkit.push.bundle import metadata
from kernelkit.push.checks.repository import check_kernels, kernels_below
from kernelkit.push.command import PushOptions, push_kernel
from kernelkit.tpu.check import check_tpu

V5E = "v5e-8"  # what Kaggle's TPU sessions have


def check_push(
    notebook: Path | None = None,
    parameters: Overrides = (),
    *,
    tpu: bool = False,
    machine: str | None = None,
    libtpu: str | None = None,
    largest_batch: bool = False,
    **options: Unpack[PushOptions],
) -> None:
    """Check a push without a network; with `tpu`, compile its run's programs for a TPU, too.

    notebook       the notebook, or the folder of a kernel-metadata.json, by default its code_file;
                   of a folder with neither at or above it, every kernel below is checked
    parameters     `name=value` strings, or a mapping of typed values
    tpu            compile; a notebook without metadata is compiled and not checked
    machine        the TPU: v5e-8 (default), v6e-8 or v3-8
    libtpu         the version of another compiler than the environment's
    largest_batch  search for the largest batch of a replica instead
    options        those of a push; see `PushOptions`

    Raises `PreflightError` for errors that the checks find, `DoesNotFitError` if a program does not
    fit, `NoCompilerError` without a compiler, `ParameterError` for a value that is of no use here.
    """
    of_compiler = {"machine": machine, "libtpu": libtpu, "largest-batch": largest_batch}
    for name, given in of_compiler.items():
        if given and not tpu:
            raise ParameterError(f"--{name} is for the TPU's compiler: add --tpu, or leave it out")
    if not tpu and not parameters and not options.get("metadata"):
        kernels = kernels_below(notebook or Path.cwd())
        if kernels:
            check_kernels(kernels, **options)  # type: ignore[misc]  # dry_run has no use there
            return
    options = options | {"dry_run": True, "offline": True}
    if not tpu:
        push_kernel(notebook, parameters, **options)
        return
    try:
        file = options.get("metadata") or metadata.locate(notebook or Path.cwd())
    except PreflightError:
        if notebook is None or not notebook.is_file():
            raise
        compiled = notebook
    else:
        push_kernel(notebook, parameters, **options)
        compiled = metadata.load(file).code_file
        if notebook is not None and notebook.is_file():
            compiled = notebook
    check_tpu(
        compiled,
        parameters,
        machine=machine or V5E,
        largest_batch=largest_batch,
        libtpu=libtpu or "",
        as_json=options.get("as_json", False),
        quiet=options.get("quiet", False),
    )
