"""Commands for an existing push: resume, fetch, submit, status, quota, stop and pull."""

import sys
from typing import Any

import click

from kernelkit.cli import completion, options

pushed = click.argument(
    "push", metavar="[OWNER/SLUG/N]", default="last", shell_complete=completion.offered
)


@options.command("resume", ("", "anna/train/3 --submit 'twelve epochs'"), local=True)
@pushed
@options.output
@options.submit
@options.unverified
def resume(push: str, **values: Any) -> None:
    """Reconnect to a push: wait for its run, download the results and report.

    The default is the last push.
    """
    from kernelkit.push.resuming import resume_push

    resume_push(push, **values)


@options.command("fetch", ("", "anna/train/3 --only '*.csv'"), local=True)
@pushed
@click.option(
    "--only", metavar="GLOB", multiple=True, help="Download matching files only; may be repeated."
)
@options.output
@options.unverified
@click.option("--summary", type=options.FILE, help="Append the metrics to this Markdown file.")
def fetch(push: str, **values: Any) -> None:
    """Download the files of a push, or some of them.

    The default is the last push. The command does not wait: its exit code is 13 while the run is
    active.
    """
    from kernelkit.push.resuming import fetch_push

    fetch_push(push, **values)


@options.command("submit", ("-m 'twelve epochs'", "runs/train-v3"), local=True)
@click.argument("result", metavar="[OWNER/SLUG/N | FOLDER]", default="last")
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
    help="The competition of a FOLDER (default: its push's, or the one in its project's metadata).",
)
@options.unverified
def submit(result: str, message: str, **values: Any) -> None:
    """Submit a run's result and wait for its score.

    The run is a push, the last one by default, or the FOLDER of any run. The command submits its
    submission.csv, .parquet, .zip or .tar.gz.
    """
    from kernelkit.push.resuming import submit_result

    submit_result(result, message, **values)


@options.command("status", ("anna/train/3", "--all"), local=True)
@pushed
@click.option("--all", "listing", is_flag=True, help="List all pushes instead.")
def status(push: str, listing: bool, **values: Any) -> None:
    """Show the state of a push in one line, the last push by default.

    With --all it lists every push with its machine, minutes and score, without asking Kaggle.
    """
    from kernelkit.push.status import list_pushes, tell_status

    if listing:
        click.echo(list_pushes(as_json=values["as_json"]))
    else:
        tell_status(push, **values)


@options.command("quota", ("", "--json"), local=True)
def quota(**values: Any) -> None:
    """Show how many TPU and GPU hours are left this week."""
    from kernelkit.push.status import tell_quota

    tell_quota(**values)


@options.command("stop", ("anna/train/3", "--yes"))
@pushed
@click.option("--yes", is_flag=True, help="Delete the kernel without asking.")
def stop(push: str, *, yes: bool, **values: Any) -> None:
    """Stop a push that is waiting or running, the last one by default.

    Kaggle's API cannot stop a session: it can only delete the kernel, with all its versions and
    outputs. The command shows what would be lost and asks first.
    """
    from kernelkit.errors import ParameterError
    from kernelkit.push.status import stop_push

    def confirm(loss: str) -> bool:
        if not (yes or sys.stdin.isatty()):
            raise ParameterError(f"{loss}. To delete it without confirmation, add --yes")
        return yes or click.confirm(f"{loss}.\nDelete the kernel?", err=True)

    stop_push(push, confirm=confirm, **values)


@options.command("pull", ("", "7 --base 5 --dry-run"), local=True)
@click.argument("version", type=click.IntRange(1), required=False)
@click.option("--base", type=click.IntRange(1), help="The version that these files were pushed as.")
@options.metadata
@click.option("--dry-run", is_flag=True, help="Show the differences; write nothing.")
def pull(version: int | None, **values: Any) -> None:
    """Merge what was edited on Kaggle into the notebook and its modules.

    The default is the newest version. Files are copied to runs/pulled before they change.
    """
    from kernelkit.push.pull import pull_edits

    pull_edits(version, **values)
