"""The values that a shell offers for an option, read where the command would run.

Nothing is asked of Kaggle. What cannot be read offers nothing: a shell has no place for errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click

MOST = 20  # pushes, the newest first

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
    from kernelkit import machines

    shapes = [machine.shape for machine in machines.MACHINES if machine.shape]
    return [kind for kind in machines.TODAY if kind != "none"] + shapes


@_offering
def checks(_: click.Context) -> Iterable[str]:
    """The names of the checks before a push."""
    from kernelkit.checks import preflight

    return [name for name in preflight.CHECKS if name not in preflight.FINAL]


@_offering
def pushes(_: click.Context) -> Iterable[str]:
    """The last pushes of the project."""
    from kernelkit.project import find_project
    from kernelkit.workspace.context import LAST, LEDGER
    from kernelkit.workspace.ledger import Ledger

    made = Ledger(find_project(Path.cwd()).runs / LEDGER).pushes()
    return [LAST, *dict.fromkeys(push.reference for push in reversed(made[-MOST:]))]


@_offering
def parameters(ctx: click.Context) -> Iterable[str]:
    """`name=` of each parameter of the notebook that the line names, or of the project's."""
    from kernelkit.notebooks import document
    from kernelkit.notebooks.parameters import declared
    from kernelkit.plans import metadata, plan

    notebook: Any = ctx.params.get("notebook")
    if not notebook or not Path(notebook).is_file():
        file = ctx.params.get("metadata") or plan.locate(Path(notebook or Path.cwd()))
        notebook = metadata.load(Path(file)).code_file
    cell = document.parameters_source(document.read_json(notebook))
    return [f"{name}=" for name in declared(cell)]
