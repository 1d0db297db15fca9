"""The values that a shell offers for options and arguments, read where the command would run.

Nothing is asked of Kaggle. What cannot be read offers nothing: a shell has no place for errors.
"""

from collections.abc import Iterable
from pathlib import Path

import click


def offered(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """The values that begin with what is typed."""
    try:
        return [value for value in _values(param.name, ctx) if value.startswith(incomplete)]
    except Exception:
        return []


def _values(name: str | None, ctx: click.Context) -> Iterable[str]:
    """Machines, checks, pushes (the newest first), or `name=` of each parameter of the notebook
    that the line names, or of the project's."""
    if name == "accelerator":
        from kernelkit.machines import BY_SHAPE, LIMITS

        return filter(None, [*LIMITS, *BY_SHAPE])
    if name == "ignore":
        from kernelkit.push.checks.preflight import OPTIONAL

        return OPTIONAL
    if name == "push":
        from kernelkit.project import find_project
        from kernelkit.push.known.ledger import Ledger
        from kernelkit.push.known.push_context import LAST

        made = Ledger(find_project(Path.cwd()).runs).pushes()
        return dict.fromkeys([LAST, *(push.reference for push in reversed(made))])
    from kernelkit.notebook import document
    from kernelkit.notebook.interface import parameters
    from kernelkit.push.described import metadata

    notebook = ctx.params["notebook"] or Path.cwd()
    if not notebook.is_file():
        notebook = metadata.load(metadata.locate(notebook)).code_file
    declared = parameters.of_notebook(document.read_json(notebook))
    return [f"{parameter}=" for parameter in declared]
