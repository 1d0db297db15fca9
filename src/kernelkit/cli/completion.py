"""The values that a shell offers for options and arguments, read where the command would run.

Nothing is asked of Kaggle. What cannot be read offers nothing: a shell has no place for errors.
"""

from collections.abc import Callable, Iterable
from pathlib import Path

import click


def _offering(
    values: Callable[[click.Context], Iterable[str]],
) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """Make a `shell_complete` of a function: it offers the values that begin with what is typed."""

    def offer(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
        try:
            return [value for value in values(ctx) if value.startswith(incomplete)]
        except Exception:
            return []

    return offer


@_offering
def machines(ctx: click.Context) -> Iterable[str]:
    """The kinds of machines, and Kaggle's shapes."""
    from kernelkit.machines import BY_SHAPE, LIMITS

    return filter(None, [*LIMITS, *BY_SHAPE])


@_offering
def checks(ctx: click.Context) -> Iterable[str]:
    """The checks that may be ignored."""
    from kernelkit.push.checks.preflight import OPTIONAL

    return OPTIONAL


@_offering
def pushes(ctx: click.Context) -> Iterable[str]:
    """The project's pushes, the newest first."""
    from kernelkit.project import find_project
    from kernelkit.push.known.ledger import Ledger
    from kernelkit.push.known.push_context import LAST

    made = Ledger(find_project(Path.cwd()).runs).pushes()
    return dict.fromkeys([LAST, *(push.reference for push in reversed(made))])


@_offering
def parameters(ctx: click.Context) -> Iterable[str]:
    """`name=` of each parameter of the notebook that the line names, or else of the project's."""
    from kernelkit.notebook import document
    from kernelkit.notebook.interface.parameters import of_notebook
    from kernelkit.push.described import metadata

    notebook = ctx.params["notebook"] or Path.cwd()
    if not notebook.is_file():
        notebook = metadata.load(metadata.locate(notebook)).code_file
    return [f"{parameter}=" for parameter in of_notebook(document.read_json(notebook))]
