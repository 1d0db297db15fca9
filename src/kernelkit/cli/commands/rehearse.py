"""`kernelkit rehearse`."""

import copy
import re
from pathlib import Path
from typing import Any

import click

from kernelkit.cli.commands.push import push
from kernelkit.cli.definition import command

NOT_IN_REHEARSALS = ("no_run", "no_wait", "once", "when_free", "as_json", "quiet")
IN_REHEARSALS = {  # what these options do when nothing is pushed to Kaggle
    "force": "Rehearse even if nothing changed or a run is active.",
    "ignore": "Rehearse even if this check fails; may be repeated.",
    "chain": "First rehearse the kernels of this repository that it reads, unless they are up to "
    "date.",
}


def _of_a_push() -> list[click.Parameter]:
    """The options of `kernelkit push` that a rehearsal has, too."""
    shared = []
    for option in push.params:
        if option.name in NOT_IN_REHEARSALS:
            continue
        if option.name in IN_REHEARSALS:
            option = copy.copy(option)
            option.help = IN_REHEARSALS[option.name]
        shared.append(option)
    return shared


def _gigabytes(context: click.Context, option: click.Parameter, value: str | None) -> float | None:
    """The number of a size such as 10, 10GB or 0.5; a usage error for anything else."""
    if value is None:
        return None
    number = value.upper().removesuffix("GB").strip()
    if not re.fullmatch(r"\d+(\.\d+)?", number, re.ASCII):
        raise click.BadParameter(f"{value!r} is not a number of GB. Write NOTEBOOK before it")
    return float(number)


@command(
    "notebooks/train.ipynb",
    "submit.ipynb --hidden hidden/leaves --rows 20000",
    params=_of_a_push(),
)
@click.option(
    "--packages",
    type=click.Choice(["kaggle"]),
    help="Install packages that Kaggle's image has and this machine lacks (once), for rehearsals.",
)
@click.option(
    "--download",
    is_flag=False,
    flag_value="2",
    callback=_gigabytes,
    metavar="[GB]",
    help="Download what is attached and not here, up to 2 GB or so many; kept for all "
    "repositories. Write NOTEBOOK before it.",
)
@click.option(
    "--memory",
    type=click.FloatRange(min=0.1),
    metavar="GB",
    help="Limit the session to less memory than this machine has, instead of Kaggle's limit.",
)
@click.option(
    "--hidden",
    is_flag=False,
    flag_value="",
    metavar="[FOLDER]",
    help="Submit the notebook as to a code competition: run it again on hidden data, by default "
    "on hidden/SLUG of the catalogue. Write NOTEBOOK before it.",
)
@click.option(
    "--make",
    is_flag=True,
    help="With --hidden: make the hidden data from the competition's training data, once.",
)
@click.option(
    "--make-rows",
    type=click.IntRange(1),
    help="With --make: the number of hidden rows; by default four times those of the public set, "
    "at least 200, at most a fifth of those to train on.",
)
@click.option(
    "--rows",
    type=click.IntRange(1),
    help="With --hidden: project time and memory for a real test set of this many rows.",
)
def rehearse(
    notebook: Path | None,
    parameters: tuple[str, ...],
    hidden: str | None,
    make: bool,
    make_rows: int | None,
    rows: int | None,
    as_json: bool,
    quiet: bool,
    **values: Any,
) -> None:
    """Rehearse a push against a local stand-in for Kaggle.

    Nothing leaves the machine. With --hidden, a second run has no internet and Kaggle's limits; you
    get the message that Kaggle would show, and what it would hide: the failing cell, memory, disk
    and time.
    """
    from kernelkit.errors import ParameterError
    from kernelkit.hidden.hidden_run import rehearse_hidden_run
    from kernelkit.push.planned.request import PushRequest
    from kernelkit.push.push_kernel import push as push_request

    request = PushRequest.of(notebook, parameters, assume=True, **values)
    if hidden is None:
        for option, given in (("rows", rows), ("make", make), ("make-rows", make_rows)):
            if given:
                raise ParameterError(f"--{option} is for the hidden run: add --hidden")
        push_request(request, local=True, as_json=as_json, quiet=quiet)
        return
    rehearse_hidden_run(
        request,
        hidden=Path(hidden) if hidden else None,
        make=make,
        make_rows=make_rows,
        rows=rows,
        as_json=as_json,
        quiet=quiet,
    )
