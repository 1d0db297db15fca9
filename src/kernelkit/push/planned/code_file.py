"""Which notebook a push sends: the requested one, if its kernel's settings are for it."""

import os
import shlex
from pathlib import Path

from kernelkit.errors import NotebookError, PreflightError
from kernelkit.notebook import document
from kernelkit.push.described.metadata import Metadata, own_file
from kernelkit.push.planned.request import PushRequest


def with_code_file(request: PushRequest) -> Metadata:
    """The settings of a request, with its notebook as their code_file.

    Raises `NotebookError` if that is not there or cannot be pushed, and `PreflightError` if it
    would become a version of another notebook's kernel.
    """
    metadata = request.metadata
    notebook = request.notebook
    if request.assumed:
        notebook = None
    if notebook and not Path(notebook).is_dir():
        metadata = _with_notebook(metadata, Path(notebook).resolve(), named=request.metadata_named)
    code_file = metadata.code_file.resolve()
    if not code_file.is_file():
        raise _no_code_file(code_file, metadata.path)
    if code_file.suffix.lower() in document.R_ENDINGS:
        raise document.not_python(code_file)
    if metadata.is_script and code_file.suffix != ".py":
        raise NotebookError(
            f"kernel_type is script, but {code_file.name} is not a script: name a .py as "
            "code_file, or set kernel_type to notebook"
        )
    return metadata


def _with_notebook(metadata: Metadata, notebook: Path, *, named: bool) -> Metadata:
    """The kernel with this notebook as its code_file; either half of a pair stands for both.

    Pushing another notebook under a kernel's name would hide the history of the first, so that
    requires metadata that the caller `named`.
    """
    if metadata.is_of(notebook):
        return metadata
    if not notebook.is_file():
        raise document.not_there(notebook)
    if notebook.suffix.lower() not in (".py", ".ipynb", ".r", ".rmd"):
        raise document.no_notebook(notebook)
    if not named:
        raise PreflightError(
            f"{notebook.name} is not the code_file of {metadata.path}, and would become a version "
            f"of {metadata.slug}: `kernelkit init {shlex.quote(os.path.relpath(notebook))}` writes "
            f"metadata of its own, {own_file(notebook).name}, or name one with --metadata"
        )
    return metadata.with_values(code_file=str(notebook))


def _no_code_file(code_file: Path, file: Path) -> NotebookError:
    """The error for a code_file that is not there, with what is there under a similar name."""
    near = [path for end in ("ipynb", "py") for path in code_file.parent.glob(f"*.{end}")]
    similar = [path.name for path in near if path.stem.lower() == code_file.stem.lower()]
    if not similar:
        return NotebookError(
            f"no notebook at {code_file}: correct code_file in {file}, or run the step that makes "
            "the notebook first"
        )
    there = similar[0]
    advice = f"name that as code_file in {file}"
    if code_file.suffix == ".ipynb" and there.endswith(".py"):
        place = shlex.quote(str(code_file.parent / there))
        advice += f", or make the notebook of it (jupytext --to ipynb {place})"
    return NotebookError(f"no notebook at {code_file}, but there is {there}: {advice}")
