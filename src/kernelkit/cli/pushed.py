"""Commands for an existing push: resume, submit, status, stop and pull."""

import sys
from typing import Any

import click

from kernelkit.cli import completion, options

pushed = click.argument(
    "push", metavar="[OWNER/SLUG/N]", default="last", shell_complete=completion.offered
)


@options.command(
    "resume",
    ("", "anna/train/3 --only '*.csv' --no-wait"),
    local="Return to a push to the local stand-in for Kaggle.",
)
@pushed
@click.option(
    "--output",
    type=options.FILE,
    metavar="DIR",
    help="Put the results here (default: the folder that they were put into before, or a new one "
    "in runs/).",
)
@click.option(
    "--only", metavar="GLOB", multiple=True, help="Download matching files only; may be repeated."
)
@options.submit
@click.option("--no-wait", is_flag=True, help="Do not wait: exit with 13 while the run is active.")
@click.option("--summary", type=options.FILE, help="Append the metrics to this Markdown file.")
@options.unverified
def resume(push: str, no_wait: bool, **values: Any) -> None:
    """Reconnect to a push: wait, download the results and report.

    The default is the last push. Files that are here already are not downloaded again.
    """
    from kernelkit.push.resume import resume_push

    resume_push(push, wait=not no_wait, **values)


@options.command(
    "submit",
    ("-m 'twelve epochs'", "runs/train-v3"),
    local="Submit to the local stand-in for Kaggle.",
)
@click.argument("result", metavar="[OWNER/SLUG/N | FOLDER | FILE]", default="last")
@click.option(
    "-m",
    "--message",
    default="submitted by kernelkit",
    show_default=True,
    help="The description on the competition's page.",
)
@click.option(
    "--competition",
    metavar="SLUG",
    help="The competition of a FOLDER or FILE (default: its push's, or the one in its project's "
    "metadata).",
)
@options.unverified
def submit(result: str, message: str, **values: Any) -> None:
    """Submit a run's result and wait for its score.

    The run is a push, the last one by default, or the FOLDER of any run: the command submits its
    submission.csv, .parquet, .zip or .tar.gz. A FILE is submitted as it is. However often the
    command is repeated, it makes one submission. Another message than the result's last one makes
    another submission, and so does the same command if Kaggle could not score the first.
    """
    from kernelkit.push.submit import submit_result

    submit_result(result, message, **values)


@options.command(
    "status", ("anna/train/3", "--all"), local="Show pushes to the local stand-in for Kaggle."
)
@pushed
@click.option("--all", "listing", is_flag=True, help="List all pushes, instead.")
@click.option("--quota", is_flag=True, help="Show the week's hours only; this needs no push.")
def status(push: str, listing: bool, quota: bool, **values: Any) -> None:
    """Show the state of the last push, and the week's TPU and GPU hours.

    OWNER/SLUG/N names another push. With --all it lists every push with its machine, minutes and
    score, without asking Kaggle. Entries that cannot be read are named after the list, and the exit
    code is 12.
    """
    from kernelkit.watching.status import check_ledger, list_pushes, tell_quota, tell_status

    if listing:
        listed = list_pushes(as_json=values["as_json"])
        if listed:
            click.echo(listed)
        check_ledger()
    elif quota:
        tell_quota(**values)
    else:
        tell_status(push, **values)


@options.command("stop", ("anna/train/3", "--yes"))
@pushed
@click.option("--yes", is_flag=True, help="Delete the kernel without asking.")
def stop(push: str, *, yes: bool, **values: Any) -> None:
    """Stop a queued or running push, the last one by default.

    Kaggle's API cannot stop a session: it can only delete the kernel, with all its versions and
    outputs. The command shows what would be lost and asks first.
    """
    from kernelkit.errors import ParameterError
    from kernelkit.watching.stop import stop_push

    def confirm(loss: str) -> bool:
        if not (yes or sys.stdin.isatty()):
            raise ParameterError(f"{loss}. To delete it without confirmation, add --yes")
        return yes or click.confirm(f"{loss}.\nDelete the kernel?", err=True)

    stop_push(push, confirm=confirm, **values)


@options.command(
    "pull", ("", "7 --base 5 --dry-run"), local="Pull from the local stand-in for Kaggle."
)
@click.argument("version", type=click.IntRange(1), required=False)
@click.option(
    "--base",
    type=click.IntRange(1),
    help="The version that these files hold: the last pushed or pulled.",
)
@options.metadata
@click.option("--dry-run", is_flag=True, help="Show the differences; write nothing.")
def pull(version: int | None, **values: Any) -> None:
    """Merge what was edited on Kaggle into the notebook and its modules.

    The default is the newest version. Files are copied to runs/pulled before they change.
    """
    from kernelkit.edits.pull import pull_edits

    pull_edits(version, **values)
