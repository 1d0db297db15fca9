"""The values that a shell offers for options and arguments, read where the command would run.

Nothing is asked of Kaggle. What cannot be read offers nothing: a shell has no place for errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import click

Complete = Callable[[click.Context, click.Parameter, str], list[str]]


def _offering(values: Callable[[click.Context], Iterable[str]]) -> Complete:
    def complete(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
        try:
            return [value for value in values(ctx) if value.startswith(incomplete)]
        except Exception:
            return []

    return complete


@_offering
def machines(_: click.Context) -> Iterable[str]:
    """The kinds of machines and their shapes."""
    from kernelkit.machines import LIMITS, MACHINES

    return [*LIMITS, *(machine.shape for machine in MACHINES if machine.shape)]


@_offering
def checks(_: click.Context) -> Iterable[str]:
    """The names of the checks that --ignore takes."""
    from kernelkit.checks import preflight

    return sorted({*preflight.CHECKS} - {*preflight.FINAL})


@_offering
def pushes(_: click.Context) -> Iterable[str]:
    """The pushes of the project, the newest first."""
    from kernelkit.project import find_project
    from kernelkit.workspace import context, ledger

    made = ledger.Ledger(find_project(Path.cwd()).runs / context.LEDGER).pushes()
    return [context.LAST, *dict.fromkeys(push.reference for push in reversed(made))]


@_offering
def parameters(ctx: click.Context) -> Iterable[str]:
    """`name=` of each parameter of the notebook that the line names, or of the project's."""
    from kernelkit.notebooks import document
    from kernelkit.notebooks.parameters import declared
    from kernelkit.plans import metadata

    notebook: Path = ctx.params["notebook"] or Path.cwd()
    if not notebook.is_file():
        notebook = metadata.load(metadata.locate(notebook)).code_file
    cell = document.parameters_source(document.read_json(notebook))
    return [f"{name}=" for name in declared(cell)]
