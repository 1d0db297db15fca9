"""Commands for a new push: `push` makes it, `check` tries it without Kaggle, `rehearse` here."""

from pathlib import Path
from typing import Any

import click

from kernelkit.cli import completion, options


@options.command(
    "push",
    ("notebooks/train.ipynb --accelerator tpu", "-p epochs=12 --no-wait"),
)
@options.of_a_push
@click.option(
    "--dry-run", is_flag=True, help="Check everything and show what would be sent; send nothing."
)
@click.option(
    "--chain",
    is_flag=True,
    help="First push the kernels of this repository that it reads, unless they are up to date.",
)
@click.option(
    "--no-wait",
    is_flag=True,
    help="Return after the push; `resume` reconnects later and takes --output and --submit.",
)
@click.option("--no-run", is_flag=True, help="Save a version on Kaggle without running it.")
@click.option(
    "--when-free",
    is_flag=True,
    help="Wait until a session and enough of the week's hours are free; with --no-wait, do what is "
    "possible now and exit with 13 if more is left.",
)
@options.ignore
@options.once
@click.option("--force", is_flag=True, help="Push even if nothing changed or a run is active.")
def push(notebook: Path | None, no_wait: bool, when_free: bool, **values: Any) -> None:
    """Run a notebook on Kaggle: check, push, wait, download and report.

    NOTEBOOK defaults to code_file in kernel-metadata.json, and may be the folder of that file. You
    may kill the command at any time: the same command, or `resume`, returns to the run.
    """
    if when_free:
        from kernelkit.watching.when_free import push_when_free

        push_when_free(notebook, wait=not no_wait, **values)
        return
    from kernelkit.push.push_kernel import push_kernel

    push_kernel(notebook, wait=not no_wait, **values)


@options.command("check", ("", "kernels/train --tpu"))
@options.notebook
@options.parameters
@options.metadata
@options.accelerator
@click.option("--timeout", type=float, metavar="MINUTES", help="Check a push with this time limit.")
@click.option(
    "--ignore",
    metavar="CHECK",
    shell_complete=completion.offered,
    multiple=True,
    help="Report the errors of this check as warnings; may be repeated.",
)
@click.option("--all", "every", is_flag=True, help="Check every kernel of the folder and below.")
@click.option(
    "--tpu", is_flag=True, help="Also compile the run's programs for a TPU, without a TPU."
)
@click.option("--machine", metavar="NAME", help="With --tpu: v5e-8 (default), v6e-8 or v3-8.")
@click.option("--libtpu", metavar="VERSION", help="With --tpu: compile with this libtpu.")
@click.option(
    "--largest-batch", is_flag=True, help="With --tpu: search for the largest batch that fits."
)
def check(notebook: Path | None, **values: Any) -> None:
    """Check a notebook before it is pushed, without an account.

    NOTEBOOK may be a folder with a kernel-metadata.json in it or above. Of one without, each kernel
    below it is checked, as with --all. `push --dry-run` also asks Kaggle. With --tpu the TPU's own
    compiler says whether the run fits, what uses the memory, and how fast it can be at best; that
    needs no kernel-metadata.json. Its environment is made on first use.
    """
    from kernelkit.push.checked.check_push import check_push

    check_push(notebook, **values)


NOT_IN_REHEARSALS = ("no_run", "no_wait", "once", "when_free", "as_json", "quiet")
IN_REHEARSALS = {  # what these options do when nothing is pushed to Kaggle
    "force": "Rehearse even if nothing changed or a run is active.",
    "ignore": "Rehearse even if this check fails; may be repeated.",
    "chain": "First rehearse the kernels of this repository that it reads, unless they are up to "
    "date.",
}


@options.command(
    "rehearse",
    ("notebooks/train.ipynb", "submit.ipynb --hidden hidden/leaves --rows 20000"),
    params=[
        options.reworded(option, IN_REHEARSALS)
        for option in push.params
        if option.name not in NOT_IN_REHEARSALS
    ],
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
    callback=options.gigabytes,
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
    if hidden is not None:
        folder = Path(hidden) if hidden else None
        rehearse_hidden_run(
            request,
            hidden=folder,
            make=make,
            make_rows=make_rows,
            rows=rows,
            as_json=as_json,
            quiet=quiet,
        )
        return
    for option, given in (("rows", rows), ("make", make), ("make-rows", make_rows)):
        if given:
            raise ParameterError(f"--{option} is for the hidden run: add --hidden")
    push_request(request, local=True, as_json=as_json, quiet=quiet)
